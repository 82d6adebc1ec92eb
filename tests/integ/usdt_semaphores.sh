# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Semaphores of static probes are raised in each process while it is traced, and are what they
# were when nobody traces: in programs and in libraries that are opened later, in the file's
# bytes and behind them, in children and new programs, beside the kernel's tracer, and after a
# tracer that was killed.
. "${0%/*}/lib.bash"
use_usdt
in_modes auto trap

F=$FIXTURES/usdt L=$FIXTURES/usdt_plugin
say() { # say WORD EXPECTED-LINE...
	local word=$1 want line=
	shift
	echo "$word" >&"$IN_fix"
	for want; do
		read -r -t "$TIMEOUT" line <&"$OUT_fix"
		[ "$line" = "$want" ] || fail "$word: '$line', not '$want'"
	done
}
kill_it() {
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
}
bye() {
	exec {IN_fix}>&-
	finish
}
none="guarded=0 far=0" both="guarded=1 far=1"

# One process, its threads, its children, and what it executes.
start usdt
say go "$none"
trace -p "$PID" "$F:sema:*"
say go "$both"
say thread "$both"
# Those of the child are what its parent's are; of children no event is wanted.
say fork "$none" "$both"
trace_stop
expect_count 3 ' guarded: \(0x[0-9a-f]+\) arg1=[0-9]+ arg2=[0-9]+$'
expect_count 3 ' far: \(0x[0-9a-f]+\) arg1=-[0-9]+$'
say go "$none"

trace "$F:sema:guarded value=arg1 arg2:string"
say fork "guarded=1 far=0" "guarded=1 far=0"
say exec ready
say go "guarded=1 far=0"
trace_stop
expect_count 3 ' guarded: \(0x[0-9a-f]+\) value=[0-9]+ arg2="guarded"$'
say go "$none"

# A library that comes, goes and comes again, and is there when tracing ends.
trace -p "$PID" "$L:plugin:fired"
say open "plugin=1"
say close closed
say open "plugin=1"
trace_stop
expect_count 2 ' fired: \(0x[0-9a-f]+\) arg1=[0-9]+ arg2=[0-9]+$'
say open "plugin=0"
# One that is there already, with and without being told where it is.
trace -p "$PID" plugin:fired
grep -q "^usdt: found plugin:fired in $L\$" err.txt || fail "it is not told where it was found"
say open "plugin=1"
trace_stop
say open "plugin=0"
say close closed

# Who is killed leaves them raised; the next one tells, and counts right itself, whether it
# wants the same ones or others.
trace -p "$PID" "$F:sema:*"
kill_it
say go "$both"
trace -p "$PID" "$F:sema:guarded"
say go "guarded=1 far=0"
wait_for err.txt "process $PID: 2 semaphores lowered that a killed ubp had raised"
kill_it
say go "guarded=1 far=0"
trace -p "$PID" "$F:sema:far"
wait_for err.txt "process $PID: 1 semaphore lowered that a killed ubp had raised"
say go "guarded=0 far=1"
trace_stop
say go "$none"
# Where the library is no more, what is there now is not touched.
trace -p "$PID" "$L:plugin:fired"
say open "plugin=1"
kill_it
say instead "instead=7"
trace -p "$PID" "$F:sema:far"
say word "instead=7"
grep -q lowered err.txt && fail "memory that is no semaphore was lowered"
trace_stop
# After a clean end there is nothing to be told, or lowered.
trace -p "$PID" "$F:sema:*"
trace_stop
grep -q lowered err.txt && fail "what was not raised was lowered"
bye

# As a command: from the first instruction on, and to the end, which it sees.
printf 'go\nfork\n' | "$UPROBE" -o out.txt 'sema:*' -- "$F" > stdout.txt 2> err.txt
[ $? = 1 ] || fail "as a command: $?"
[ "$(tr '\n' ' ' < stdout.txt)" = "ready $both $both $both " ] || fail "$(cat stdout.txt)"
expect_count 3 ' guarded: '
