/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What runs have measured: series of one figure, and the figures of a row or of a command. */

#ifndef UBP_CLI_BENCH_FIGURES_H
#define UBP_CLI_BENCH_FIGURES_H

#include "cli/bench/options.h"

/* Figures of several runs. */
struct bench_series {
	double *values;
	size_t n;
};

int bench_series_add(struct bench_series *series, double value, struct ubp_err *err);
void bench_series_free(struct bench_series *series);
/* Of at least one value. */
double bench_median(const struct bench_series *series);
double bench_min(const struct bench_series *series);
double bench_max(const struct bench_series *series);

/* One side's figures: the kernel's, or those of a mode of ubp. */
struct bench_figures {
	const char *name;
	struct bench_series total; /* ns per hit (of a command: ns of wall time) */
	struct bench_series over;  /* less the bare run of the same round */
	struct bench_series ratio; /* ubp: total / the kernel's beside it */
	uint64_t hits;             /* of all measured runs */
	uint64_t recorded, lost;   /* events that were to be recorded; of these lost */
	struct {
		unsigned jumped, boosted, stepped, in_place;
	} sites; /* ubp: of the last run, by rung */
};

/* A row of the table, or a command. */
struct bench_result {
	const struct bench_row *row; /* NULL: a command */
	bool reader;
	struct bench_series bare;
	struct bench_figures kernel; /* .total.n 0: not measured, .why says why */
	char why[256];
	struct bench_figures ubp[BENCH_MODES_MAX];
	size_t n_ubp;
	int status; /* of the command: exit status, or 128 + signal */
};

void bench_result_free(struct bench_result *result);

#endif
