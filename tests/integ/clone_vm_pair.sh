# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Two running processes with one memory: attached to one after the other, the
# breakpoints of the first are not taken for somebody else's.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/clone_vm_pair
start clone_vm_pair
go
text_of "$PID" "$F" before
for _ in 1 2 3; do
	trace -p "$PID,$WORD" -e "p:c/work $F:work" -e "r:c/ret $F:work"
	wait_for out.txt "-$PID .* ret: "
	wait_for out.txt "-$WORD .* ret: "
	trace_stop
	text_of "$PID" "$F" after
	cmp before after || fail "its code is not what it was"
	untraced "$PID"
	untraced "$WORD"
done
trace "$F:work"
wait_for out.txt "-$PID .* work: "
wait_for out.txt "-$WORD .* work: "
trace_stop
go
finish
