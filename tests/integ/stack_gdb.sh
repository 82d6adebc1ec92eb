# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks by call frame information are those that gdb finds: without frame pointers, large
# frames, through libraries, exceptions, signal handlers (on their own stack, too), threads.
. "${0%/*}/lib.bash"
. "${0%/*}/stacks.bash"
need_arch x86_64
have gdb

F=$FIXTURES
as_gdb 6 "$F/stack_deep:leaf" "$F/stack_deep" 5
as_gdb 6 "$F/stack_deep:leaf" "$F/stack_deep" 60
# In the middle of functions, and at an entry of the PLT: rules that change with each instruction.
as_gdb 3 "$F/stack_deep:down" "$F/stack_deep" 2
for at in $(objdump -d --disassemble=down "$F/stack_deep" |
	    awk '/^ +[0-9a-f]+:\t.*(push|pop|rsp|ret|leave)/ { sub(":", "", $1); print $1 }'); do
	AT="*(0x555555554000 + 0x$at)" as_gdb 1 "$F/stack_deep:0x$at" "$F/stack_deep" 2
done
plt=$(objdump -d "$F/stack_deep" | awk '/<memset@plt>:/ { sub(/^0+/, "", $1); print $1 }')
[ -n "$plt" ] || fail "there is no PLT"
AT="*(0x555555554000 + 0x$plt)" as_gdb 3 "$F/stack_deep:0x$plt" "$F/stack_deep" 2
as_gdb 4 "$F/stack_signals:leaf" "$F/stack_signals"
as_gdb 4 "$F/stack_signals:leaf" "$F/stack_signals" alt

# Deeper than a stack may be: its inner end.
our_stacks 1 "p:g/x $F/stack_deep:leaf" "$F/stack_deep" 300
[ "$(wc -w < ours)" = 127 ] || fail "$(wc -w < ours) frames of a deep stack"
# --frames
setarch -R "$UPROBE" -s --stack-raw --frames 3 -n 1 -o out.txt "p:$F/stack_deep:leaf" -- \
	"$F/stack_deep" 5 2> err.txt || fail "--frames: $?"
[ "$(stacks_of | wc -w)" = 3 ] || fail "--frames 3: $(stacks_of)"

cat > throw.cc <<'CC'
#include <stdexcept>
extern "C" __attribute__((noinline)) void leaf(int n) { static volatile int s; s += n; }
struct Guard { ~Guard() { leaf(1); } };
__attribute__((noinline)) int descend(int n)
{
	Guard guard;
	if (n == 0)
		throw std::runtime_error("enough");
	int got = descend(n - 1);
	leaf(n);
	return got;
}
int main()
{
	try { descend(4); } catch (std::exception &) { leaf(2); }
	try { descend(2); } catch (...) { leaf(3); }
}
CC
if command -v g++ > /dev/null && g++ -g -O2 -fomit-frame-pointer -o throw throw.cc; then
	as_gdb 10 ./throw:leaf ./throw
fi
if [ -x /usr/bin/python3.11 ]; then
	as_gdb 40 /usr/bin/python3.11:_PyEval_EvalFrameDefault /usr/bin/python3.11 -S -c '
def down(n):
	return n and down(n - 1)
sorted([3, 1, 2], key=lambda x: down(x))'
fi
exit 0
