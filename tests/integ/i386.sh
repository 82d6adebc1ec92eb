# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A 32-bit process: refused clearly, and unharmed.
. "${0%/*}/lib.bash"

need_arch x86_64
cat > small.c <<'C'
/* 32 bits without a C library, so that none has to be installed. */
static int call(int nr, int a, const void *b, int c)
{
	int r;

	__asm__ volatile("int $0x80" : "=a"(r) : "0"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}
__attribute__((noinline)) int work(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
void _start(void)
{
	char c;

	call(4, 1, "ready\n", 6);
	call(3, 0, &c, 1);
	call(1, work(41) == 42 ? 0 : 1, 0, 0);
}
C
gcc -m32 -O1 -nostdlib -static -fno-pie -no-pie -fno-stack-protector -o small small.c 2> gcc.txt ||
	skip "gcc cannot build for 32 bits: $(head -n 1 gcc.txt)"
./small < /dev/null > ready.txt || skip "this kernel runs no 32-bit programs"
start "$PWD/small"
refused '32.bit' -p "$PID" -e "p:s/work ./small:work"
untraced "$PID"
go
finish
