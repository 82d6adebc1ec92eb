# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A program that throws exceptions, and has return probes: as long as no frame of ours is on a stack nothing
# stands on its unwinder, so that it runs at full speed, after a kill too; what is hit is right all the same.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/throws
ask() { # ask LINE: sets NS
	local word
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" word NS <&"$OUT_fix" && [ "$word" = done ] || fail "to '$1' it says '$word'"
}
ends() { exec {IN_fix}>&-; finish; }
unwinder() { text_of "$PID" "$LIB" "$1"; }
at_rest() { # at_rest WHEN
	unwinder now
	cmp -s before now || fail "$1: something stands on the unwinder"
}
probed=(-e "r:t/never $F:never \$retval:s64" -e "r:t/around $F:around \$retval:s64" -e "r:t/apart $F:apart \$retval:s64")

start throws
LIB=$(awk '$6 ~ /libgcc_s/ { print $6; exit }' "/proc/$PID/maps")
[ -n "$LIB" ] || skip "its unwinder is in no library of its own"
ask 'throw 100'
unwinder before

# Never hit; then its uprobe is killed.
for end in INT KILL; do
	trace --stats --lossless -p "$PID" "${probed[@]}"
	ask 'throw 1000'
	at_rest "never hit"
	kill -$end "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	untraced "$PID"
	ask 'throw 1000'
	at_rest "never hit, ended by SIG$end"
done

# Frames on the stack that is unwound: the breakpoints come, in time for the very first.
trace --stats --lossless -p "$PID" "${probed[@]}"
ask 'around 20'
unwinder now
cmp -s before now && fail "nothing stands on the unwinder"
for i in 1 2 3; do
	ask 'around 20'
	ask 'call 200'
	ask 'throw 200'
done
[ "$MODE" = auto ] || at_rest "when nothing was on a stack for long"
ask 'around 20'
trace_stop
at_rest "ended"
[ "$(count ' around: ')" = 5 ] && [ "$(count ' apart: ')" = 600 ] && [ "$(count ' never: ')" = 0 ] ||
	fail "$(count ' around: ') and $(count ' apart: ') events"
[ "$(count ' around: .*arg1=21$')" = 5 ] || fail "other values than expected"

# Where the unwinder's start is a jump: frames on other stacks, or long gone, cost no stop.
stops() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$PID/task/$PID/status"; }
throws_at_speed() {
	local before
	before=$(stops)
	ask 'throw 2000'
	[ $(($(stops) - before)) -lt 1000 ]
}
if [ "$MODE" = auto ] && [ "$(uname -m)" = x86_64 ]; then
	trace --stats --lossless -p "$PID" "${probed[@]}" -e "r:t/waits $F:waits \$retval:s64"
	ask 'call 20'
	eventually throws_at_speed
	ask open
	eventually throws_at_speed
	# Now and then there is one.
	for i in 1 2 3; do
		ask 'around 20'
		throws_at_speed || fail "stopped at exceptions past no frame of ours"
	done
	ask close
	trace_stop
	at_rest "ended behind jumps"
	[ "$(count ' around: .*arg1=21$')" = 3 ] && [ "$(count ' waits: .*arg1=1$')" = 1 ] || fail "not all events"
fi

# Killed with a frame open: its thread comes home, and exceptions are caught.
ask open
trace --lossless -p "$PID" "${probed[@]}" -e "r:t/waits $F:waits \$retval:s64"
ask close
ask open
ask 'around 20'
kill -KILL "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
untraced "$PID"
ask 'around 200'
ask 'throw 200'
ask close

# The next one has no return probe; exceptions pass what the killed one has left.
trace --lossless -p "$PID" -e "r:t/waits $F:waits \$retval:s64"
ask open
kill -KILL "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
untraced "$PID"
trace --lossless -p "$PID" -e "p:t/apart $F:apart"
ask raise
ask 'throw 20'
ask 'call 2'
trace_stop
[ "$(count ' apart: ')" = 2 ] || fail "$(count ' apart: ') events of the last one"
at_rest "ended without a return probe"
ask 'throw 20'
ends
