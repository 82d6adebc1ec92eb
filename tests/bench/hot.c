/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Bench target: hot THREADS IDLE. Functions that differ in their first instruction
 * only. Reads lines "NAME N": the threads together call the function NAME N times;
 * prints the nanoseconds that took. IDLE more threads sleep all the time.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef long work_fn(long a, const char *s);

#define WORK(name, first)                                                                      \
	work_fn work_##name;                                                                   \
	__asm__(".text\n.balign 64\n.globl work_" #name "\n.type work_" #name                  \
		", @function\nwork_" #name ":\n" first "\n ret\n.size work_" #name             \
		", . - work_" #name "\n")

WORK(push, "push %rbp\n lea 1(%rdi), %rax\n pop %rbp");
WORK(nop, "nop\n lea 1(%rdi), %rax");
WORK(mov, "mov %rdi, %rax\n add $1, %rax");
WORK(endbr64, "endbr64\n lea 1(%rdi), %rax");
WORK(none, "lea 1(%rdi), %rax"); /* never probed: what the loop costs */

static const struct {
	const char *name;
	work_fn *fn;
} works[] = {
	{ "push", work_push },	     { "nop", work_nop },   { "mov", work_mov },
	{ "endbr64", work_endbr64 }, { "none", work_none },
};

enum { MAX_THREADS = 64 };

static pthread_barrier_t start, end;
static work_fn *chosen;
static long calls;
static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg)
{
	for (;;) {
		long v = 0;

		pthread_barrier_wait(&start);
		for (long i = 0; i < calls; i++)
			v = chosen(v, "sixteen letters!");
		if (v != calls)
			_exit(99);
		pthread_barrier_wait(&end);
	}
	return arg;
}

static void *idle(void *arg)
{
	pthread_mutex_lock(&never);
	return arg;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void spawn(void *(*fn)(void *), long n, size_t stack)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack);
	while (n-- > 0)
		if (pthread_create(&thread, &attr, fn, NULL) != 0)
			_exit(98);
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 1, n_idle = argc > 2 ? atol(argv[2]) : 0, n;
	char name[32];

	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	pthread_mutex_lock(&never);
	spawn(idle, n_idle, 65536);
	spawn(worker, threads, 1 << 20);
	printf("ready\n");
	fflush(stdout);
	while (scanf("%31s %ld", name, &n) == 2) {
		uint64_t before;

		chosen = NULL;
		for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
			if (strcmp(works[i].name, name) == 0)
				chosen = works[i].fn;
		if (!chosen)
			return 2;
		calls = n / threads;
		before = now_ns();
		pthread_barrier_wait(&start);
		pthread_barrier_wait(&end);
		printf("%llu\n", (unsigned long long)(now_ns() - before));
		fflush(stdout);
	}
	_exit(0);
}
