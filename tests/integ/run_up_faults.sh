# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A jump on several instructions in front of a ret, of which one makes a fault, in several threads at once: each is told of where it was, and the program's
# handler may go on there, or at the next instruction. So is the ret of a detour for entry and return.
. "${0%/*}/lib.bash"
need_arch x86_64
F=$FIXTURES/run_up_faults

"$F" > alone.txt || fail "alone: $(cat alone.txt)"
for mode in auto trap; do
	wait=$([ $mode = trap ] || echo wait)
	"$UPROBE" --stats --lossless --mode $mode -o out.txt -e "r:t/faults $F:faults r=\$retval:s64" -e "p:t/one $F:one_ret" -e "r:t/one_r $F:one_ret" -- "$F" $wait > stdout.txt 2> err.txt || fail "$mode: ended with $?: $(cat stdout.txt)"
	read -r _ calls _ n _ bad < stdout.txt
	[ "$n $bad" = "6 0" ] || fail "$mode: it says '$(cat stdout.txt)'"
	expect_count "$calls" ' faults: .* r=7'
	expect_count 4001 ' one: '
	expect_count 4001 ' one_r: '
	[ $mode = trap ] || grep -q ' t/faults .* no_jump="an instruction under the jump made a fault"' err.txt || fail "there was no jump: $(cat err.txt)"
done
