# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What detours record: all of it, in order of time between the records of stops, with the
# counts right; of targets that end in the middle of it, too.
. "${0%/*}/lib.bash"
need_arch x86_64 aarch64
have objdump

in_order() { # by time, over all threads
	events | sed -E 's/^.{16}-[0-9]+ +\[[0-9]+\] [^ ]+ +([0-9.]+):.*/\1/' | sort -c -g ||
		fail "not in order of time"
}
# thread N TOTAL: the calls of thread N are all there, in their order.
thread() {
	events | grep -a " thread=$1 " | sed 's/.* i=//' > i.txt
	seq 0 $(($2 - 1)) | cmp - i.txt || fail "thread $1: calls are missing, or out of order"
}

F=$FIXTURES/threads
N=$(scaled 50000)
start threads 4 $N
trace --stats --buffer-size 16384 -p "$PID" -e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64"
go
finish
trace_done
grep -q " t/tick hits=$((4 * N)) passed=$((4 * N)) lost=0 .* jumps=1 " err.txt || fail "$(cat err.txt)"
for t in 0 1 2 3; do thread $t $N; done
in_order

# Filters: what a detour has dropped is counted as a hit, too.
start threads 2 1000
trace --stats --buffer-size 16384 -p "$PID" -e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64" --filter 'i < 10'
go
finish
trace_done
expect_count 20 .
grep -q ' t/tick hits=2000 passed=20 lost=0 .* jumps=1 ' err.txt || fail "$(cat err.txt)"

# Small rings lose some, and say how many; to the last.
start threads 4 $((2 * N))
trace --stats --buffer-size 16 -p "$PID" -e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64"
go
finish
trace_done
got=$(count)
lost=$(sed -nE 's/.*\[LOST ([0-9]+) EVENTS\].*/\1/p' out.txt | awk '{ n += $1 } END { print n + 0 }')
[ "$lost" -gt 0 ] || fail "nothing was lost: this test shows nothing"
[ $((got + lost)) = $((8 * N)) ] || fail "$got events and $lost lost are not $((8 * N))"
grep -q " t/tick hits=$((8 * N)) passed=$((8 * N)) lost=$lost .* jumps=1 " err.txt || fail "$(cat err.txt)"
in_order

# With --lossless nobody loses any, whoever is the slower one.
N=$(scaled 20000)
start threads 2 $N
trace --lossless --stats --buffer-size 16 -p "$PID" -e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64"
go
finish
trace_done
grep -q " t/tick hits=$((2 * N)) passed=$((2 * N)) lost=0 .* jumps=1 " err.txt || fail "$(cat err.txt)"
for t in 0 1; do thread $t $N; done
in_order

# -n: as many as asked for, and the rest is nobody's.
start threads 2 100000
trace -n 1234 -p "$PID" -e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64"
go
trace_done
expect_count 1234 .
finish

# Stops and detours, merged: a breakpoint stays one if another is closer than a jump is long.
# (Where a jump is no longer than any instruction none is.)
near=0
[ "$(uname -m)" = x86_64 ] || near=1
F=$FIXTURES/thread_churn
second=$(objdump -d --no-show-raw-insn --disassemble=worker "$F" | sed -nE 's/^ +([0-9a-f]+):.*/0x\1/p' | sed -n 2p)
first=$(objdump -d --no-show-raw-insn --disassemble=worker "$F" | sed -nE 's/^ +([0-9a-f]+):.*/0x\1/p' | sed -n 1p)
start thread_churn 500 4
trace --stats -p "$PID" -e "p:c/tick $F:tick thread=$ARG1 i=$ARG2" -e "p:c/one $F:worker" \
	-e "p:c/two $F:worker+$((second - first))"
go
finish
trace_done
grep -q ' c/tick hits=2000 passed=2000 .* jumps=1 ' err.txt || fail "$(cat err.txt)"
grep -q " c/one hits=500 passed=500 .* jumps=$near boosted=$((1 - near)) " err.txt || fail "$(cat err.txt)"
grep -q ' c/two hits=500 passed=500 lost=0 ' err.txt || fail "$(cat err.txt)"
in_order

# What rings have waits for the records of a stop that take their time: here they wait for room.
for ((i = $(often 100); i > 0; i--)); do
	printf 'p:b/step%d %s:step x=@0x10' $i "$FIXTURES/busy"
	printf ' a%d=+0(%%sp):u8[64]' {1..8}
	echo
done > defs
N=$(scaled 5000)
NAME=busy start busy 1
busy=$PID
F=$FIXTURES/threads
start threads 2 $N
trace --lossless --stats --buffer-size 16 -p "$busy" -p "$PID" -f defs \
	-e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64"
wait_for out.txt ' step1: '
go
finish
go busy
finish busy
trace_done
for t in 0 1; do thread $t $N; done
grep -qE ' b/step1 hits=([0-9]+) passed=\1 lost=0 .* stopped=\1 ' err.txt || fail "$(cat err.txt)"
in_order

# Killed while it records: what it wrote before is told, one call after the other.
F=$FIXTURES/threads
start threads 1 100000000
trace --lossless -p "$PID" -e "p:t/tick $F:tick thread=$ARG1:s64 i=$ARG2:s64"
go
wait_for out.txt ' i=1000$'
kill -9 "$PID"
trace_done
thread 0 "$(count)"
