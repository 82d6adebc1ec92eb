#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# root.sh ARCH PACKAGE...: a folder with these Debian packages of an architecture and all that
# they depend on, unpacked, and nothing of this machine changed. Prints where it is:
# ${UBP_CACHE:-~/.cache/ubp}/root-ARCH. What is there already is kept, so that only what is new
# is fetched; ROOT_NAME=x makes another one, root-x. Scripts of packages are not run: what of
# that is needed is done here.
set -eu
me=${0##*/}
die() { echo "$me: $*" >&2; exit 1; }
[ $# -ge 2 ] || die "usage: $me ARCH PACKAGE..."
arch=$1
shift
cache=${UBP_CACHE:-$HOME/.cache/ubp}
root=$cache/root-${ROOT_NAME:-$arch} apt=$cache/apt-$arch
mkdir -p "$cache"
exec 9> "$root.lock"
flock 9

# --- is it there already? ---------------------------------------------------
# Relative links and merged /usr make it usable as --sysroot and as a machine's root. The list
# of packages is written last, so a folder without it is nothing.
wanted() { printf '%s\n' "$@" | LC_ALL=C sort -u; }
have=$root/.packages
touch -a "$have" 2> /dev/null || have=/dev/null
if [ -z "$(wanted "$@" | LC_ALL=C comm -23 - "$have")" ]; then
	echo "$root"
	exit 0
fi
mapfile -t packages < <(wanted "$@" $(cat "$have"))

# --- fetch ------------------------------------------------------------------
# A private apt: this machine's sources and keys, lists and packages of that architecture,
# and nothing installed.
mkdir -p "$apt/state/lists/partial" "$apt"/{archives,none}/partial
: > "$apt/status"
log=$apt/log
options=(-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$apt/state"
         -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" -o Dir::Cache::archives="$apt/archives"
         -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o Acquire::Retries=2
         -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o APT::Install-Recommends=0)
exec 8> "$apt/lock"
flock 8
echo "$me: fetching packages for $arch into $root" >&2
timeout 600 apt-get "${options[@]}" update > "$log" 2>&1 || :
ls "$apt/state/lists" | grep -q "_binary-${arch}_Packages" ||
	die "no lists of packages for $arch can be fetched: is there a network? ($log)"
install() { timeout 1800 apt-get "${options[@]}" -y "$@" install "${packages[@]}"; }
# Only what has to be fetched is listed: for a list of all, nothing is there.
install -o Dir::Cache::archives="$apt/none" --print-uris > "$apt/uris" 2>> "$log" ||
	die "$(grep '^E:' "$log" | tail -n 1)"
install --download-only >> "$log" 2>&1 ||
	die "not all packages can be fetched: is there a network? $(grep '^E:' "$log" | tail -n 1)"
awk '/^\047/ { print $2 }' "$apt/uris" | LC_ALL=C sort > "$apt/debs"

# --- unpack -----------------------------------------------------------------
# Into what is there if nothing of that is replaced, else into a new folder.
if [ "$have" != /dev/null ] && [ -z "$(LC_ALL=C comm -23 "$root/.debs" "$apt/debs")" ]; then
	into=$root
	new=$(LC_ALL=C comm -13 "$root/.debs" "$apt/debs")
else
	into=$root.new
	rm -rf "$into"
	for d in bin sbin lib; do
		mkdir -p "$into/usr/$d"
		ln -s "usr/$d" "$into/$d"
	done
	case $arch in
	amd64|i386|ppc64el)
		mkdir -p "$into/usr/lib64"
		ln -s usr/lib64 "$into/lib64" ;;
	esac
	new=$(cat "$apt/debs")
fi
for deb in $new; do
	dpkg-deb --fsys-tarfile "$apt/archives/$deb" |
		tar -x -C "$into" -p --keep-directory-symlink -f - || die "$deb cannot be unpacked"
done

# --- what scripts of packages would have done --------------------------------
# Links that lead out of the folder when it is not the root.
find "$into" -xdev -type l -lname '/*' ! -lname '/proc/*' ! -lname '/dev/*' -printf '%p\t%l\n' |
	while IFS=$'\t' read -r link to; do ln -sfnr "$into$to" "$link"; done
[ -e "$into/usr/bin/awk" ] || [ ! -e "$into/usr/bin/mawk" ] || ln -s mawk "$into/usr/bin/awk"
for f in passwd group; do
	[ -e "$into/etc/$f" ] || [ ! -e "$into/usr/share/base-passwd/$f.master" ] ||
		cp "$into/usr/share/base-passwd/$f.master" "$into/etc/$f"
done
mkdir -p "$into"/{etc,proc,sys,dev,run,tmp,root}

cp "$apt/debs" "$into/.debs"
printf '%s\n' "${packages[@]}" > "$into/.packages.new"
mv "$into/.packages.new" "$into/.packages"
if [ "$into" != "$root" ]; then
	rm -rf "$root.old"
	[ ! -e "$root" ] || mv "$root" "$root.old"
	mv "$into" "$root"
	rm -rf "$root.old"
fi
echo "$root"
