/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/program.h"
#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/ubp_event.h"
#include "engine/ubp_stats.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

#define RING_MIN 16384U /* and of queues, too */

size_t bench_power_of_two(size_t bytes)
{
	size_t power = RING_MIN;

	while (power < bytes)
		power *= 2;
	return power;
}

int bench_session_open(struct bench_session *s, enum ubp_mode mode, pid_t pid,
		       const struct bench_room *room, bool count_dropped, struct ubp_err *err)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;

	memset(s, 0, sizeof(*s));
	opt.mode = mode;
	opt.pids = &pid;
	opt.n_pids = pid ? 1 : 0;
	opt.warn = cli_warn;
	opt.count_dropped = count_dropped;
	opt.room.queue_bytes = bench_power_of_two(room->queue);
	opt.room.ring_bytes = room->ring;
	opt.sample = room->sample;
	opt.engine.apart = UBP_APART_NO;
	return ubp_session_new(&opt, &s->session, err);
}

void bench_session_close(struct bench_session *s)
{
	ubp_session_free(s->session);
	s->session = NULL;
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct bench_session *s = ctx;
	size_t len = 0;

	if (ubp_event_probe(event) < 0) {
		s->lost += ubp_event_lost(event);
		return 0;
	}
	s->taken++;
	if (s->format && ubp_event_line(event, &len))
		s->n_bytes += len;
	return 0;
}

static uint64_t histogram_hits(const char *hist)
{
	const char *hits = strstr(hist, "\n    Hits: ");

	return hits ? strtoull(hits + strlen("\n    Hits: "), NULL, 10) : 0;
}

static void take_counted(struct bench_session *s)
{
	const struct ubp_tally *tally = s->tallies ? ubp_tally_take(s->session) : NULL;
	const char *hist =
		*s->histogram ? ubp_trigger_hist(s->session, s->histogram, NULL) : NULL;

	if (tally)
		s->taken = ubp_tally_hits(tally);
	if (hist)
		s->taken = histogram_hits(hist);
}

void bench_session_take(void *ctx)
{
	struct bench_session *s = ctx;
	struct ubp_err err;

	/* A failure comes again at the end. */
	(void)ubp_dispatch(s->session, on_event, s, &err);
	take_counted(s);
}

int bench_session_run(struct bench_session *s, struct bench_run *run, struct ubp_err *err)
{
	struct bench_meanwhile reader = { ubp_fd(s->session), bench_session_take, s };
	uint64_t from;
	pid_t pid;
	int status = 0, rc;

	s->format = run->reader;
	rc = bench_run_command(s->session, run->argv, err);
	from = bench_now_ns();
	if (rc == 0)
		rc = ubp_start(s->session, err);
	pid = ubp_command_pid(s->session);
	if (rc == 0 && pid > 0)
		rc = bench_wait_for_process(pid, run->signal_fd, run->takes ? &reader : NULL,
					    err);
	while (rc == 0 && !ubp_command_status(s->session, &status)) {
		rc = bench_wait(ubp_fd(s->session), run->signal_fd, NULL, err);
		bench_session_take(s);
	}
	run->ns = (double)(bench_now_ns() - from);
	run->status = bench_exit_status(status);
	return rc;
}

static void count_sites(const struct bench_session *s, struct bench_figures *figures)
{
	memset(&figures->sites, 0, sizeof(figures->sites));
	for (size_t i = 0; i < ubp_n_probes(s->session); i++) {
		struct ubp_probe_stats st = { 0 };

		ubp_probe_stats(s->session, i, &st);
		figures->sites.jumped += st.jumped;
		figures->sites.boosted += st.boosted;
		figures->sites.stepped += st.stepped;
		figures->sites.in_place += st.in_place;
	}
}

int bench_session_end(struct bench_session *s, struct bench_figures *figures,
		      struct ubp_err *err)
{
	uint64_t passed = 0, lost = 0;
	struct ubp_stats all = { 0 };
	int n;

	ubp_stop(s->session);
	do {
		n = ubp_dispatch(s->session, on_event, s, err);
	} while (n > 0);
	if (n < 0)
		return n;
	take_counted(s);
	count_sites(s, figures);
	for (size_t i = 0; i < ubp_n_probes(s->session); i++) {
		struct ubp_probe_stats st = { 0 };

		ubp_probe_stats(s->session, i, &st);
		figures->hits += st.hits;
		passed += st.passed;
		lost += st.lost;
	}
	ubp_stats(s->session, &all);
	if (ubp_n_probes(s->session) > 1) {
		/* Whose they were is not known: no probe's. */
		figures->hits += all.ring_lost;
		passed += all.ring_lost;
		lost += all.ring_lost;
	}
	if (s->taken + lost != passed || lost != s->lost)
		return ubp_fail(err, EPROTO,
				"%" PRIu64 " events were to come, %" PRIu64 " came, %" PRIu64
				" were lost, %" PRIu64 " by the stream's count",
				passed, s->taken, lost, s->lost);
	figures->recorded += passed;
	figures->lost += lost;
	return 0;
}
