# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thousand idle threads and one that works; threads that are born and die.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/many_threads
MANY=$(scaled 1000) N=$(scaled 2000)
start many_threads $MANY $N
trace --lossless -p "$PID" -e "p:m/tick $F:tick i=$ARG1:s64" -e "r:m/ret $F:tick \$retval:s64"
go
finish
trace_done
[ "$LAST" = "woken $MANY" ] || fail "it says '$LAST'"
expect_count $N ' tick: '
expect_count $N ' ret: '

start many_threads $MANY 10
trace -p "$PID" -e "p:m/tick $F:tick"
trace_stop
untraced "$PID"
go
finish
[ "$LAST" = "woken $MANY" ] || fail "after detach it says '$LAST'"

F=$FIXTURES/thread_churn
THREADS=$(scaled 500)
start thread_churn $THREADS 4
trace --lossless -p "$PID" -e "p:c/tick $F:tick thread=$ARG1 i=$ARG2" -e "r:c/ret $F:tick" \
	-e "p:c/worker $F:worker"
go
finish
trace_done
[ "$LAST" = "all joined" ] || fail "it says '$LAST'"
expect_count $((4 * THREADS)) ' tick: '
expect_count $((4 * THREADS)) ' ret: '
expect_count $THREADS ' worker: '

# Attach while they come and go.
start thread_churn 0 20
go
for _ in 1 2 3; do
	trace -p "$PID" -n 50 -e "p:c/tick $F:tick" -e "r:c/ret $F:tick"
	trace_done
	expect_count 50 .
	alive
done
go
finish
