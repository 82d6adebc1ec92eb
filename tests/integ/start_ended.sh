# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# INT and TERM are obeyed while uprobe is still attaching, here to processes that it can't stop: it ends with a
# message, without having begun, and nothing is left in those that it has seen to already.
. "${0%/*}/lib.bash"
in_modes auto trap

# ended SIGNAL PID: uprobe, which is starting, ends when it gets the signal. PID is the last that it seizes.
ended() {
	eventually traced "$2"
	kill -"$1" "$UBP_PID" || fail "uprobe is gone already"
	exec {ready_fd}<&-
	trace_done 1
	grep -qE '^uprobe: error: ended (while .* was read, )?before all probes were planted$' err.txt || fail "$1 is not why it ended"
	[ ! -s out.txt ] || fail "it has begun"
}

F=$FIXTURES/waits_for_child
NAME=first start "$FIXTURES/threads" 2 10
text_of "$PID_first" "$FIXTURES/threads" clean
for n in 1 2 3 4; do NAME=stuck$n start "$F"; done

trace_start -p "$PID_first,$PID_stuck1,$PID_stuck2" -e "p:t/tick $FIXTURES/threads:tick" -e "p:t/work $F:work"
ended INT "$PID_stuck2"
trace_start -e "p:t/work $F:work" -e "p:t/tick $FIXTURES/threads:tick"
ended TERM "$PID_stuck4"

for pid in "$PID_first" "$PID_stuck1" "$PID_stuck2" "$PID_stuck3" "$PID_stuck4"; do
	! traced "$pid" || fail "process $pid is still traced"
done
text_of "$PID_first" "$FIXTURES/threads" now
cmp -s clean now || fail "something of ours is left"
for n in 1 2 3 4; do
	go stuck$n
	finish stuck$n
done
go first
finish first
