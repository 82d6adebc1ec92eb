# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp-bench: command lines that make no sense, help, version; what cannot be done.
. "${0%/*}/lib.bash"
[ -x "$UBP_BENCH" ] || skip "ubp-bench is not built for this machine"

PROGRAM=ubp-bench UPROBE=$UBP_BENCH

# could_not REGEX ARG...: status 1 and one message (and a caret's two lines).
could_not() {
	local want=$1 status; shift
	"$UBP_BENCH" "$@" > out.txt 2> err.txt; status=$?
	[ $status = 1 ] || fail "ubp-bench $*: exit status $status, not 1"
	[ "$(grep -cv '^  ' err.txt)" = 1 ] && grep -Eq "^ubp-bench: error: $want" err.txt || fail "ubp-bench $*: no message"
}

usage "unknown option '--bogus'" --bogus
usage "'word' is one word too many" word
usage "--case takes all or some of count int string return both hit miss sample count_event count_key count_string hist_duration trigger_key, not 'strin'" --case int,strin
usage "--case takes all or some of count int string return both hit miss sample count_event count_key count_string hist_duration trigger_key, not ''" --case int,
usage "--first takes all or some of ${FIRSTS[*]}, not 'call'" --first call
usage "--mode takes all or some of auto, jump, trap, step, not 'fast'" --mode trap,fast
usage "--kernel takes auto, tracefs, perf or none, not 'ftrace'" --kernel ftrace
usage "--threads takes numbers from 1 to 64, not '0'" --threads 1,0
usage "--idle takes a number up to 100000, not '-1'" --idle -1
usage "--rounds takes a number from 1 to 10000, not '0'" --rounds 0
usage "--hits takes a number from 1 to 10000000, not '1k'" --hits 1k
usage "--hits 3 is less than the 4 threads" --hits 3
usage '--pin excludes --no-pin' --pin --no-pin
usage '--end-to-end takes --rounds, --hits, --threads and --json, nothing else' --end-to-end --case int
usage "--hits 3 is less than the 4 threads" --end-to-end --threads 4 --hits 3
usage "no command after '--'" -e p:libc:malloc --
usage 'a command needs definitions (-e)' -- true
usage '-e is for a command: -e DEF -- COMMAND' -e p:libc:malloc
usage 'a filter comes after the definition it is for' --filter 'a == 1'
usage "more than one filter for 'p:libc:malloc'" -e p:libc:malloc --filter 'a == 1' --filter 'a == 2' -- true
usage 'a command excludes --case, --first, --threads and --idle' --case int -e p:libc:malloc -- true
usage '--coverage measures nothing: it stands alone' --coverage libc --case int
usage '--all is for --coverage' --all
usage '--hot is for a command: --hot -- COMMAND' --hot
usage '--hot excludes --mode, --kernel and --reader' --hot --mode trap -- true

for opt in -h --help; do
	"$UBP_BENCH" $opt > help.txt 2> err.txt || fail "$opt: exit status $?"
	[ ! -s err.txt ] || fail "$opt: something on standard error"
	grep -q '^Usage: ubp-bench \[OPTION\]' help.txt || fail "$opt: no usage"
done
# All that is parsed is in the help and in the manual.
grep -oE -- '^ .{4,6}--[a-z-]+' help.txt | grep -oE -- '--[a-z-]+' > options.txt
[ "$(wc -l < options.txt)" -gt 10 ] || fail "no options in the help"
while read -r opt; do
	sed 's/\\-/-/g' "$UBP_SRC/docs/man/ubp-bench.1" | grep -q -- "$opt" || fail "the manual is silent about $opt"
done < options.txt
"$UBP_BENCH" --version > out.txt || fail "--version: exit status $?"
grep -Eq '^ubp-bench [0-9]+\.[0-9]+' out.txt || fail "no version"

run=(--rounds 1 --hits 10 --kernel none)
could_not '/no/such/dir/x: No such file' --json /no/such/dir/x "${run[@]}" --case int
could_not '.*nosuchsymbol' "${run[@]}" -e p:libc:nosuchsymbol -- true
could_not '.*no-such-command' "${run[@]}" -e p:libc:malloc -- ./no-such-command

# The signals that we read from a descriptor are blocked for us alone.
timeout "$TIMEOUT" "$UBP_BENCH" "${run[@]}" --mode trap -e p:libc:malloc -- sh -c 'grep SigBlk /proc/self/status >> masks.txt' \
	> out.txt 2> err.txt || fail "a command: $(cat err.txt)"
[ "$(sort -u masks.txt)" = $'SigBlk:\t0000000000000000' ] || fail "a command's mask: $(sort -u masks.txt)"
exit 0
