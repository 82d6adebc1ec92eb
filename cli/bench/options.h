/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The command line of ubp-bench. */

#ifndef UBP_CLI_BENCH_OPTIONS_H
#define UBP_CLI_BENCH_OPTIONS_H

#include "cli/bench/case.h"
#include "engine/ubp.h"

#define BENCH_MODES_MAX 4

struct bench_mode {
	const char *name;
	enum ubp_mode mode;
};

/* -e, and the --filter behind it. */
struct bench_event {
	const char *text, *filter;
};

/* All strings are borrowed from argv. */
struct bench_options {
	unsigned rounds;
	uint64_t hits; /* of a run */
	unsigned idle;
	struct bench_mode modes[BENCH_MODES_MAX];
	size_t n_modes;
	enum kernel_kind kernel;
	struct bench_row *rows;
	size_t n_rows;
	bool is_selection;          /* nothing was said about rows */
	struct bench_event *events; /* with .command */
	size_t n_events;
	char **command;        /* NULL: the built-in cases */
	const char **coverage; /* files to count, instead of measuring */
	size_t n_coverage;
	const char *json;
	bool pin, no_pin, reader, all, hot, end_to_end, help, version;
	/* As asked for; .rows is made of them. */
	const struct bench_case *cases[16];
	size_t n_cases;
	const struct bench_first *firsts[16];
	size_t n_firsts;
	unsigned threads[16];
	size_t n_threads;
};

/* As uprobe_options_parse(). */
int bench_options_parse(int argc, char **argv, struct bench_options *ret_options,
			bool *ret_done);
void bench_options_free(struct bench_options *options);

#endif
