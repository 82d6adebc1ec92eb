/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"

int bench_series_add(struct bench_series *series, double value, struct ubp_err *err)
{
	if (VEC_FIT(series->values, series->n + 1) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	series->values[series->n++] = value;
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
