# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Strings at pointers that are good, were good a moment ago, or never were: every call is
# an event or counted as lost, and what the target has set for SIGSEGV and SIGBUS stays so.
. "${0%/*}/lib.bash"

F=$FIXTURES/bad_pointers
rounds=80
! slow || rounds=8
for mode in default handled ignored blocked; do
	for how in auto trap; do
		echo go | "$UPROBE" --mode $how --buffer-size 16384 --stats -o out.txt \
			"p:$F:take k=$ARG1:s32 s=+0($ARG2):string" -- "$F" $mode $rounds > stdout.txt 2> err.txt ||
			fail "$mode, --mode $how: ended with $? $(grep -v stats: err.txt)"
		calls=$(sed -n 's/ calls$//p' stdout.txt)
		[ "${calls:-0}" = $((rounds * 4 * 48)) ] || fail "$mode: $calls calls"
		lost=$(sed -nE 's/.*\[LOST ([0-9]+) EVENTS\].*/\1/p' out.txt |
			awk '{ n += $1 } END { print n + 0 }')
		[ $(($(count ' take: ') + lost)) = "$calls" ] ||
			fail "$mode, --mode $how: $calls calls, $(count ' take: ') events, $lost lost"
		# Never readable while it was called.
		expect_count 0 ' take: .* k=(1|3|5) s="'
		expect_count 0 ' take: .* k=0 s=\(fault\)'
	done
done
