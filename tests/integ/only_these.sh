# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Without -p every process that maps the file, with -p those named, with -L a thread.
. "${0%/*}/lib.bash"

F=$FIXTURES/threads
NAME=a start threads 1 10
NAME=b start threads 1 20
NAME=c start threads 1 40
trace -p "$PID_a,$PID_c" -e "p:t/tick $F:tick"
go a; go b; go c
finish a; finish b; finish c
trace_done
expect_count 50 ' tick: '

NAME=a start threads 1 10
NAME=b start threads 1 20
trace -e "p:t/tick $F:tick"
go a; go b
finish a; finish b
wait_for out.txt ' tick: '
trace_stop
expect_count 30 ' tick: '

# The first thread of job_control's child does all the work, its parent none.
F=$FIXTURES/job_control
start job_control 1
trace -L "$WORD" -n 5 -e "p:j/work $F:work"
trace_done
expect_count 5 "-$WORD +\["
trace -L "$PID" -e "p:j/work $F:work"
go
finish
trace_done
expect_count 0 .

# Of several processes one may have ended: it is told, the others are traced.
F=$FIXTURES/threads
NAME=a start threads 1 10
"$BASH" -c 'exit 0' & gone=$!
wait $gone
trace -p "$gone,$PID_a" -e "p:t/tick $F:tick"
go a; finish a
trace_done
expect_count 10 ' tick: '
grep -qx "uprobe: warning: no process $gone: the others are traced" err.txt || fail "nothing is said of the one that has ended"
"$BASH" -c 'exit 0' & other=$!
wait $other
refused 'none of the 2 processes is there' -p "$gone,$other" -e "p:t/tick $F:tick"
