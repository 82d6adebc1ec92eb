# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A little of everything, by few processes: for places where all is slow. A running process, jumps or
# breakpoints, killed and taken out again; signals, children, an exec, what leaves functions, a static probe.
. "${0%/*}/lib.bash"
in_modes auto trap

# BUSY threads run through the code all the time.
F=$FIXTURES/busy
defs=(-e "p:b/step $F:step a=$ARG1 s=+0($ARG2):string" -e "r:b/ret $F:step \$retval")
start busy "${BUSY:-2}"
text_of "$PID" "$F" clean
before=$(grep SigCgt "/proc/$PID/status")
trace -p "$PID" "${defs[@]}"
wait_for out.txt ' ret: '
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
alive
text_of "$PID" "$F" left
cmp -s clean left && fail "nothing was left: nothing is shown by this"
trace --stats -p "$PID" "${defs[@]}"
wait_for err.txt "process $PID: [0-9]+ breakpoints? taken out that a killed ubp had left"
wait_for out.txt ' ret: '
trace_stop
grep -q ' unguarded=0 ' err.txt || fail "unguarded"
grep -E ' b/(step|ret) ' err.txt | grep -o ' sites=.*'
text_of "$PID" "$F" now
cmp clean now || fail "the code is not what it was"
[ "$(grep SigCgt "/proc/$PID/status")" = "$before" ] || fail "signal actions are not what they were"
untraced "$PID"
go
finish

# Each of these programs looks itself whether all is as it should be.
run() { # run FIXTURE ARG... : as a command, with $defs
	echo go | "$UPROBE" --lossless --stats -o out.txt "${defs[@]}" -- "$FIXTURES/$1" "${@:2}" > stdout.txt 2> err.txt ||
		fail "$*: ended with $?: $(cat stdout.txt)"
}
F=$FIXTURES/signals
defs=(-e "p:s/work $F:work i=$ARG1:s64" -e "r:s/ret $F:work \$retval:s64")
run signals 100
grep -qx 'arrived 100' stdout.txt || fail "signals: $(cat stdout.txt)"
[ "$(count ' work: ')" -ge 100 ] || fail "signals: $(count ' work: ') hits"
F=$FIXTURES/leave
defs=(-e "p:l/frame $F:frame n=$ARG1:s64" -e "r:l/ret $F:frame \$retval:s64" -e "p:l/inside $F:in_handler")
run leave longjmp 20
[ "$(count ' frame: ')" -gt "$(count ' ret: ')" ] || fail "longjmp: all returned"
run leave handler 20
[ "$(count ' frame: ')" = "$(count ' ret: ')" ] || fail "handler: not all returned"
F=$FIXTURES/fork_exec
defs=(-e "p:f/work $F:work who=$ARG1:s32" -e "r:f/ret $F:work \$retval:s32")
run fork_exec fork
expect_count 10 ' work: '
expect_count 10 ' ret: '
run fork_exec exec
expect_count 5 ' work: '

F=$FIXTURES/alone
echo go | "$USDT" --mode "$MODE" -o out.txt 'alone:pass arg1 arg2:string' -- "$F" 20 > stdout.txt 2> err.txt || fail "usdt: $?"
expect_count 40 ' pass: '
expect_count 2 ' pass: .* arg1=19 arg2="odd"$'
