/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a hit with a handler costs the program, with the handler on a tracing thread of the host's and with the engine in a process of its own:
 * handler_bench [ROUNDS [CALLS]]. A child calls a function CALLS times in each round, with both in turns; medians, least and greatest, and the median of the
 * ratios of neighbours. Prints a table in Markdown, as docs/overhead.md has it. UBP_ENGINE names the engine.
 */

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/event/clock.h"
#include "engine/ubp.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_live.h"

#define ROUNDS_MAX 99

static const char text[] = "fifteen letters";

long probed(const char *arg, long n);
__attribute__((noinline)) long probed(const char *arg, long n)
{
	__asm__ volatile("" : "+r"(arg), "+r"(n) : : "memory");
	return n;
}

static _Noreturn void be_program(int from, int to)
{
	long calls;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &calls, sizeof(calls)) == (ssize_t)sizeof(calls)) {
		uint64_t begun = event_clock_now(CLOCK_KIND_MONO), ns;

		for (long i = 0; i < calls; i++)
			(void)probed(text, i);
		ns = event_clock_now(CLOCK_KIND_MONO) - begun;
		if (write(to, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
			break;
	}
	_exit(0);
}

static enum ubp_verdict look(void *cookie, struct ubp_hit *hit)
{
	uint64_t *sum = cookie, n = 0;

	(void)ubp_hit_arg(hit, 1, &n);
	*sum += n;
	return UBP_HIT_DROP;
}

static enum ubp_verdict change(void *cookie, struct ubp_hit *hit)
{
	struct ubp_err err;

	(void)cookie;
	(void)ubp_hit_set_arg(hit, 1, 1, &err);
	return UBP_HIT_DROP;
}

static enum ubp_verdict read_text(void *cookie, struct ubp_hit *hit)
{
	uint64_t *sum = cookie, at = 0;
	char buf[256];

	(void)ubp_hit_arg(hit, 0, &at);
	*sum += (uint64_t)ubp_hit_read_string(hit, at, buf, sizeof(buf));
	return UBP_HIT_DROP;
}

static void must(int rc, const struct ubp_err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "handler_bench: %s\n", err->text);
	exit(1);
}

static int to_child, from_child;

static uint64_t call(long calls)
{
	uint64_t ns = 0;

	if (write(to_child, &calls, sizeof(calls)) != (ssize_t)sizeof(calls) ||
	    read(from_child, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
		exit(1);
	return ns;
}

/* Nanoseconds of one call. */
static double measure(enum ubp_apart apart, pid_t pid, ubp_handler_fn *handler, long calls)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	struct ubp_err err;
	char place[PATH_MAX + 32] = "p:bench ";
	uint64_t sum = 0, ns;
	ssize_t n = readlink("/proc/self/exe", place + 8, PATH_MAX);

	strcpy(place + 8 + (n > 0 ? n : 0), ":probed");
	opt.pids = &pid;
	opt.n_pids = 1;
	opt.engine.apart = apart;
	must(ubp_session_new(&opt, &s, &err), &err);
	must(ubp_add(s, place, NULL, &err), &err);
	must(ubp_probe_set_handler(s, 0, handler, true, &err), &err);
	must(ubp_probe_set_cookie(s, 0, &sum, &err), &err);
	must(ubp_start(s, &err), &err);
	(void)call(calls / 10);
	ns = call(calls);
	ubp_stop(s);
	ubp_session_free(s);
	return (double)ns / (double)calls;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print(double *v, int n, const char *behind)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	printf("%.1f (%.1f to %.1f)%s", v[n / 2], v[0], v[n - 1], behind);
}

static void row(const char *name, ubp_handler_fn *handler, pid_t pid, int rounds, long calls)
{
	double here[ROUNDS_MAX], apart[ROUNDS_MAX], ratio[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++) {
		here[i] = measure(UBP_APART_NO, pid, handler, calls) / 1000;
		apart[i] = measure(UBP_APART_YES, pid, handler, calls) / 1000;
		ratio[i] = apart[i] / here[i];
	}
	printf("| %s | ", name);
	print(here, rounds, " | ");
	print(apart, rounds, " | ");
	print(ratio, rounds, " |\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 9, there[2], back[2];
	long calls = argc > 2 ? atol(argv[2]) : 5000;
	pid_t pid;

	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	if (pipe(there) < 0 || pipe(back) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		be_program(there[0], back[1]);
	to_child = there[1];
	from_child = back[0];
	printf("| handler | on a tracing thread, us | engine apart, us | ratio |\n"
	       "|---|---|---|---|\n");
	row("looks at an argument", look, pid, rounds, calls);
	row("changes an argument", change, pid, rounds, calls);
	row("reads a string", read_text, pid, rounds, calls);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return 0;
}
