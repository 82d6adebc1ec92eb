# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# libunwind inside of the target sees real return addresses, from each step to the
# next, and all returns are reported afterwards.
. "${0%/*}/lib.bash"
need_arch x86_64
command -v gcc > /dev/null || skip "no compiler"

cat > prog.c <<'C'
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <string.h>
#define POINT __attribute__((noipa, used))

static int bad;

/* Step by step, with a probed function called in between. */
POINT long leaf(long n) { return n; }

POINT long by_steps(long depth)
{
	unw_context_t context;
	unw_cursor_t cursor;
	long frames = 0, mains = 0;
	char name[64];
	unw_word_t off;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	while (unw_step(&cursor) > 0) {
		leaf(1);
		if (unw_get_proc_name(&cursor, name, sizeof(name), &off) < 0)
			continue;
		frames += strcmp(name, "frame") == 0;
		mains += strcmp(name, "main") == 0;
	}
	bad += frames != depth + 1 || mains != 1;
	return frames;
}

POINT long at_once(long depth)
{
	void *addresses[64];
	int n = unw_backtrace(addresses, 64);

	bad += n < depth + 3;
	for (int i = 0; i < n; i++) /* nothing but code of the program and its libraries */
		bad += !((char *)addresses[i] > (char *)0x1000);
	return n;
}

POINT long frame(long n, long depth)
{
	long r = n > 0 ? frame(n - 1, depth) : by_steps(depth) + at_once(depth) * 0;
	__asm__ volatile("" : "+r"(r));
	return r;
}

int main(void)
{
	for (long i = 0; i < 30; i++)
		bad += frame(i % 6, i % 6) != i % 6 + 1;
	printf("bad %d\n", bad);
	return bad != 0;
}
C
gcc -O1 -g -fno-inline -o prog prog.c -lunwind 2> build.err || skip "no libunwind to build with"
[ "$(./prog)" = "bad 0" ] || skip "libunwind does not find its way here: $(./prog)"
defs=()
for f in frame by_steps at_once leaf; do defs+=(-e "p:u/$f ./prog:$f" -e "r:u/${f}_ret ./prog:$f"); done
"$UPROBE" --stats --lossless -o out.txt "${defs[@]}" -- ./prog > stdout.txt 2> err.txt ||
	fail "ended with $?: $(cat stdout.txt)"
expect_count 105 ' frame_ret: '
expect_count 30 ' by_steps_ret: '
expect_count 30 ' at_once_ret: '
[ "$(count ' leaf_ret: ')" = "$(count ' leaf: ')" ] || fail "not all returns of leaf"
! grep -q ' missed=[1-9]' err.txt || fail "$(cat err.txt)"
# What keeps its return address for the steps to come is not hijacked.
lib=$(ldd ./prog | awk '/libunwind/ { print $3; exit }')
refused 'keeps its return address' -e "r:u/context $lib:_Ux86_64_getcontext" -- ./prog
