# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Children that are born while their mother, who has many threads, is attached to: between her guard and her first
# breakpoint, too. With --follow each that is traced has its probes; without none is harmed.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/forks_beside
THREADS=$(scaled 600)
start forks_beside "$THREADS"
trace --lossless --follow -p "$PID" -e "p:f/tick $F:tick"
go
finish
traced=${LAST#traced }
[ "$traced" -gt 0 ] || fail "only $traced children were born to a traced mother"
trace_done
expect_count "$traced" ' tick: '

start forks_beside "$THREADS"
trace -p "$PID" -e "p:f/tick $F:tick"
go
finish
trace_done
expect_count 0 ' tick: '
