# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Exceptions and backtraces on all kinds of stacks, with and without frames of ours on them: of threads, children,
# coroutines, signal handlers; traced, after uprobe was killed, and traced again.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/throw_stacks
N=$(scaled 10)
ask() { # ask LINE
	local word
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" word <&"$OUT_fix" && [ "$word" = done ] || fail "to '$1' it says '$word'"
}
all() {
	local what
	for what in here walk deep thread child shared coroutine handler inside jump leave here; do
		ask "$what $N"
		ask "around $what $N"
		ask "around here $N"
	done
}
# Where unwinders begin there are jumps, by which nothing stops that passes no frame of ours.
stops() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$PID/task/$PID/status"; }
at_speed() {
	local before
	before=$(stops)
	ask 'walk 1000'
	[ $(($(stops) - before)) -lt 500 ]
}
has_jumps() { [ "$MODE" = auto ] && [ "$(uname -m)" = x86_64 ]; }
probed=(-e "r:t/around $F:around \$retval:s64" -e "r:t/here $F:here \$retval:s64")

start throw_stacks
all
# How it ends, whether children are traced, and so many events of around() and here() in each round.
for how in "INT alone 30 24" "KILL alone" "INT --follow 34 30" "KILL --follow" "INT --follow 34 30"; do
	set -- $how
	[ $2 = --follow ] && follow=--follow || follow=
	trace --lossless $follow -p "$PID" "${probed[@]}"
	all
	! has_jumps || eventually at_speed
	all
	if [ $1 = INT ]; then
		trace_stop
		n=$(count " around: .*arg1=$((N + 1))\$")
		[ "$n" = $((2 * $3)) ] && [ "$(count ' here: ')" = $((2 * $4)) ] ||
			fail "$2: $n events of around(), $(count ' here: ') of here()"
	else
		kill -KILL "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		untraced "$PID"
		all
	fi
done
all
exec {IN_fix}>&-
finish
