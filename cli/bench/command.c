/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/program.h"
#include "cli/bench/session.h"
#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"

#define QUEUE_BYTES (64UL * 1024 * 1024)
#define RING_BYTES  (16UL * 1024 * 1024)

struct command {
	struct bench *bench;
	bool reader, has_kernel;
	/* What both sides get: the definitions as ubp lists them, less what the kernel refuses. */
	struct kernel_probe *probes;
	size_t n_probes;
	char **texts; /* .path and .rest point into these */
	size_t n_texts;
	int status; /* of the bare command; -1: it has not run */
};

/* --- definitions ---------------------------------------------------------------------- */

/*
 * "p:GROUP/EVENT PATH:0x and 16 digits REST", as uprobe_events lists it, taken apart in
 * place. A path may hold most of that, but not all.
 */
static int take_apart(char *listing, const char *filter, struct kernel_probe *ret_probe,
		      struct ubp_err *err)
{
	char *path = strchr(listing, ' '), *at = path;

	do {
		at = at ? strstr(at + 1, ":0x") : NULL;
		if (!at)
			return ubp_fail(err, EPROTO, "%s: what is that?", listing);
	} while (strspn(at + 3, "0123456789abcdef") != 16);
	*ret_probe = (struct kernel_probe){
		.kind = listing[0] == probe_kind_letter(PROBE_RETURN) ? PROBE_RETURN
								      : PROBE_ENTRY,
		.path = path + 1,
		.offset = strtoull(at + 1, NULL, 16),
		.rest = at + 19 + (at[19] == ' ' ? 1 : 0),
		.filter = filter,
	};
	*at = '\0';
	return 0;
}

static int keep_listing(struct command *c, const char *listing, const char *filter,
			struct ubp_err *err)
{
	if (VEC_FIT(c->texts, c->n_texts + 1) < 0 || VEC_FIT(c->probes, c->n_probes + 1) < 0 ||
	    !(c->texts[c->n_texts] = strdup(listing)))
		return ubp_fail(err, ENOMEM, "out of memory");
	c->n_texts++;
	return take_apart(c->texts[c->n_texts - 1], filter, &c->probes[c->n_probes++], err);
}

/* Parsed, and symbols resolved, by a session that is never started. */
static int resolve(struct command *c, struct ubp_err *err)
{
	const struct bench_options *o = c->bench->opt;
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *session;
	int rc;

	opt.engine.apart = UBP_APART_NO;
	rc = ubp_session_new(&opt, &session, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < o->n_events && rc == 0; i++) {
		size_t n = ubp_n_probes(session);

		rc = ubp_add_events(session, o->events[i].text, strlen(o->events[i].text),
				    o->events[i].filter, err);
		for (; rc == 0 && n < ubp_n_probes(session); n++)
			rc = keep_listing(c, ubp_probe_listing(session, n), o->events[i].filter,
					  err);
	}
	ubp_session_free(session);
	if (rc == 0 && c->n_probes == 0)
		return ubp_fail(err, EINVAL, "no definition is given");
	return rc;
}

/*
 * One after the other until the kernel takes what is left. If that is nothing, ubp
 * is measured alone, with all.
 */
static int define_kernel(struct command *c, struct bench_result *result, struct ubp_err *err)
{
	size_t n = c->n_probes, bad = 0; /* at least one */
	struct kernel_probe *probes;
	int rc;

	if (!c->bench->kernel) {
		(void)snprintf(result->why, sizeof(result->why), "not asked for");
		return 0;
	}
	probes = reallocarray(NULL, n, sizeof(*probes));
	if (!probes)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		probes[i] = c->probes[i];
	while ((rc = kernel_define(c->bench->kernel, probes, n, &bad, err)) < 0 && n > 0) {
		char text[UBP_ERR_TEXT_MAX];

		(void)snprintf(text, sizeof(text), "left out: %.300s:0x%" PRIx64 ": %.300s",
			       probes[bad].path, probes[bad].offset, err->text);
		cli_warn(NULL, text);
		(void)snprintf(result->why, sizeof(result->why), "%.250s", err->text);
		ubp_err_reset(err);
		n--;
		memmove(&probes[bad], &probes[bad + 1], (n - bad) * sizeof(*probes));
	}
	if (rc == 0 && n > 0) {
		c->has_kernel = true;
		free(c->probes);
		c->probes = probes;
		c->n_probes = n;
	} else {
		free(probes);
	}
	return rc;
}

/* --- runs ----------------------------------------------------------------------------- */

/* Whoever probes, the command ends as it always does. */
static int check_status(struct command *c, int status, struct ubp_err *err)
{
	if (c->status < 0)
		c->status = status;
	if (status == c->status)
		return 0;
	return ubp_fail(err, EPROTO, "the command ended with %d, not %d as without probes",
			status, c->status);
}

static int run_program(struct command *c, struct bench_program *program,
		       const struct bench_meanwhile *meanwhile, double *ret_ns,
		       struct ubp_err *err)
{
	int status, rc = bench_program_run(program, c->bench->signal_fd, meanwhile, &status,
					   ret_ns, err);

	return rc < 0 ? rc : check_status(c, status, err);
}

static int run_bare(void *ctx, double *ret_ns, struct ubp_err *err)
{
	struct command *c = ctx;
	struct bench_program program;
	int rc = bench_program_prepare(c->bench->opt->command, -1, &program, err);

	if (rc == 0)
		rc = run_program(c, &program, NULL, ret_ns, err);
	bench_program_end(&program);
	return rc;
}

static void read_kernel(void *ctx)
{
	kernel_read(ctx);
}

static int run_kernel(void *ctx, struct bench_figures *figures, double *ret_ns,
		      struct ubp_err *err)
{
	struct command *c = ctx;
	struct kernel *kernel = c->bench->kernel;
	struct bench_meanwhile reader = { kernel_reader_fd(kernel), read_kernel, kernel };
	struct kernel_target target = { .and_children = true };
	struct kernel_counts counts = { 0 };
	struct bench_program program;
	int rc = bench_program_prepare(c->bench->opt->command, kernel_mark_fd(kernel), &program,
				       err);

	target.pid = program.pid;
	if (rc == 0)
		rc = kernel_on(kernel, &target, err);
	if (rc == 0)
		rc = run_program(c, &program, c->reader ? &reader : NULL, ret_ns, err);
	bench_program_end(&program);
	if (rc == 0)
		rc = kernel_off(kernel, &counts, err);
	/* Others may use the files, too: their hits are counted, but not recorded. */
	figures->hits += counts.hits;
	figures->recorded += counts.recorded;
	figures->lost += counts.lost;
	return rc;
}

/* --- ubp ------------------------------------------------------------------------------ */

static int add_probes(const struct command *c, struct ubp_session *session, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < c->n_probes && rc == 0; i++) {
		const struct kernel_probe *p = &c->probes[i];
		char *text;
		int n = asprintf(&text, "%c:bench/e%zu %s:0x%" PRIx64 "%s%s",
				 probe_kind_letter(p->kind), i, p->path, p->offset,
				 *p->rest && *p->rest != '(' ? " " : "", p->rest);

		if (n < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		rc = ubp_add_events(session, text, (size_t)n, p->filter, err);
		free(text);
	}
	return rc;
}

static int run_ubp(void *ctx, size_t i, struct bench_figures *figures, double *ret_ns,
		   struct ubp_err *err)
{
	static const struct bench_room room = { .queue = QUEUE_BYTES, .ring = RING_BYTES };
	struct command *c = ctx;
	struct bench_run run = { .argv = c->bench->opt->command,
				 .signal_fd = c->bench->signal_fd,
				 .takes = c->reader,
				 .reader = c->reader };
	struct bench_session s;
	int rc = bench_session_open(&s, c->bench->opt->modes[i].mode, 0, &room, false, err);

	if (rc < 0)
		return rc;
	rc = add_probes(c, s.session, err);
	if (rc == 0)
		rc = bench_session_run(&s, &run, err);
	*ret_ns = run.ns;
	if (rc == 0)
		rc = check_status(c, run.status, err);
	if (rc == 0)
		rc = bench_session_end(&s, figures, err);
	bench_session_close(&s);
	return rc;
}

/* --- all of it ------------------------------------------------------------------------ */

int bench_measure_command(struct bench *bench, bool reader, struct bench_result *result,
			  struct ubp_err *err)
{
	struct command c = { .bench = bench, .reader = reader, .status = -1 };
	struct bench_runs runs = { &c, run_bare, run_kernel, run_ubp };
	double ignored;
	int rc;

	memset(result, 0, sizeof(*result));
	result->reader = reader;
	rc = resolve(&c, err);
	if (rc == 0)
		rc = define_kernel(&c, result, err);
	/* Files come into the page cache before anything is measured. */
	if (rc == 0)
		rc = run_bare(&c, &ignored, err);
	if (rc == 0)
		rc = bench_rounds(bench->opt, &runs, c.has_kernel, result, err);
	result->status = c.status;
	for (size_t i = 0; i < c.n_texts; i++)
		free(c.texts[i]);
	free(c.texts);
	free(c.probes);
	return rc;
}
