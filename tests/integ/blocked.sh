# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Attach and detach break no system call off (no EINTR that would not have been).
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/blocked
start blocked
for _ in 1 2 3 4 5; do
	trace -p "$PID" -e "p:b/work $F:work i=$ARG1"
	wait_for out.txt ' work: '
	trace_stop
	alive
done
trace -p "$PID" -e "p:b/work $F:work i=$ARG1" -e "r:b/ret $F:work"
wait_for out.txt ' ret: '
go
finish
trace_done
[ "$LAST" = undisturbed ] || fail "it says '$LAST'"
