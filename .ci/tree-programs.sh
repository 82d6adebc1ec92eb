#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Fetch what others wrote for the kernel's tracing tree, and keep it: tree-programs.sh perf-tools|selftests [FOLDER]. perf-tools: its
# script "uprobe" (100 kB). selftests: the kernel's own tests of the tree, of 6.12, whose source is 150 MB to fetch. Nothing is installed.
set -eu
what=$1
keep=${2:-${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}/$1}
if [ -d "$keep" ]; then
	echo "$keep is there"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$(dirname "$keep")" "$dir/root" "$dir/new"
cd "$dir"
case $what in
perf-tools) package=perf-tools-unstable ;;
selftests) package=linux-source-6.12 ;;
*) echo "what is $what?" >&2; exit 2 ;;
esac
apt-get download -q -o APT::Sandbox::User=root "$package" || { echo "$package could not be fetched" >&2; exit 1; }
case $what in
perf-tools)
	dpkg -x "$package"_*.deb root
	cp root/usr/sbin/uprobe-perf root/usr/share/doc/perf-tools-unstable/copyright new/
	;;
selftests)
	tests=$package/tools/testing/selftests/ftrace
	dpkg-deb --fsys-tarfile "$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" | tar -xJ -C root "$tests"
	cp -a "root/$tests/." new/
	;;
esac
rm -rf "$keep.new"
mv new "$keep.new"
mv "$keep.new" "$keep"
echo "$keep is there"
