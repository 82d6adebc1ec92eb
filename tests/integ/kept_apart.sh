# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Two tracers at once on two programs of one file; each sees its own only.
. "${0%/*}/lib.bash"

F=$FIXTURES/threads
NAME=a start threads 2 50
NAME=b start threads 2 70
trace -p "$PID_a" -e "p:t/tick $F:tick $ARG1"
A=$UBP_PID
mv out.txt out_a.txt
mv err.txt err_a.txt
PIDS+=("$A")
trace -p "$PID_b" -e "p:t/tick $F:tick $ARG1"
go a
go b
finish a
finish b
trace_done
wait "$A" || fail "the first uprobe ended with $?"
[ "$(count . out_a.txt)" = 100 ] || fail "first: $(count . out_a.txt) events, not 100"
[ "$(count . out.txt)" = 140 ] || fail "second: $(count . out.txt) events, not 140"
