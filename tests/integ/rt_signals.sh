# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Attached to and let go again and again in a storm of numbered signals: each arrives,
# once, in order, and breaks the system call off it came in. In a process with one
# thread, which is the one that ubp has map its memory.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/rt_signals rounds=${ROUNDS:-$(often 20)}
rounds() {
	local i
	for ((i = 0; i < $1; i++)); do
		trace -p "$PID" -e "p:r/work $F:work"
		trace_stop
		alive
	done
}
for mode in return jump; do
	NAME=$mode start rt_signals $mode
	go $mode
	rounds "$rounds"
	go $mode
	finish $mode
	n=${LAST#arrived }
	[ "$n" -gt 1000 ] || fail "$mode: only $n signals came: this test shows nothing"
	echo "$mode: $n signals"
done
NAME=stopped start rt_signals stopped
go stopped
rounds "$rounds"
go stopped
finish stopped
[ "${LAST#arrived }" -gt $((rounds / 4)) ] || fail "stopped: $LAST: this test shows nothing"
echo "stopped: $LAST"
