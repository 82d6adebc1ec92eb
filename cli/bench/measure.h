/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Measuring: runs of the kernel and of ubp alternate, since machines change their speed within
 * seconds. A run of ubp is compared with the mean of the kernel's just before and just
 * after it.
 */

#ifndef UBP_CLI_BENCH_MEASURE_H
#define UBP_CLI_BENCH_MEASURE_H

#include "cli/bench/figures.h"
#include "cli/bench/options.h"

struct bench {
	const struct bench_options *opt;
	struct kernel *kernel; /* NULL: none */
	int signal_fd;
};

/* Fills in *result, which the caller frees even after a failure. */
int bench_measure(struct bench *bench, const struct bench_row *row, bool reader,
		  struct bench_result *result, struct ubp_err *err);

/* Common to rows and commands: the round's runs, given how to do one. */
struct bench_runs {
	void *ctx;
	/* *ret_ns: of a run without any probe, the kernel's, ubp's in mode @i. Counts and rungs
	 * are added to *figures. */
	int (*bare)(void *ctx, double *ret_ns, struct ubp_err *err);
	int (*kernel)(void *ctx, struct bench_figures *figures, double *ret_ns,
		      struct ubp_err *err);
	int (*ubp)(void *ctx, size_t i, struct bench_figures *figures, double *ret_ns,
		   struct ubp_err *err);
};

/* All rounds. .kernel is not called if @has_kernel is false. */
int bench_rounds(const struct bench_options *opt, const struct bench_runs *runs,
		 bool has_kernel, struct bench_result *result, struct ubp_err *err);

#endif
