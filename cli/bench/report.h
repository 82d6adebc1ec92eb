/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Results as a table and as JSON (described in ubp-bench(1)). */

#ifndef UBP_CLI_BENCH_REPORT_H
#define UBP_CLI_BENCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/bench/machine.h"
#include "cli/bench/measure.h"

struct bench_report {
	const struct bench_options *opt;
	FILE *out;
	bool no_table;
	json_t *json;
};

/* Says what machine this is, and what the columns are. */
/* @out: standard output. */
int bench_report_open(struct bench_report *report, const struct bench *bench, FILE *out);
int bench_report_add(struct bench_report *report, const struct bench_result *result);
/* Write the JSON where it was asked for ("-": to @out). CLI_OK or CLI_FAILED, which is said. */
int bench_json_write(json_t *json, const char *path, FILE *out);
/* null of none. */
json_t *bench_series_json(const struct bench_series *series);
int bench_report_finish(struct bench_report *report);
void bench_report_close(struct bench_report *report);

#endif
