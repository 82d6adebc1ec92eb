# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A signal's handler that was begun between a bell and the vfork() behind it: who returns from there makes a child, which is not to be missed. So
# nobody lets go of the process while the handler runs.
. "${0%/*}/lib.bash"
need_arch x86_64

def="p:b/work $FIXTURES/vfork_handler:work n=$ARG1:s32"
for ((i = 0; i < 3; i++)); do
	start vfork_handler
	NAME=other start vfork_handler wait
	# When the other one is let go of it has been tried to let go of both.
	trace --follow --stats -e "$def" -p "$PID_fix" -p "$PID_other"
	[ -n "${UBP_STAY:-}" ] || eventually is_let_go "$PID_other"
	traced "$PID_fix" || fail "it was let go of in front of its vfork()"
	go
	finish
	wait_for out.txt ' work: '
	trace_stop
	expect_count 1 ' work: '
	go other
	finish other
done
