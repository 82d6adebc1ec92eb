#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Fetch kernels for machines, and keep them: kernels.sh [--only 6.12] [FOLDER]. 6.1 is Debian's of today (for
# what its command line can forbid), 6.12 its newer one (whose triggers ubp's are like), 5.10 the one of Debian 11, 4.15 the one of Ubuntu
# 18.04, the oldest that ubp works on of those that a mirror still has; 4.4, of 16.04, is too old. Nothing but `make other-kernels` asks
# for it, and for 6.12 alone `make triggers-kernel`.
set -eu
only=
[ "${1:-}" != --only ] || { only=$2; shift 2; }
keep=${1:-${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}/k}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$keep"

# An apt of its own: it sees these archives and installs nothing. What comes from Ubuntu's is
# known by its sum, which stands in for the key that Debian does not have.
apt=$dir/apt
mkdir -p "$apt"/etc/apt/{apt.conf.d,preferences.d,sources.list.d} "$apt"/var/lib/apt/lists/partial \
	"$apt"/var/cache/apt/archives/partial "$apt"/var/lib/dpkg
: > "$apt/var/lib/dpkg/status"
cat > "$apt/etc/apt/sources.list" <<'LIST'
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bullseye main
deb [arch=amd64 trusted=yes] http://archive.ubuntu.com/ubuntu bionic main
deb [arch=amd64 trusted=yes] http://archive.ubuntu.com/ubuntu xenial main
LIST
cat > "$dir/apt.conf" <<CONF
Dir "$apt";
Dir::State::status "$apt/var/lib/dpkg/status";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF
cat > "$dir/sums" <<'SUMS'
377279cf295f84104208449a8a83246cb4af607dc58a77d21092c3cfbf500128  linux-image-unsigned-4.15.0-20-generic_4.15.0-20.21_amd64.deb
c829da8d8fc3f4941ee7f2972b5c932bf728279c49cad0836a48238cb2875217  linux-modules-4.15.0-20-generic_4.15.0-20.21_amd64.deb
027c65257079def7ba81f37901e59cd02f2fcc8f671ade566fe1353b433e3cf9  linux-modules-extra-4.15.0-20-generic_4.15.0-20.21_amd64.deb
be0b48760d001839a8625e8de33011700a495255e3b258511ec4ffdab43c06ff  linux-image-4.4.0-21-generic_4.4.0-21.37_amd64.deb
af81dfaa79b7ca3eddf5bb94bde7c2fd162d66e0baa1f19f39f9c5fb06d1c0d7  linux-image-extra-4.4.0-21-generic_4.4.0-21.37_amd64.deb
SUMS

# keep_it VERSION: unpack what was downloaded.
keep_it() {
	local deb new=$keep/$1.new
	rm -rf "$new"
	mkdir -p "$new"
	for deb in *.deb; do dpkg -x "$deb" "$new"; done
	rm -rf "$new/usr" "$keep/$1"
	mv "$new" "$keep/$1"
	echo "$keep/$1 is there"
}
there() { [ -s "$(ls "$keep/$1"/boot/vmlinuz-* 2> /dev/null | tail -n 1)" ] && echo "$keep/$1 is there"; }
# fetch VERSION PACKAGE...: in a folder of its own.
fetch() {
	local version=$1
	shift
	mkdir -p "$dir/$version"
	cd "$dir/$version"
	apt-get download -q "$@" || { echo "$version: could not be fetched" >&2; return 1; }
	case $version in 4.*) grep -- "-$version" ../sums | sha256sum -c --quiet || return 1 ;; esac
	keep_it "$version"
}

missing=0
there 6.12 || (
	newest=$(apt-cache pkgnames linux-image-6.12 | grep -E '^linux-image-6\.12\.[0-9]+\+deb[0-9]+-amd64$' | sort -V | tail -n 1)
	fetch 6.12 "${newest:?no 6.12 in the package lists (apt-get update)}"
) || missing=1
[ "$only" != 6.12 ] || exit $missing
there 6.1 || (
	newest=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-6.1[^ ]*\)/\1/p' | head -n 1)
	fetch 6.1 "${newest:?no Debian 12 kernel in the package lists (apt-get update)}"
) || missing=1
if ! { there 5.10 && there 4.15 && there 4.4; }; then
	export APT_CONFIG=$dir/apt.conf
	apt-get update -qq || :
	there 5.10 || (
		newest=$(apt-cache pkgnames linux-image-5.10 | grep -E '^linux-image-5.10.0-[0-9]+-amd64$' | sort -V | tail -n 1)
		fetch 5.10 "${newest:?no 5.10 in the archive any more}"
	) || missing=1
	there 4.15 || (fetch 4.15 linux-{image-unsigned,modules,modules-extra}-4.15.0-20-generic) || missing=1
	there 4.4 || (fetch 4.4 linux-image-4.4.0-21-generic linux-image-extra-4.4.0-21-generic) || missing=1
fi
exit $missing
