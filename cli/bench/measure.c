/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The built-in cases: one function of one child, probed by one side after the other. */

#include "cli/bench/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/bench/session.h"
#include "engine/base/err.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

/* What a ring keeps free at its end, and more. */
#define RING_SPARE  65536
#define PATIENCE_NS 2000000000ULL

struct built_in {
	struct bench *bench;
	const struct bench_row *row;
	bool reader;
	uint64_t calls, warm_calls;
	struct bench_definitions definitions;
	struct bench_work work;
};

static int run(struct built_in *b, uint64_t calls, const struct bench_meanwhile *meanwhile,
	       double *ret_ns, struct ubp_err *err)
{
	uint64_t ns = 0;
	int rc = bench_work_run(&b->work, b->row->first, calls, meanwhile, &ns, err);

	*ret_ns = (double)ns / (double)calls;
	return rc;
}

/* The first calls find cold caches, buffers never touched, threads not known yet. */
static int warm_up(struct built_in *b, const struct bench_meanwhile *meanwhile,
		   struct ubp_err *err)
{
	double ignored;

	return run(b, b->warm_calls, meanwhile, &ignored, err);
}

static int run_bare(void *ctx, double *ret_ns, struct ubp_err *err)
{
	struct built_in *b = ctx;
	int rc = warm_up(b, NULL, err);

	return rc < 0 ? rc : run(b, b->calls, NULL, ret_ns, err);
}

/* --- counts ------------------------------------------------------------------------- */

static bool passes(const struct built_in *b)
{
	return !b->row->c->sample && (!b->row->c->filter || b->row->c->passes);
}

/* @hits and @recorded are those of so many @calls. */
static int check_counts(const struct built_in *b, uint64_t calls, uint64_t hits,
			uint64_t recorded, struct ubp_err *err)
{
	uint64_t want = calls * b->definitions.n_probes;

	if (hits != want)
		return ubp_fail(err, EPROTO,
				"%" PRIu64 " hits were counted, not %" PRIu64
				" (or do others use this program now?)",
				hits, want);
	want = passes(b) ? want : 0;
	if (recorded != want)
		return ubp_fail(err, EPROTO, "%" PRIu64 " events were recorded, not %" PRIu64,
				recorded, want);
	return 0;
}

static void add_counts(const struct built_in *b, const struct bench_figures *all,
		       struct bench_figures *figures)
{
	uint64_t n = b->calls * b->definitions.n_probes;

	figures->hits += n;
	figures->recorded += passes(b) ? n : 0;
	figures->lost += all->lost;
	figures->sites = all->sites;
}

/* --- the kernel ----------------------------------------------------------------------- */

/*
 * A kernel whose counter of hits is a plain ++ (trace_uprobe's nhit in Linux 6.1) loses some of threads
 * that hit at the same time: some that are missing then mean nothing. What it recorded is exact.
 */
static uint64_t kernel_hits(const struct built_in *b, uint64_t counted)
{
	uint64_t want = (b->calls + b->warm_calls) * b->definitions.n_probes;

	return b->row->threads > 1 && counted < want && want - counted <= want / 2 ? want
										   : counted;
}

static void read_kernel(void *ctx)
{
	kernel_read(ctx);
}

static int run_kernel(void *ctx, struct bench_figures *figures, double *ret_ns,
		      struct ubp_err *err)
{
	struct built_in *b = ctx;
	struct kernel *kernel = b->bench->kernel;
	struct kernel_target target = { .pid = b->work.child.pid };
	struct bench_meanwhile reader = { kernel_reader_fd(kernel), read_kernel, kernel };
	const struct bench_meanwhile *meanwhile = b->reader ? &reader : NULL;
	struct kernel_counts counts = { 0 };
	struct bench_figures all = { 0 };
	int rc = kernel_on(kernel, &target, err);

	if (rc == 0)
		rc = warm_up(b, meanwhile, err);
	if (rc == 0)
		rc = run(b, b->calls, meanwhile, ret_ns, err);
	if (rc == 0)
		rc = kernel_off(kernel, &counts, err);
	if (rc == 0)
		rc = check_counts(b, b->calls + b->warm_calls, kernel_hits(b, counts.hits),
				  counts.recorded, err);
	all.lost = counts.lost;
	if (rc == 0)
		add_counts(b, &all, figures);
	return rc;
}

/* No event, no figures: said in .why, and ubp is measured alone. */
static int define_kernel(struct built_in *b, struct bench_result *result, bool *ret_has,
			 struct ubp_err *err)
{
	size_t bad;
	int rc;

	*ret_has = false;
	if (b->row->c->tally || b->row->c->trigger) {
		(void)snprintf(result->why, sizeof(result->why),
			       "ubp counts, and records nothing");
		return 0;
	}
	if (b->row->c->sample) {
		(void)snprintf(result->why, sizeof(result->why),
			       "the kernel leaves no hits out");
		return 0;
	}
	if (!b->bench->kernel) {
		(void)snprintf(result->why, sizeof(result->why), "not asked for");
		return 0;
	}
	rc = kernel_define(b->bench->kernel, b->definitions.probes, b->definitions.n_probes,
			   &bad, err);
	if (rc == -EOPNOTSUPP) {
		(void)snprintf(result->why, sizeof(result->why), "%.250s", err->text);
		ubp_err_reset(err);
		return 0;
	}
	*ret_has = rc == 0;
	return rc;
}

/* --- ubp ------------------------------------------------------------------------------ */

/*
 * All events of so many @calls, the youngest of which come a little later. Those that never
 * come are missed at the end, when all are counted.
 */
static int take_all(struct built_in *b, struct bench_session *s, uint64_t calls,
		    struct ubp_err *err)
{
	uint64_t want = passes(b) ? calls * b->definitions.n_probes : 0;
	uint64_t end = bench_now_ns() + PATIENCE_NS;

	for (;;) {
		bench_session_take(s);
		if (s->taken + s->lost >= want || bench_now_ns() > end)
			return 0;
		if (bench_wait_moment(b->work.signal_fd, err) < 0)
			return -err->code;
	}
}

/*
 * So many calls that a ring of @ring bytes was written to from one end to the other: memory
 * that is touched for the first time costs more than a hit. The kernel's is there from the beginning.
 */
static int warm_up_ring(struct built_in *b, struct bench_session *s, size_t ring,
			const struct bench_meanwhile *meanwhile, uint64_t *calls,
			struct ubp_err *err)
{
	uint64_t left = passes(b) ? ring / bench_call_bytes(b->row->c) * b->row->threads : 1;
	double ignored;
	int rc = 0;

	while (left > 0 && rc == 0) {
		uint64_t n = left < b->calls ? left : b->calls;

		n += b->row->threads - n % b->row->threads;
		n = n < b->calls ? n : b->calls;
		rc = run(b, n, meanwhile, &ignored, err);
		*calls += n;
		if (rc == 0)
			rc = take_all(b, s, *calls, err);
		left -= n < left ? n : left;
	}
	return rc;
}

/* Of the first probe's event, which is not told. */
static int add_histogram(const struct built_in *b, struct bench_session *s, struct ubp_err *err)
{
	int rc;

	(void)snprintf(s->histogram, sizeof(s->histogram), "%s",
		       ubp_probe_event(s->session, 0));
	rc = ubp_trigger_write(s->session, s->histogram, b->row->c->trigger, err);
	if (rc == 0)
		rc = ubp_trigger_record(s->session, s->histogram, false, err);
	return rc < 0 ? rc : ubp_trigger_settle(s->session, err);
}

static int start_session(struct built_in *b, struct bench_session *s, struct ubp_err *err)
{
	int rc = ubp_add_events(s->session, b->definitions.text, strlen(b->definitions.text),
				b->row->c->filter, err);

	if (rc == 0 && b->row->c->trigger)
		rc = add_histogram(b, s, err);
	if (rc == 0 && b->row->c->tally)
		rc = ubp_tally(s->session, b->row->c->tally, err);
	s->tallies = b->row->c->tally;
	return rc < 0 ? rc : ubp_start(s->session, err);
}

static int run_session(struct built_in *b, struct bench_session *s, size_t ring,
		       struct bench_figures *all, double *ret_ns, struct ubp_err *err)
{
	struct bench_meanwhile reader = { ubp_fd(s->session), bench_session_take, s };
	const struct bench_meanwhile *meanwhile = b->reader ? &reader : NULL;
	uint64_t calls = b->warm_calls, lost = 0;
	int rc;

	s->format = b->reader;
	rc = start_session(b, s, err);
	if (rc == 0)
		rc = warm_up(b, meanwhile, err);
	if (rc == 0 && ring)
		rc = take_all(b, s, b->warm_calls, err);
	if (rc == 0 && ring)
		rc = warm_up_ring(b, s, ring, meanwhile, &calls, err);
	lost = s->lost;
	if (rc == 0)
		rc = run(b, b->calls, meanwhile, ret_ns, err);
	if (rc == 0)
		rc = bench_session_end(s, all, err);
	all->lost -= lost;
	/* What a filter drops is not counted by detours, unless asked for: see check_dropped(). */
	if (rc == 0 && !passes(b) && ring)
		all->hits = (calls + b->calls) * b->definitions.n_probes;
	if (rc == 0)
		rc = check_counts(b, calls + b->calls, all->hits, all->recorded, err);
	return rc;
}

/* Are hits that the filter drops those that were called? Counting them has its price, so
 * that is done apart. */
static int check_dropped(struct built_in *b, enum ubp_mode mode, const struct bench_room *room,
			 struct ubp_err *err)
{
	struct bench_figures all = { 0 };
	struct bench_session s;
	int rc = bench_session_open(&s, mode, b->work.child.pid, room, true, err);

	if (rc < 0)
		return rc;
	rc = start_session(b, &s, err);
	if (rc == 0)
		rc = warm_up(b, NULL, err);
	if (rc == 0)
		rc = bench_session_end(&s, &all, err);
	if (rc == 0)
		rc = check_counts(b, b->warm_calls, all.hits, all.recorded, err);
	bench_session_close(&s);
	return rc;
}

static int run_ubp(void *ctx, size_t i, struct bench_figures *figures, double *ret_ns,
		   struct ubp_err *err)
{
	struct built_in *b = ctx;
	enum ubp_mode mode = b->bench->opt->modes[i].mode;
	uint64_t calls = b->calls + b->warm_calls;
	struct bench_room room = { .queue = 2 * calls * BENCH_CALL_BYTES_MAX,
				   .sample = b->row->c->sample };
	struct bench_figures all = { 0 };
	struct bench_session s;
	int rc = 0;

	if (mode == UBP_MODE_AUTO || mode == UBP_MODE_JUMP)
		room.ring = bench_power_of_two(
			calls / b->row->threads * bench_call_bytes(b->row->c) + RING_SPARE);
	if (!passes(b) && figures->total.n == 0)
		rc = check_dropped(b, mode, &room, err);
	if (rc < 0)
		return rc;
	rc = bench_session_open(&s, mode, b->work.child.pid, &room, false, err);
	if (rc < 0)
		return rc;
	rc = run_session(b, &s, room.ring, &all, ret_ns, err);
	if (rc == 0)
		add_counts(b, &all, figures);
	bench_session_close(&s);
	return rc;
}

/* --- all of it ------------------------------------------------------------------------ */

int bench_measure(struct bench *bench, const struct bench_row *row, bool reader,
		  struct bench_result *result, struct ubp_err *err)
{
	const struct bench_options *opt = bench->opt;
	static struct built_in b; /* large */
	struct bench_runs runs = { &b, run_bare, run_kernel, run_ubp };
	bool has_kernel;
	int rc;

	memset(result, 0, sizeof(*result));
	memset(&b, 0, sizeof(b));
	result->row = b.row = row;
	result->reader = b.reader = reader;
	b.bench = bench;
	b.calls = opt->hits - opt->hits % row->threads;
	b.warm_calls = b.calls / 10 - b.calls / 10 % row->threads + row->threads;
	rc = bench_define(row, &b.definitions, err);
	if (rc == 0)
		rc = bench_work_start(&b.work, row->threads, opt->idle, opt->pin,
				      bench->signal_fd, err);
	if (rc < 0)
		return rc;
	rc = define_kernel(&b, result, &has_kernel, err);
	if (rc == 0)
		rc = bench_rounds(opt, &runs, has_kernel, result, err);
	if (bench_work_end(&b.work, err) < 0)
		rc = -EPROTO;
	return rc;
}
