# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A process whose first thread has ended is a zombie to /proc, but alive. Its descriptors are those of its
# other threads.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/leader_gone
start leader_gone
trace --stats -p "$PID" -e "p:l/work $F:work i=$ARG1"
wait_for out.txt ' work: .* i=[0-9]+'
trace_stop
untraced "$PID"
[ "$MODE" != auto ] || grep -q ' jumps=1 ' err.txt || fail "no jump: $(cat err.txt)"
# Among all processes.
trace "$F:work"
wait_for out.txt " leader_gone-[0-9]+ .* work: "
trace_stop
untraced "$PID"
go; go
finish

# Another thread takes the place of the first by an exec.
NAME=e start leader_gone exec
trace -p "$PID" -e "p:l/work $F:work i=$ARG1"
wait_for out.txt ' work: .* i=[0-9]+'
go e; go e
finish e
trace_done
# The thread before it had another number, and may have come by 77, too.
expect_count 1 "-$PID_e .* work: .* i=(0x4d|77)$"
[ "$(events | tail -n 1 | grep -c -- "-$PID_e .*0x4d")" = 1 ] || fail "the new image was not traced"
