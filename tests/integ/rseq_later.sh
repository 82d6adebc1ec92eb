# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thread that says only later where the number of its processor stands is recorded by its jump
# from then on, where a jump needs that. (Elsewhere: from the start.)
. "${0%/*}/lib.bash"

F=$FIXTURES/rseq_later
N=$(scaled 50000)
GLIBC_TUNABLES=glibc.pthread.rseq=0 start rseq_later $N
[ -z "$WORD" ] || skip "this C library registers rseq whatever it is told"
trace --stats --lossless --mode jump -p "$PID" -e "p:l/work $F:work i=$ARG1:s64"
go
finish
trace_done
expect_count $((N + 10)) ' work: '
grep -q ' l/work .* jumps=1 ' err.txt || fail "no jump: $(cat err.txt)"
stopped=$(sed -nE 's/.* l\/work .*\bstopped=([0-9]+).*/\1/p' err.txt)
[ "$stopped" -lt $((N / 2)) ] || fail "$stopped of $((N + 10)) hits were stops"
[ "$(uname -m)" != aarch64 ] || [ "$stopped" -ge 10 ] || fail "$stopped stops: who told them the processor?"
