# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What a newcomer tries, on a fresh Debian 12 with the packages of `make deb` and a compiler: each command of the tutorial, the thirty tasks and the cookbook works there.
# The tree has no part in it but these pages and the test of examples.
. "${0%/*}/lib.bash"

[ "$(uname -m)" = x86_64 ] || skip "needs x86_64, this is $(uname -m)"
[ "$(id -u)" = 0 ] || skip "needs root"
[ -n "${UBP_DEBS:-}" ] || make -s -C "$top" deb || { echo "FAIL: make deb"; exit 1; }
mkdir -p first/docs/man first/tests/integ/lib
cp "$UBP_BUILD"/deb/*.deb "$top/tests/machine/inside/first_hour.sh" first
cp "$top"/docs/{tutorial,tasks,cookbook}.md first/docs
cp "$top/tests/integ/man_examples.py" first/tests/integ
cp -r "$top/tests/integ/lib/app" first/tests/integ/lib

"$top/.ci/fresh.sh" first true 2> err.txt
rc=$?
cat err.txt
[ $rc != 125 ] || skip "NOT PROVED HERE: $(tail -n 1 err.txt)"
"$top/.ci/fresh.sh" first bash first_hour.sh
