# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The Debian packages of `make deb`: lintian has nothing to say, and on a fresh Debian 12 they are installed, used and purged, and nothing of them is left.
. "${0%/*}/lib.bash"

[ "$(uname -m)" = x86_64 ] || skip "needs x86_64, this is $(uname -m)"
[ "$(id -u)" = 0 ] || skip "needs root"
"$top/.ci/deps.sh" lintian || skip "lintian cannot be had"
[ -n "${UBP_DEBS:-}" ] || make -s -C "$top" deb || { echo "FAIL: make deb"; exit 1; }
mkdir packages
cp "$UBP_BUILD"/deb/*.deb "$top/tests/machine/inside/debian_packages.sh" "$top/docs/example.c" packages
lintian --allow-root --fail-on error,warning packages/*.deb || { echo "FAIL: lintian"; exit 1; }

"$top/.ci/fresh.sh" packages true 2> err.txt
rc=$?
cat err.txt
[ $rc != 125 ] || skip "NOT PROVED HERE: $(tail -n 1 err.txt)"
"$top/.ci/fresh.sh" packages bash debian_packages.sh
