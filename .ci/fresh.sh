#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Run a command on a fresh Debian 12: fresh.sh FOLDER COMMAND [ARG...]
# A root made by debootstrap, with git, make and sudo and nothing else, is made once and kept in
# ${UBP_CACHE:-~/.cache/ubp}/fresh. The command runs as root in a copy (an overlay) that goes with
# it, in pid and mount namespaces of its own; FOLDER is copied to /srv/ubp, where it begins, and
# what it installs comes over the network that there is here. Packages that were downloaded are
# kept. Exit status: the command's; 125: there is no such root, or it can't be entered.
set -eu
me=${0##*/}
die() { echo "$me: $*" >&2; exit 125; }
[ $# -ge 2 ] || die "usage: $me FOLDER COMMAND [ARG...]"
[ "$(id -u)" = 0 ] || die "needs root"
cache=${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}/fresh
from=$(cd "$1" && pwd)
shift

mkdir -p "$cache/archives/partial"
exec 9> "$cache/lock"
flock 9
if [ ! -e "$cache/root/etc/debian_version" ]; then
	"$(dirname "$0")/deps.sh" debootstrap || die "debootstrap can't be had"
	echo "$me: making a fresh Debian 12 in $cache/root" >&2
	rm -rf "$cache/root.new"
	debootstrap --variant=minbase --include=git,make,sudo bookworm "$cache/root.new" \
		"${DEBIAN_MIRROR:-http://deb.debian.org/debian}" > "$cache/log" 2>&1 ||
		die "debootstrap failed: $(tail -n 1 "$cache/log") ($cache/log)"
	mv "$cache/root.new" "$cache/root"
fi
flock -u 9

dir=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir"/{upper,work,root}
# It dies with the shell below, and its mounts with its namespace.
enter() {
	set -e
	local dir=$1 cache=$2 from=$3 root=$1/root
	shift 3
	mount -t overlay overlay -o "lowerdir=$cache/root,upperdir=$dir/upper,workdir=$dir/work" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
	mount --bind "$cache/archives" "$root/var/cache/apt/archives"
	cat /etc/resolv.conf > "$root/etc/resolv.conf"
	mkdir "$root/srv/ubp"
	cp -a "$from/." "$root/srv/ubp/"
	chown -R 0:0 "$root/srv/ubp"
	# The old root goes: paths of the files of other mount namespaces are then as on a machine.
	cd "$root"
	pivot_root . .
	umount -l .
	exec chroot . /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 "${@:1:1}" /bin/bash -c \
		'cd /srv/ubp && "$@"; rc=$?; exit $rc' bash "${@:2}" # process 1 reaps orphans: a shell does
}
export -f enter
rc=0
unshare --mount --pid --fork --kill-child --propagation private bash -c 'enter "$@"' bash \
	"$dir" "$cache" "$from" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" || rc=$?
exit "$rc"
