/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * ubp_set_latency(): hits that jumps record, two a second, reach a caller who dispatches whenever he is told to within the bound that was set; without it they
 * take most of 0.1 s.
 */

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/event/clock.h"
#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_stats.h"

#define HITS     5            /* of each kind */
#define APART_NS 265000000ULL /* rings were looked at just before the next hit */
#define BOUND_NS 5000000ULL

__attribute__((noinline)) uint64_t latency_hit(uint64_t n);

uint64_t latency_hit(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static _Noreturn void be_program(int from)
{
	uint64_t n = 0;
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &c, 1) == 1)
		n = latency_hit(n);
	_exit(0);
}

struct delays {
	unsigned n;
	uint64_t ns[HITS];
};

static int note(void *ctx, const struct ubp_event *event)
{
	struct delays *d = ctx;

	if (ubp_event_probe(event) == 0 && d->n < HITS)
		d->ns[d->n++] = event_clock_now(CLOCK_KIND_MONO) - ubp_event_time_ns(event);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* As a caller does, until it is @until, or as many hits were told as are wanted. */
static void dispatch_until(struct ubp_session *s, uint64_t until, struct delays *d,
			   unsigned want)
{
	struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };
	struct ubp_err err;
	uint64_t now;

	while ((now = event_clock_now(CLOCK_KIND_MONO)) < until && d->n < want)
		if (poll(&p, 1, (int)((until - now) / 1000000) + 1) == 1 &&
		    ubp_dispatch(s, note, d, &err) < 0)
			fail_msg("%s", err.text);
}

static void hit(struct ubp_session *s, int to, struct delays *d)
{
	unsigned before = d->n;

	dispatch_until(s, event_clock_now(CLOCK_KIND_MONO) + APART_NS, d, before + 1);
	assert_int_equal(d->n, before);
	assert_int_equal(write(to, "h", 1), 1);
	dispatch_until(s, event_clock_now(CLOCK_KIND_MONO) + 30000000000ULL, d, before + 1);
	assert_int_equal(d->n, before + 1);
}

static uint64_t median(struct ubp_session *s, int to, uint64_t max_ns)
{
	struct delays d = { 0 };

	ubp_set_latency(s, max_ns);
	while (d.n < HITS)
		hit(s, to, &d);
	qsort(d.ns, HITS, sizeof(d.ns[0]), by_value);
	return d.ns[HITS / 2];
}

static void bound(void **state)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_probe_stats stats;
	uint64_t unbound, bound;
	struct ubp_session *s;
	struct ubp_err err;
	int pipes[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipes[1]);
		be_program(pipes[0]);
	}
	close(pipes[0]);
	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = UBP_MODE_JUMP;
	if (ubp_session_new(&opt, &s, &err) < 0 ||
	    ubp_add(s, "p:/proc/self/exe:latency_hit", NULL, &err) < 0 ||
	    ubp_start(s, &err) < 0)
		fail_msg("%s", err.text);
	/* More than 0.1 s is as if nothing was set. */
	unbound = median(s, pipes[1], UINT64_MAX);
	bound = median(s, pipes[1], BOUND_NS);
	ubp_probe_stats(s, 0, &stats);
	close(pipes[1]);
	ubp_session_free(s);
	print_message("medians: %.1f ms, with a bound of %.0f ms %.1f ms\n",
		      (double)unbound / 1e6, (double)BOUND_NS / 1e6, (double)bound / 1e6);
	if (!stats.jumped) {
		print_message("no jump on this machine: each hit is told at once\n");
		skip();
	}
	/* What this machine itself takes is beside it. */
	assert_true(bound < unbound / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bound) };

	return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
