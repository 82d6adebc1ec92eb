# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Processes that share their memory (clone(CLONE_VM)), each with its own action of SIGTRAP: a signal that one sends itself comes to
# its own handler while uprobe is there, after it was killed, while the next one is there, and after a clean end. One that
# sets another action, or is born while uprobe is there, changes nobody else's.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/actions_pair
ask() { # ask LINE...
	local line
	for line; do
		echo "$line" >&"$IN_fix"
		read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = well ] || { finish; fail "it says '$line'"; }
	done
}
begin() {
	trace -p "$PID" -p "$WORD" -e "p:o/work $F:work"
	wait_for out.txt "-$PID .* work: "
	wait_for out.txt "-$WORD .* work: "
}

start actions_pair
go
ask raise set raise born
for _ in 1 2; do
	begin
	ask raise set raise born raise set raise
	trace_stop
	ask raise set raise born raise
done
for _ in 1 2; do
	begin
	ask raise
	kill -KILL "$UBP_PID"
	trace_done 137 2> /dev/null
	ask raise set raise
done
begin
ask raise set raise born raise
trace_stop
ask raise set raise born raise
exec {IN_fix}>&-
finish
