# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Another thread than the first executes a program again and again, among threads
# that hit probes all the time: the kernel waits for all of them to be reaped.
. "${0%/*}/lib.bash"

F=$FIXTURES/exec_thread
for mode in auto trap step; do
	NAME=$mode start exec_thread "$(scaled 40)"
	trace --mode $mode -p "$PID" -e "p:e/work $F:work i=$ARG1" -e "r:e/ret $F:work"
	go $mode
	finish $mode
	trace_done
	[ "$LAST" = "done" ] || fail "$mode: it says '$LAST'"
	wait_for out.txt ' ret: '
done
