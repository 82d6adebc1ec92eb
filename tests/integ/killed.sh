# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# uprobe is killed: its target runs on with right results; the next one takes out what
# was left, says so, and leaves everything as it was: code, handlers, mappings, counter.
. "${0%/*}/lib.bash"
in_modes auto trap

kill_it() {
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
}
caught() { grep SigCgt "/proc/$1/status"; }

F=$FIXTURES/busy
defs=(-e "p:b/step $F:step a=$ARG1 s=+0($ARG2):string" -e "r:b/ret $F:step \$retval")
start busy "${BUSY:-4}"
text_of "$PID" "$F" clean
before=$(caught "$PID")
trace -p "$PID" "${defs[@]}"
[ "$(caught "$PID")" != "$before" ] || fail "there is no guard"
wait_for out.txt ' ret: '
kill_it
alive
text_of "$PID" "$F" left
cmp -s clean left && fail "no breakpoint was left: nothing is shown by this"
maps=
for _ in 1 2 3; do
	trace -p "$PID" "${defs[@]}"
	wait_for err.txt "process $PID: [0-9]+ breakpoints? taken out that a killed ubp had left"
	wait_for out.txt ' ret: '
	[ -z "$maps" ] || [ "$(wc -l < "/proc/$PID/maps")" = "$maps" ] || fail "mappings grow"
	maps=$(wc -l < "/proc/$PID/maps")
	kill_it
	alive
done
trace -p "$PID" "${defs[@]}"
trace_stop
text_of "$PID" "$F" now
cmp clean now || fail "the code is not what it was"
[ "$(caught "$PID")" = "$before" ] || fail "signal actions are not what they were"
untraced "$PID"
trace -p "$PID" "${defs[@]}"
trace_stop
grep -q 'taken out' err.txt && fail "there was nothing to take out"
go
finish

# A reference counter that was raised when it was killed.
F=$FIXTURES/semaphore
ref=$(foffset_of "$F" counter)
work=$("$UPROBE" --check -e "p:s/work $F:work" | sed -nE 's/.*:(0x[0-9a-f]{16}).*/\1/p')
[ -n "$ref" ] && [ -n "$work" ] || fail "no offsets: '$ref' '$work'"
says() {
	local line=
	go sem
	read -r -t "$TIMEOUT" line <&"$OUT_sem"
	[ "$line" = "$1" ] || fail "$2: the counter is '$line', not $1"
}
NAME=sem start semaphore
trace -p "$PID" -e "p:s/work $F:$work($ref)"
says 1 "traced"
kill_it
says 1 "killed"
trace -p "$PID" -e "p:s/work $F:$work($ref)"
says 1 "traced again"
trace_stop
says 0 "at the end"
