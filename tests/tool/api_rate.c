/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * api_rate PID FILE FUNCTION: a host of the library. It counts events of a function's calls, with what accessors tell of each, until the process has ended,
 * and prints how many there were, the sum of their first argument, and how much processor time it took to take them.
 */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"

struct seen {
	pid_t pid;
	uint64_t n, sum, lost, late;
	uint64_t last_ns;
};

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = ctx;
	struct ubp_value value;
	uint64_t ns = ubp_event_time_ns(event);

	if (ubp_event_probe(event) < 0) {
		seen->lost += ubp_event_lost(event);
		return 0;
	}
	if (!ubp_event_arg(event, 0, 0, &value) || ubp_event_pid(event) != seen->pid)
		return 0;
	seen->n++;
	seen->sum += (uint64_t)value.as.i;
	seen->late += ns < seen->last_ns;
	seen->last_ns = ns;
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static _Noreturn void fail(const char *what, const struct ubp_err *err)
{
	fprintf(stderr, "%s: %s\n", what, err->text);
	exit(1);
}

int main(int argc, char **argv)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *session;
	struct seen seen = { 0 };
	struct ubp_err err;
	char text[4096];
	uint64_t from;
	int rc = 1;

	if (argc != 4)
		return 2;
	seen.pid = atoi(argv[1]);
	opt.pids = &seen.pid;
	opt.n_pids = 1;
	opt.lossless = true;
	opt.mode = getenv("RATE_TRAPS") ? UBP_MODE_TRAP : UBP_MODE_AUTO; /* breakpoints */
	snprintf(text, sizeof(text), "p:%s:%s a=%%di:s64", argv[2], argv[3]);
	if (ubp_session_new(&opt, &session, &err) < 0 ||
	    ubp_add(session, text, NULL, &err) < 0 || ubp_start(session, &err) < 0)
		fail("start", &err);
	puts("ready");
	fflush(stdout);
	from = cpu_ns();
	while (rc >= 0 && !ubp_is_done(session)) {
		struct pollfd p = { .fd = ubp_fd(session), .events = POLLIN };

		(void)poll(&p, 1, 100);
		rc = ubp_dispatch(session, on_event, &seen, &err);
	}
	ubp_stop(session);
	if (rc >= 0)
		rc = ubp_drain(session, on_event, &seen, &err);
	if (rc < 0)
		fail("dispatch", &err);
	from = cpu_ns() - from;
	printf("%" PRIu64 " events, sum %" PRIu64 ", %" PRIu64 " lost, %" PRIu64
	       " out of order, %.1f M a second and CPU\n",
	       seen.n, seen.sum, seen.lost, seen.late, (double)seen.n * 1e3 / (double)from);
	ubp_session_free(session);
	return 0;
}
