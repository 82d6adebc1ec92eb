# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --folded: equal stacks counted, as flame graphs take them; what was lost is told. The frames are found by libdw, and by
# libunwind, where whole stacks are compared; the rest is about the form.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/stack_names
for KIND in cfi unwind; do
echo go | "$UPROBE" --folded --stack=$KIND -o out.txt -e "p:s/bottom $F:bottom" -- "$F" 100 > stdout.txt 2> err.txt || fail "status $?"
[ "$(cat stdout.txt)" = ready ] || fail "more than the command's own output"
! grep -qvE '^[^;]+(;[^;]+)+ [0-9]+$' out.txt || fail "not the form"
sort -c out.txt 2> /dev/null || LC_ALL=C sort -c out.txt || fail "not sorted"
for t in long 'unsigned char'; do
	grep -qF ";main;shop::open_all;shop::(anonymous namespace)::hidden;shop::basket<$t>::checkout;shop::item::pay;bottom 100" out.txt ||
		fail "basket<$t>"
done
[ "$(sed -n 's/^stack_names;.*;main;.*;compare;bottom //p' out.txt)" = 100 ] || fail "compare"
[ "$(wc -l < out.txt)" = 3 ] || fail "more than three stacks"
done

echo go | "$UPROBE" --folded --lines -o out.txt -e "p:s/bottom $F:bottom" -- "$F" 10 > stdout.txt 2> err.txt || fail "lines: $?"
grep -qF ";shop::basket<long>::checkout;shop::twice_[i];shop::inner_[i];shop::item::pay;bottom 10" out.txt || fail "inlined"
echo go | "$UPROBE" --folded --frames 2 -o out.txt -e "p:s/bottom $F:bottom" -- "$F" 10 > stdout.txt 2> err.txt || fail "frames: $?"
[ "$(grep -c . out.txt)" = 2 ] && grep -qx 'stack_names;shop::item::pay;bottom 20' out.txt || fail "--frames 2"
echo go | "$UPROBE" --folded --frames 2 --stack-raw -o out.txt -e "p:s/bottom $F:bottom" -- "$F" 10 > stdout.txt 2> err.txt ||
	fail "raw: $?"
grep -qE '^stack_names;0x[0-9a-f]+;0x[0-9a-f]+ 10$' out.txt || fail "raw"

# To standard output: nothing but the stacks.
start stack_names 5
trace --folded -p "$PID" -e "p:s/bottom $F:bottom"
go
finish
trace_done
! grep -qvE '^[^;]+(;[^;]+)+ [0-9]+$' out.txt || fail "standard output has more"

# All are counted, or told as lost.
F=$FIXTURES/stack_fp
echo go | "$UPROBE" --folded --stack fp --mode jump --buffer-size 16 --stats -o out.txt -e "p:s/leaf $F:leaf" -- "$F" 2000 2 \
	> stdout.txt 2> err.txt || fail "lossy: $?"
python3 - <<'PY' || fail "lossy"
import re
counted = sum(int(line.rsplit(" ", 1)[1]) for line in open("out.txt"))
err = open("err.txt").read()
hits = int(re.search(r" s/leaf hits=(\d+)", err)[1])
lost = sum(map(int, re.findall(r"warning: (\d+) events? w\w+ lost and not counted", err)))
assert hits == 3 * 2000 * 4 and counted + lost == hits, (hits, counted, lost)
PY
