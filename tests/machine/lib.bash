# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# For tests that boot a machine (README.md). Sourced, outside of it.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}
skip() { echo "$*"; exit 77; }

# need_machine MAKE-TARGET KERNEL: or the test is skipped, and says what would make it run.
need_machine() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86_64, this is $(uname -m)"
	[ "$(id -u)" = 0 ] || skip "needs root, whose files the machine has"
	for tool in qemu-system-x86_64 busybox cpio; do
		command -v "$tool" > /dev/null || skip "needs $tool"
	done
	[ -s "$2" ] || skip "NOT PROVED HERE: there is no $2 (make $1)"
}
# inside NAME WORD...: run inside/NAME.sh in the machine (what is before it are options of
# guest.sh and its kernel). It must say what it has to say at its end.
inside() {
	local rc seconds=1760 # whoever runs this has patience for a little more
	[ "${MACHINES:-short}" = short ] || seconds=14400
	"$top/.ci/guest.sh" --seconds "$seconds" "$@" 2>&1 | tee machine.txt
	rc=${PIPESTATUS[0]}
	# What was left out inside is told here, too.
	grep -aE '^(SKIP|FAIL) ' machine.txt > told.txt || :
	[ "$rc" != 124 ] || { echo "emulation is slow, and much slower beside other work"; exit 1; }
	[ "$rc" = 0 ] || { echo "in the machine: exit status $rc"; exit 1; }
	grep -aq '^the machine is done$' machine.txt || { echo "the machine said nothing at its end"; exit 1; }
}
