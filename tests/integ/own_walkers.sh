# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Runtimes that walk their own stacks by return addresses (a Java virtual machine, V8): theirs are not replaced, so that
# what returns is probed, and the program works. The fixture that stands in for one has the name of what such a library defines.
. "${0%/*}/lib.bash"

cat > runtime.c << 'EOF'
#include <stdio.h>
__attribute__((noinline)) long JNI_CreateJavaVM(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}
/* It knows its callers: none of them is anywhere else. */
__attribute__((noinline)) int walked(void)
{
	extern char __executable_start, etext;
	char *caller = __builtin_return_address(0);

	return caller >= &__executable_start && caller < &etext;
}
int main(void)
{
	return JNI_CreateJavaVM(41) == 42 && walked() ? 0 : 1;
}
EOF
have gcc
gcc -O1 -rdynamic -o runtime runtime.c || fail "it does not build"
"$UPROBE" --explain "r:$PWD/runtime:walked" > out.txt 2> err.txt || fail "status $?"
grep -q 'walks its own stacks' out.txt || fail "it is not said how its returns are caught"
"$UPROBE" -o events.txt -e "r:$PWD/runtime:walked \$retval" -e "r:$PWD/runtime:JNI_CreateJavaVM \$retval:s64" -- ./runtime > out.txt 2> err.txt ||
	fail "the runtime ended with $?"
[ "$(grep -c ' walked: .*arg1=0x1$' events.txt)" = 1 ] || fail "its return is not told"
[ "$(grep -c ' JNI_CreateJavaVM: .*arg1=42$' events.txt)" = 1 ] || fail "the other one is not"

# One that nobody here wrote.
! command -v node > node.txt || {
	N=$(readlink -f "$(cat node.txt)")
	"$UPROBE" -o events.txt "r:$N:uv_run" -- "$N" -e 'setTimeout(() => console.log([3, 1, 2].sort().join()), 20)' > out.txt 2> err.txt ||
		fail "node ended with $?"
	[ "$(cat out.txt)" = 1,2,3 ] || fail "node says $(cat out.txt)"
}
