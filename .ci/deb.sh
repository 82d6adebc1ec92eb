#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# deb.sh FOLDER VERSION BUILD_DEPENDS LIBRARIES: Debian packages of this tree in FOLDER, made from a copy of it. What .ci/deb leaves open is filled in: the
# lists of packages that the makefile has, and a changelog.
set -eu
folder=$1 version=$2 build=$3 libs=$4
tree=$folder/ubp-$version
comma() { printf '%s\n' "$@" | paste -sd, | sed 's/,/, /g'; }

rm -rf "$folder"
mkdir -p "$tree"
if git rev-parse --git-dir > /dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$tree"
else
	tar -c --exclude='./build*' . | tar -x -C "$tree"
fi
cp -r .ci/deb "$tree/debian"
chmod +x "$tree/debian/rules"
# What every Debian builds with is not named.
# shellcheck disable=SC2046,SC2086 # lists are words
sed -i "s/@build@/$(comma $(printf '%s\n' $build | grep -vxE 'gcc|make|libc6-dev'))/; s/@libs@/$(comma $libs)/" "$tree/debian/control"
maintainer=$(sed -n 's/^Maintainer: //p' "$tree/debian/control")
date=$(git log -1 --format=%aD 2> /dev/null || date -R)
printf 'ubp (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' "$version" "$version" "$maintainer" "$date" > "$tree/debian/changelog"
cd "$tree"
if ! MAKEFLAGS='' DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym" dpkg-buildpackage -b -us -uc > ../log 2>&1; then
	tail -n 30 ../log >&2
	exit 1
fi
rm -rf "$tree"
ls "$folder"/*.deb
