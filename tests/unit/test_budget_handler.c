/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a handler takes counts for ubp_limits.max_overhead: a probe is taken out whose handler is slow, and stays with one that is not, at the same rate of
 * hits.
 */

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/event/clock.h"
#include "engine/ubp.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

#define PERIOD_NS 1000000 /* between two calls */
#define SLOW_NS   900000
#define PERCENT   8 /* at that rate stops alone cost about 2, with such a handler 30 */
#define LOOKS_NS  3000000000ULL /* the cost is looked at each half second */

__attribute__((noinline)) uint64_t budget_handled(uint64_t n);

uint64_t budget_handled(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static _Noreturn void be_program(int end)
{
	struct pollfd p = { .fd = end, .events = POLLIN };
	const struct timespec period = { .tv_nsec = PERIOD_NS };
	uint64_t n = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (ppoll(&p, 1, &period, NULL) == 0)
		n = budget_handled(n);
	_exit(0);
}

static enum ubp_verdict at_once(void *cookie, struct ubp_hit *hit)
{
	(void)cookie;
	(void)hit;
	return UBP_HIT_DROP;
}

static enum ubp_verdict slowly(void *cookie, struct ubp_hit *hit)
{
	const struct timespec slow = { .tv_nsec = SLOW_NS };

	(void)nanosleep(&slow, NULL);
	return at_once(cookie, hit);
}

static int no_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	(void)event;
	return 0;
}

/* Until the probe is taken out, or its cost was looked at some times. Returns whether it was taken out. */
static enum ubp_taken_out watch(struct ubp_session *s, uint64_t ns)
{
	struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };
	struct ubp_probe_stats stats = { 0 };
	uint64_t until = event_clock_now(CLOCK_KIND_MONO) + ns;
	struct ubp_err err;

	while (stats.taken_out == UBP_TAKEN_OUT_NOT &&
	       event_clock_now(CLOCK_KIND_MONO) < until) {
		(void)poll(&p, 1, 100);
		if (ubp_dispatch(s, no_event, NULL, &err) < 0)
			fail_msg("%s", err.text);
		ubp_probe_stats(s, 0, &stats);
	}
	return stats.taken_out;
}

static enum ubp_taken_out run_with(ubp_handler_fn *handler, uint64_t ns,
				   struct ubp_handler_stats *ret_stats)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	enum ubp_taken_out taken_out;
	struct ubp_session *s;
	struct ubp_err err;
	int end[2];
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(end[1]);
		be_program(end[0]);
	}
	close(end[0]);
	opt.pids = &pid;
	opt.n_pids = 1;
	opt.limits.max_overhead = PERCENT;
	if (ubp_session_new(&opt, &s, &err) < 0 ||
	    ubp_add(s, "p:/proc/self/exe:budget_handled", NULL, &err) < 0 ||
	    ubp_probe_set_handler(s, 0, handler, false, &err) < 0 || ubp_start(s, &err) < 0)
		fail_msg("%s", err.text);
	taken_out = watch(s, ns);
	close(end[1]);
	ubp_stop(s);
	*ret_stats = (struct ubp_handler_stats)UBP_HANDLER_STATS_INIT;
	assert_int_equal(ubp_probe_handler_stats(s, 0, ret_stats), 0);
	ubp_session_free(s);
	return taken_out;
}

static void counts(void **state)
{
	struct ubp_handler_stats stats;

	(void)state;
	assert_int_equal(run_with(slowly, 10 * LOOKS_NS, &stats), UBP_TAKEN_OUT_OVERHEAD);
	assert_true(stats.handled > 0 && stats.total_ns >= stats.handled * SLOW_NS);
	assert_int_equal(run_with(at_once, LOOKS_NS, &stats), UBP_TAKEN_OUT_NOT);
	assert_true(stats.handled > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(counts) };

	return cmocka_run_group_tests_name("budget handler", tests, NULL, NULL);
}
