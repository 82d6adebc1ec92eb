# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --max-rate and --max-overhead: a place that costs more is taken out while it is traced, with a line that says so; what costs
# little stays. The program never notices. How fast the hot places are is up to the machine: here they are orders of
# magnitude above the limits, and the cold one below.
. "${0%/*}/lib.bash"

usage "--max-rate takes hits a second, from 1, not '0'" --max-rate 0 p:libc:malloc
usage "--max-rate takes hits a second, from 1, not '-3'" --max-rate=-3 p:libc:malloc
usage "--max-rate takes hits a second, from 1, not 'many'" --max-rate many p:libc:malloc
usage "--max-rate takes hits a second, from 1, not ''" --max-rate '' p:libc:malloc
usage "--max-rate takes hits a second, from 1, not '1e3'" --max-rate 1e3 p:libc:malloc
usage "--max-rate takes hits a second, from 1, not '18446744073709551616'" --max-rate 18446744073709551616 p:libc:malloc
for bad in 0 -1 101 5% half '' 1.5; do
	usage "--max-overhead takes percent of a CPU, from 1 to 100, not '$bad'" --max-overhead "$bad" p:libc:malloc
done

in_modes auto trap

F=$FIXTURES/hot_cold
# out EVENT REASON: it was taken out for that, with a line, and --stats has it.
out() {
	grep -qE "^uprobe: warning: .*hot_cold:.* was taken out: [0-9].*$2.*\([0-9]+ hits(, some [0-9]+ more were lost)?\)\$" err.txt ||
		fail "no line says that something is taken out: $2"
	grep -E "^uprobe: stats: .*/$1 hits=[1-9][0-9]* " err.txt | grep -q " taken_out=$3" ||
		fail "--stats does not say that $1 is taken out"
}
stays() { ! grep -E "^uprobe: stats: .*/$1 hits=" err.txt | grep 'taken_out' || fail "--stats: $1 is taken out"; }
n_out() { grep -c 'was taken out' err.txt; }
has_out() { [ "$(n_out)" = "$1" ]; }

# What is left records by itself, so nobody traces it any more.
let_go_of() { [ -n "${UBP_STAY:-}" ] || [ "$MODE" != auto ] || [ "$(uname -m)" != x86_64 ] || eventually is_let_go "$1"; }

# until N ARG...: trace a hot_cold until N places are out, and to its end.
until_out() {
	local n=$1
	shift
	start hot_cold
	trace -p "$PID" --stats "$@"
	eventually has_out "$n"
	let_go_of "$PID"
	go
	trace_done
	finish
	expect_count 3 ' cold: '
	has_out "$n" || fail "$(n_out) places are taken out, not $n"
	stays cold
}

until_out 2 --max-rate 1000 "p:$F:[hc]o*"
out hot_one 'hits a second are more than --max-rate 1000' rate
out hot_two 'hits a second are more than --max-rate 1000' rate

# One of them may go, and the other fit: that is as the machine is.
until_out 1 --max-overhead 3 -e "p:n/hot_one $F:hot_one n=$ARG1" -e "p:n/cold $F:cold n=$ARG1:s64"
out hot_one 'of a CPU, all probes together [0-9.]+ %, more than --max-overhead 3' overhead
[ "$(events | grep ' cold: ' | sed 's/.* n=//' | tr '\n' ' ')" = '1 2 3 ' ] || fail "cold: $(events | grep ' cold: ')"

# Returns; what a filter drops costs, too.
until_out 2 --max-rate 1000 -e "r:n/one $F:hot_one" -e "p:n/two $F:hot_two n=$ARG1" --filter 'n == 77' -e "r:n/cold $F:cold"
out one 'hits a second are more than --max-rate 1000' rate
out two 'hits a second are more than --max-rate 1000' rate

# What is out is out of the program, while that is traced.
start hot_cold
text_of "$PID" "$F" before
trace -p "$PID" --max-overhead 2 -e "p:n/one $F:hot_one" -e "p:n/two $F:hot_two" -e "r:n/one_ret $F:hot_one"
eventually has_out 3
wait_for err.txt 'no probe is left'
as_before() { text_of "$PID" "$F" now && cmp -s before now; }
eventually as_before
kill -0 "$UBP_PID" || fail "uprobe has ended"
go
trace_done
finish

# Where nothing is that hot, nothing happens; nor without a limit.
for limit in '--max-rate=18446744073709551615 --max-overhead=100' ''; do
	start hot_cold
	# shellcheck disable=SC2086 # several options
	trace -p "$PID" --stats -o events.txt -n 3000000 -d 2 $limit -e "p:n/cold $F:cold" -e "p:n/one $F:hot_one"
	trace_done
	has_out 0 || fail "$limit: something is taken out"
	go
	finish
done

# A command, and all processes that map the file.
mkfifo in
"$UPROBE" --stats --max-rate 1000 -o events.txt "p:$F:[hc]o*" -- "$F" < in > got.txt 2> err.txt &
UBP_PID=$!
exec {in}> in
eventually has_out 2
echo go >&"$in"
trace_done
out hot_one 'hits a second are more than --max-rate 1000' rate
[ "$(count ' cold: ' events.txt)" = 3 ] || fail "cold is not hit"
NAME=a start hot_cold
NAME=b start hot_cold
trace --stats --max-rate 1000 "p:$F:[hc]o*"
eventually has_out 2
go a
go b
finish a
finish b
trace_stop
expect_count 6 ' cold: '
out hot_two 'hits a second are more than --max-rate 1000' rate

# Static probes.
start hot_cold
printf '#!/bin/sh\nexec %s --mode %s "$@"\n' "${USDT:?}" "$MODE" > usdt
chmod 755 usdt
UPROBE=$PWD/usdt trace -p "$PID" --stats --max-rate 1000 'hot_cold:*'
eventually has_out 1
go
trace_done
finish
grep -q '^usdt: warning: .*hot_cold/tick .*was taken out: ' err.txt || fail "the static probe is not taken out"
grep -q '^usdt: stats: .*hot_cold/tick .* taken_out=rate' err.txt || fail "--stats of usdt"
expect_count 1 ' end: '
