/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A program for debuggers. Two threads call called() as fast as they can, another one tick(), slowly. It obeys lines on stdin:
 *
 *   go      they begin
 *   stop    they end, and so does the program: how often each of the two has called
 *   crash   it dereferences NULL, in crashes()
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POINT __attribute__((noipa, used))
#define EACH 8192

static volatile int stops;
volatile long counts[2];
volatile long ticks;

#ifdef PUNNED
/* Of whose second instruction on nothing may be moved, for somebody jumps there: a part of a jump alone can stand there. */
long called(long a, long mark);
__asm__(".text\n"
	".p2align 4\n"
	".globl called\n"
	".type called, @function\n"
	"called: push %rbx\n"
	"1: mov %rdi, %rax\n"
	"nop\n" /* so the jump leads down, where no heap is */
	"add %rsi, %rax\n"
	"cmp $-100, %rsi\n"
	"je 1b\n"
	"xor $5, %rax\n"
	"pop %rbx\n"
	"ret\n"
	".size called, . - called\n");
#else
POINT long called(long a, long mark)
{
	long b = a;

	b += mark;
	b ^= 5;
	return b;
}
#endif

POINT void tick(void)
{
	ticks++;
}

POINT int crashes(volatile int *at)
{
	return *at + 1;
}

static void *calls(void *arg)
{
	long me = (long)arg;

	for (long i = 0; !stops; i++) {
		called(2 * i + me, i % EACH == 0);
		counts[me] = i + 1;
	}
	return NULL;
}

static void *ticking(void *arg)
{
	(void)arg;
	while (!stops) {
		tick();
		usleep(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "stop\n") != 0) {
		if (strcmp(line, "crash\n") == 0)
			return crashes(NULL);
		pthread_create(&threads[0], NULL, calls, (void *)0);
		pthread_create(&threads[1], NULL, calls, (void *)1);
		pthread_create(&threads[2], NULL, ticking, NULL);
		puts("done");
	}
	stops = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", counts[0], counts[1]);
	return 0;
}
