# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What lies behind a thread's stack is not on it: a jump is made in spite of words there
# that look like places under it.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/stack_neighbour
start stack_neighbour
trace --stats -p "$PID" -e "p:n/point $F:point"
go
finish
trace_done
expect_count 1000 ' point: '
grep -q ' n/point .* jumps=1 ' err.txt || fail "no jump"
