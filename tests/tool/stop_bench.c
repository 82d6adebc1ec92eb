/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a stop by ptrace alone costs, without any of ubp's work, and beside other load: what ubp can at best be held to.
 * stop_bench [PROCESSES [STOPS [LOOPS]]]: that many idle processes, each stopped so often in turns, with some work at each
 * stop and without; all of it once more beside LOOPS processes that run all the time. Prints a table in Markdown, as
 * docs/overhead.md has it.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/event/clock.h"

#define LOOPS_MAX 64

static void fail(const char *what)
{
	fprintf(stderr, "stop_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	return event_clock_now(CLOCK_KIND_MONO);
}

static void work(uint64_t ns)
{
	for (uint64_t until = now() + ns; ns && now() < until;)
		;
}

/* A child that ends with us: idle, or never so. */
static pid_t start(int is_idle)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	while (!is_idle)
		work(1000000);
	for (;;)
		pause();
}

static void stop_once(pid_t pid, uint64_t work_ns)
{
	int status = 0;

	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 || waitpid(pid, &status, __WALL) != pid)
		fail("stop");
	if (!WIFSTOPPED(status))
		fail("a process that ended");
	work(work_ns);
	if (ptrace(PTRACE_CONT, pid, 0, 0) < 0)
		fail("go on");
}

/* Microseconds for a stop. */
static double measure(const pid_t *pids, int n, int n_stops, uint64_t work_ns)
{
	uint64_t begun = now();

	for (int i = 0; i < n_stops; i++)
		for (int k = 0; k < n; k++)
			stop_once(pids[k], work_ns);
	return (double)(now() - begun) / 1000 / n / n_stops;
}

static void print_row(const char *beside, const pid_t *pids, int n, int n_stops)
{
	double none = measure(pids, n, n_stops, 0), some = measure(pids, n, n_stops, 50000);

	printf("| %s | %.0f | %.0f |\n", beside, none, some);
	fflush(stdout);
}

static void end(pid_t pid)
{
	if (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, __WALL) != pid)
		fail("end");
}

static int number(int argc, char **argv, int i, int otherwise, int most)
{
	int n = argc > i ? atoi(argv[i]) : otherwise;

	if (n >= 1 && n <= most)
		return n;
	fprintf(stderr, "stop_bench: '%s' is no number from 1 to %d\n", argv[i], most);
	exit(2);
}

int main(int argc, char **argv)
{
	int n = number(argc, argv, 1, 1000, 100000),
	    n_stops = number(argc, argv, 2, 10, 100000);
	int n_loops = number(argc, argv, 3, 4, LOOPS_MAX);
	pid_t *pids = calloc((size_t)n, sizeof(*pids)), loops[LOOPS_MAX];
	char beside[48];

	if (!pids)
		fail("memory");
	for (int i = 0; i < n; i++) {
		pids[i] = start(1);
		if (ptrace(PTRACE_SEIZE, pids[i], 0, 0) < 0)
			fail("seize");
	}
	printf("| %d processes, %d stops each | us for a stop | with 50 us of work at each |\n"
	       "|---|---|---|\n",
	       n, n_stops);
	print_row("without busy loops", pids, n, n_stops);
	for (int i = 0; i < n_loops; i++)
		loops[i] = start(0);
	(void)snprintf(beside, sizeof(beside), "beside %d busy loops", n_loops);
	print_row(beside, pids, n, n_stops);
	for (int i = 0; i < n_loops; i++)
		end(loops[i]);
	for (int i = 0; i < n; i++)
		end(pids[i]);
	free(pids);
	return 0;
}
