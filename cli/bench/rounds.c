/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Series of figures, and the order of runs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/measure.h"
#include "engine/base/err.h"

/* --- rounds ------------------------------------------------------------------------- */

static int add_run(struct bench_figures *figures, double ns, double bare, struct ubp_err *err)
{
	int rc = bench_series_add(&figures->total, ns, err);

	return rc < 0 ? rc : bench_series_add(&figures->over, ns - bare, err);
}

static int run_kernel(const struct bench_runs *runs, struct bench_result *r, double bare,
		      double *ret_ns, struct ubp_err *err)
{
	int rc = runs->kernel(runs->ctx, &r->kernel, ret_ns, err);

	if (rc < 0)
		return ubp_context(err, "kernel");
	return add_run(&r->kernel, *ret_ns, bare, err);
}

static int one_round(const struct bench_runs *runs, bool has_kernel, struct bench_result *r,
		     double *kernel_ns, struct ubp_err *err)
{
	double bare, ns, before;
	int rc = runs->bare(runs->ctx, &bare, err);

	if (rc == 0)
		rc = bench_series_add(&r->bare, bare, err);
	if (rc == 0 && has_kernel && r->kernel.total.n == 0)
		rc = run_kernel(runs, r, bare, kernel_ns, err);
	for (size_t i = 0; i < r->n_ubp && rc == 0; i++) {
		struct bench_figures *f = &r->ubp[i];

		rc = runs->ubp(runs->ctx, i, f, &ns, err);
		if (rc < 0)
			return ubp_context(err, "ubp, mode %s", f->name);
		rc = add_run(f, ns, bare, err);
		before = *kernel_ns;
		if (rc == 0 && has_kernel)
			rc = run_kernel(runs, r, bare, kernel_ns, err);
		if (rc == 0 && has_kernel)
			rc = bench_series_add(&f->ratio, ns / ((before + *kernel_ns) / 2), err);
	}
	return rc;
}

int bench_rounds(const struct bench_options *opt, const struct bench_runs *runs,
		 bool has_kernel, struct bench_result *result, struct ubp_err *err)
{
	double kernel_ns = 0;
	int rc = 0;

	result->kernel.name = "kernel";
	result->n_ubp = opt->n_modes;
	for (size_t i = 0; i < opt->n_modes; i++)
		result->ubp[i].name = opt->modes[i].name;
	for (unsigned i = 0; i < opt->rounds && rc == 0; i++)
		rc = one_round(runs, has_kernel, result, &kernel_ns, err);
	return rc;
}
