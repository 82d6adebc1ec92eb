/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The child that is probed. Reads lines "NAME CALLS", answers each with nanoseconds. */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench/work.h"

/* Exit statuses, for the other side's message. */
enum { WRONG_WORDS = 2, NO_THREAD = 98, WRONG_RESULT = 99 };

static pthread_barrier_t begin, end;
static bench_function *chosen;
static long calls;
static bool pin;
static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static struct {
	_Alignas(64) uint64_t from;
	uint64_t to;
} took[BENCH_THREADS_MAX];

const struct bench_first *bench_first_by_name(const char *name)
{
	for (const struct bench_first *f = bench_firsts; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Thread 0 gets the last CPU, 1 the one before... and round again. */
static void pin_to(long thread)
{
	cpu_set_t all, one;
	int n, cpu = CPU_SETSIZE;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	n = CPU_COUNT(&all);
	for (long skip = thread % n; skip >= 0; skip--)
		do
			cpu--;
		while (!CPU_ISSET(cpu, &all));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

/* Times are taken by the thread itself: waking it up is not part of the work. */
static void *worker(void *arg)
{
	long thread = (long)arg;

	if (pin)
		pin_to(thread);
	for (;;) {
		long v = 0;

		pthread_barrier_wait(&begin);
		took[thread].from = now_ns();
		for (long i = 0; i < calls; i++)
			v = chosen(v, "sixteen letters");
		took[thread].to = now_ns();
		if (v != calls)
			_exit(WRONG_RESULT);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void *idle(void *arg)
{
	pthread_mutex_lock(&never);
	return arg;
}

static void spawn(void *(*fn)(void *), long n, size_t stack)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, fn, (void *)i) != 0)
			_exit(NO_THREAD);
	pthread_attr_destroy(&attr);
}

static uint64_t one_run(long threads)
{
	uint64_t from, to;

	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	from = took[0].from;
	to = took[0].to;
	for (long i = 1; i < threads; i++) {
		from = took[i].from < from ? took[i].from : from;
		to = took[i].to > to ? took[i].to : to;
	}
	return to - from;
}

int bench_work_main(int argc, char **argv)
{
	long threads, n;
	char name[32];

	if (argc != 5)
		return WRONG_WORDS;
	threads = atol(argv[2]);
	pin = atol(argv[4]) != 0;
	if (threads < 1 || threads > BENCH_THREADS_MAX)
		return WRONG_WORDS;
	(void)prctl(PR_SET_NAME, "bench-work");
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	pthread_mutex_lock(&never);
	spawn(idle, atol(argv[3]), 65536);
	spawn(worker, threads, 1 << 20);
	printf("ready\n");
	fflush(stdout);
	while (scanf("%31s %ld", name, &n) == 2) {
		const struct bench_first *first = bench_first_by_name(name);

		if (!first)
			return WRONG_WORDS;
		chosen = first->fn;
		calls = n / threads;
		printf("%llu\n", (unsigned long long)one_run(threads));
		fflush(stdout);
	}
	_exit(0);
}
