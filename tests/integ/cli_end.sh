# SPDX-License-Identifier: LGPL-2.1-or-later
# Every way a trace ends: signals, a reader that goes or stops reading, a full disk.
# Each time the probes are out and the target runs on to its right end.
. "${0%/*}/lib.bash"
hello=$FIXTURES/hello

for sig in INT TERM HUP QUIT PIPE; do
	start hello you
	trace -p "$PID" "p:$hello:greet"
	kill -$sig "$UBP_PID"
	trace_done
	[ "$(tail -n 2 out.txt)" = $'\nEnding tracing...' ] || fail "$sig: no last words"
	grep -q '^TracerPid:	0$' "/proc/$PID/status" || fail "$sig: still traced"
	go; finish
done

# A HUP that was ignored before (nohup) stays ignored; TERM then ends it.
start hello you
trap '' HUP
trace -p "$PID" "p:$hello:greet n=$ARG2:s32"
trap - HUP
kill -HUP "$UBP_PID"
go; finish; trace_done
grep -q ' n=1$' out.txt || fail "a HUP that was to be ignored ended the trace"

# | head: the reader has enough while events come.
start hello a b c d e f
mkfifo pipe ready
"$UPROBE" --ready-fd 9 -p "$PID" "p:$hello:greet n=$ARG2:s32" > pipe 2> err.txt 9> ready &
UBP_PID=$!
head -n 2 < pipe > out.txt &
reader=$!
read -r line < ready && [ "$line" = ready ] || fail "not ready"
go; finish
wait "$reader"
wait "$UBP_PID" || fail "| head: exit status $?"
[ "$(wc -l < out.txt)" = 2 ] && grep -q ' n=1$' out.txt || fail "| head: other lines"
[ ! -s err.txt ] || fail "| head is no error"

# A reader that goes while no event comes.
start hello you
mkfifo ready2
"$UPROBE" --ready-fd 9 -p "$PID" "p:$hello:greet" > pipe 2> err.txt 9> ready2 &
UBP_PID=$!
exec 6< pipe
read -r line < ready2 && [ "$line" = ready ] || fail "not ready"
exec 6<&-
wait "$UBP_PID" || fail "a reader that goes: exit status $?"
grep -q '^TracerPid:	0$' "/proc/$PID/status" || fail "still traced"
go; finish

# A reader that is there but does not read: a signal ends the trace all the same.
words=$(seq -s ' ' 3000)
# shellcheck disable=SC2086 # many words
start hello $words
mkfifo ready3 never
"$UPROBE" --ready-fd 9 -p "$PID" "p:$hello:greet s=+0($ARG1):string n=$ARG2:s32" > pipe 2> err.txt 9> ready3 &
UBP_PID=$!
exec 6< pipe
read -r line < ready3 && [ "$line" = ready ] || fail "not ready"
go; finish # the target is not held up: more than a pipe full of lines
kill -TERM "$UBP_PID" 2> /dev/null || fail "it gave up by itself"
# The first signal takes the probes out, the next one gives up on the reader. Signals
# of one kind are not counted, so: until it is gone.
for ((i = 0; i < 300; i++)); do
	kill -TERM "$UBP_PID" 2> /dev/null || break
	read -r -t 0.1 <> never
done
kill -0 "$UBP_PID" 2> /dev/null && fail "it cannot be ended"
exec 6<&-
wait "$UBP_PID"

# A full disk: one error, status 1.
for where in stdout -o; do
	start hello you
	rm -f ready4; mkfifo ready4
	if [ $where = -o ]; then
		"$UPROBE" --ready-fd 9 -p "$PID" -o /dev/full "p:$hello:greet" 2> err.txt 9> ready4 &
	else
		"$UPROBE" --ready-fd 9 -p "$PID" --json "p:$hello:greet" > /dev/full 2> err.txt 9> ready4 &
	fi
	UBP_PID=$!
	read -r line < ready4 && [ "$line" = ready ] || fail "not ready"
	go; finish
	wait "$UBP_PID"; status=$?
	[ $status = 1 ] || fail "a full disk: exit status $status"
	[ "$(grep -c '^uprobe: error: .*: No space left on device$' err.txt)" = 1 ] || fail "not one error"
done
exit 0
