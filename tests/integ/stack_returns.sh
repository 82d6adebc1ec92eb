# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks show real return addresses while they are replaced for return probes, at entry and
# behind the return, also below handlers of signals and below an unwinder that is at work; by libdw, and
# by libunwind.
. "${0%/*}/lib.bash"
. "${0%/*}/stacks.bash"

for KIND in cfi unwind; do
F=$FIXTURES/stack_deep
our_stacks 3 "p:g/x $F:leaf" "$F" 20
mv ours plain
setarch -R "$UPROBE" --stack=$KIND --stack-raw --lossless -o out.txt -e "r:g/down $F:down" -e "r:g/middle $F:middle" \
	-e "r:g/back $F:leaf" -e "r:g/compare $F:compare" -e "r:g/main $F:main" -e "p:g/x $F:leaf" \
	-- "$F" 20 2> err.txt || fail "ended with $?"
# Of the event itself, and of the return of the same call: where it returns to, the frames above.
awk '/ x: / { take = 1 } / (down|middle|back|compare|main): / { take = 0 } take' out.txt > x.txt
stacks_of x.txt | head -n 3 | diff plain - || fail "return probes show in stacks"
awk '/ back: / { take = 1 } / (down|middle|x|compare|main): / { take = 0 } take' out.txt > back.txt
sed 's/^[^ ]* //' plain > behind
stacks_of back.txt | head -n 3 | diff behind - || fail "a return has another stack"
# All that returned: each has its caller's stack, one shorter than the one before.
awk '/ down: / { take = 1 } / (x|middle|back|compare|main): / { take = 0 } take' out.txt > down.txt
stacks_of down.txt | awk 'NR > 1 && NF != before - 1 { exit 1 } { before = NF } END { exit NR != 21 }' ||
	fail "$(stacks_of down.txt)"
grep -qE '^ => +<0{16}>' out.txt && fail "an entry is 0"

F=$FIXTURES/stack_signals
for how in plain alt; do
	our_stacks 4 "p:g/x $F:leaf" "$F" $how
	mv ours plain
	setarch -R "$UPROBE" --stack=$KIND --stack-raw --lossless -o out.txt -e "r:g/r $F:descend" -e "r:g/i $F:inner" \
		-e "r:g/s $F:on_sent" -e "r:g/f $F:fault" -e "p:g/x $F:leaf" -- "$F" $how 2> err.txt || fail "ended with $?"
	awk '/ x: / { take = 1 } / [risf]: / { take = 0 } take' out.txt > x.txt
	stacks_of x.txt | diff plain - || fail "$how: return probes show in stacks of handlers"
done

# Interrupted between the return and its caller.
F=$FIXTURES/stack_timer
"$UPROBE" --stack=$KIND --lossless -o out.txt -e "p:g/x $F:leaf" -e "r:g/h $F:hot" --filter 'common_pid == 0' \
	-e "r:g/w $F:warm" --filter 'common_pid == 0' -- "$F" 300 2> err.txt || fail "ended with $?"
n=$(count ': x: ')
[ "$n" -ge 300 ] || fail "$n signals"
[ "$(grep -c '^ => main+' out.txt)" = "$n" ] || fail "stacks without main: $(grep anon out.txt | sort | uniq -c)"

# Within an unwinder, which sees the real addresses in memory.
cat > throw.cc <<'CC'
extern "C" __attribute__((noinline)) void leaf(int n) { static volatile int s; s += n; }
struct Guard { ~Guard() { leaf(1); } };
extern "C" __attribute__((noinline)) int descend(int n)
{
	Guard guard;
	if (n == 0)
		throw n;
	int got = descend(n - 1);
	leaf(n);
	return got;
}
int main()
{
	try { descend(6); } catch (int) { leaf(2); }
}
CC
if command -v g++ > /dev/null && g++ -O2 -fomit-frame-pointer -o throw throw.cc; then
	our_stacks 8 "p:g/x ./throw:leaf" ./throw
	mv ours plain
	setarch -R "$UPROBE" --stack=$KIND --stack-raw --lossless -o out.txt -e "r:g/r ./throw:descend" -e "p:g/x ./throw:leaf" \
		-- ./throw 2> err.txt || fail "ended with $?"
	awk '/ x: / { take = 1 } / r: / { take = 0 } take' out.txt > x.txt
	stacks_of x.txt | diff plain - || fail "return probes show in stacks of destructors"
fi
done
exit 0
