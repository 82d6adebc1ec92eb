/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The built-in cases: one function of one child, probed by one side after the other. */

#include "cli/ubp_bench_measure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/ubp_bench_session.h"

struct built_in {
	struct bench *bench;
	const struct bench_row *row;
	bool reader;
	uint64_t calls, warm_calls;
	struct bench_definitions definitions;
	struct bench_work work;
};

/* Both sides' buffers are larger than all that a run records. */
static size_t buffer_bytes(const struct built_in *b)
{
	return (b->calls + b->warm_calls) * b->definitions.n_probes * BENCH_RECORD_MAX;
}

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

/* @hits and @recorded are those of the warm-up and the run. */
static int check_counts(const struct built_in *b, uint64_t hits, uint64_t recorded,
			struct ubp_err *err)
{
	uint64_t want = (b->calls + b->warm_calls) * b->definitions.n_probes;
	bool passes = !b->row->c->filter || b->row->c->passes;

	if (hits != want)
		return ubp_fail(err, EPROTO, "%" PRIu64 " hits were counted, not %" PRIu64,
				hits, want);
	if (recorded != (passes ? want : 0))
		return ubp_fail(err, EPROTO, "%" PRIu64 " events were recorded, not %" PRIu64,
				recorded, passes ? want : 0);
	return 0;
}

static void add_counts(const struct built_in *b, const struct bench_figures *all,
		       struct bench_figures *figures)
{
	bool passes = !b->row->c->filter || b->row->c->passes;
	uint64_t n = b->calls * b->definitions.n_probes;

	figures->hits += n;
	figures->recorded += passes ? n : 0;
	figures->lost += all->lost;
	figures->boosted = all->boosted;
	figures->stepped = all->stepped;
	figures->in_place = all->in_place;
}

/* --- the kernel ----------------------------------------------------------------------- */

static void read_kernel(void *ctx)
{
	kernel_read(ctx);
}

static int run_kernel(void *ctx, struct bench_figures *figures, double *ret_ns,
		      struct ubp_err *err)
{
	struct built_in *b = ctx;
	struct kernel *kernel = b->bench->kernel;
	struct kernel_target target = { .pid = b->work.pid };
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
		rc = check_counts(b, counts.hits, counts.recorded, err);
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

static int run_session(struct built_in *b, struct bench_session *s, struct bench_figures *all,
		       double *ret_ns, struct ubp_err *err)
{
	struct bench_meanwhile reader = { ubp_fd(s->session), bench_session_take, s };
	const struct bench_meanwhile *meanwhile = b->reader ? &reader : NULL;
	int rc;

	s->format = b->reader;
	rc = ubp_add_events(s->session, b->definitions.text, strlen(b->definitions.text),
			    b->row->c->filter, err);
	if (rc == 0)
		rc = ubp_start(s->session, err);
	if (rc == 0)
		rc = warm_up(b, meanwhile, err);
	if (rc == 0)
		rc = run(b, b->calls, meanwhile, ret_ns, err);
	if (rc == 0)
		rc = bench_session_end(s, all, err);
	if (rc == 0)
		rc = check_counts(b, all->hits, all->recorded, err);
	return rc;
}

static int run_ubp(void *ctx, size_t i, struct bench_figures *figures, double *ret_ns,
		   struct ubp_err *err)
{
	struct built_in *b = ctx;
	struct bench_figures all = { 0 };
	struct bench_session s;
	int rc = bench_session_open(&s, b->bench->opt->modes[i].mode, b->work.pid,
				    2 * buffer_bytes(b), err);

	if (rc < 0)
		return rc;
	rc = run_session(b, &s, &all, ret_ns, err);
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
