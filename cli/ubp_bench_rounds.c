/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Series of figures, and the order of runs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ubp_bench_measure.h"
#include "engine/base/err.h"

int bench_series_add(struct bench_series *series, double value, struct ubp_err *err)
{
	double *values = reallocarray(series->values, series->n + 1, sizeof(*values));

	if (!values)
		return ubp_fail(err, ENOMEM, "out of memory");
	series->values = values;
	values[series->n++] = value;
	return 0;
}

void bench_series_free(struct bench_series *series)
{
	free(series->values);
	*series = (struct bench_series){ 0 };
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(const struct bench_series *series)
{
	size_t n = series->n;
	double *sorted = malloc(n * sizeof(*sorted)), median;

	if (!sorted)
		return series->values[0];
	memcpy(sorted, series->values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	free(sorted);
	return median;
}

double bench_min(const struct bench_series *series)
{
	double min = series->values[0];

	for (size_t i = 1; i < series->n; i++)
		min = series->values[i] < min ? series->values[i] : min;
	return min;
}

double bench_max(const struct bench_series *series)
{
	double max = series->values[0];

	for (size_t i = 1; i < series->n; i++)
		max = series->values[i] > max ? series->values[i] : max;
	return max;
}

static void figures_free(struct bench_figures *figures)
{
	bench_series_free(&figures->total);
	bench_series_free(&figures->over);
	bench_series_free(&figures->ratio);
}

void bench_result_free(struct bench_result *result)
{
	bench_series_free(&result->bare);
	figures_free(&result->kernel);
	for (size_t i = 0; i < result->n_ubp; i++)
		figures_free(&result->ubp[i]);
	memset(result, 0, sizeof(*result));
}

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
