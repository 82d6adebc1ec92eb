# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thread that is stopped while it computes, and makes system calls for us, keeps its vectors:
# those, too, that a system call would not keep.
. "${0%/*}/lib.bash"

need_arch aarch64
F=$FIXTURES/vectors
start vectors
for _ in 1 2 3; do
	trace -p "$PID" -e "p:v/work $F:work"
	trace_stop
done
# And again when nothing has to be mapped any more; the end is traced.
trace -p "$PID" -e "p:v/work $F:work" -e "r:v/ret $F:work"
go
finish
[ "$LAST" != none ] || skip "this machine has no scalable vectors"
[ "$LAST" = right ] || fail "it says '$LAST'"
trace_done
expect_count 1 ' work: '
expect_count 1 ' ret: '
