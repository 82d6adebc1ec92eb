/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is measured: the cases, and their definitions for both sides. */

#ifndef UBP_CLI_BENCH_CASE_H
#define UBP_CLI_BENCH_CASE_H

#include <limits.h>

#include "cli/bench/kernel.h"
#include "cli/bench/work.h"

struct bench_case {
	const char *name, *about;
	bool entry, ret;          /* probes the entry, the return */
	bool has_int, has_string; /* of the entry; the return always has the result */
	const char *filter;
	bool passes; /* .filter says yes */
	const char *
		tally; /* ubp counts by this trigger, in place of recording; NULL: it records */
	const char *trigger; /* the same with this one, as --trigger does it */
	const char
		*sample;   /* ubp_options.sample, so rare that no hit is taken; NULL: all are */
	bool has_duration; /* of the return, in place of its value */
	bool is_standard;  /* measured on more kinds of first instruction than the usual */
};

/* They end in a name NULL. */
extern const struct bench_case bench_cases[];

const struct bench_case *bench_case_by_name(const char *name);

/* Names, separated by blanks, for messages. */
void bench_case_names(char *text, size_t size);
void bench_first_names(char *text, size_t size);

/* A row of the table: a case on a function by so many threads. */
struct bench_row {
	const struct bench_case *c;
	const struct bench_first *first;
	unsigned threads;
};

#define BENCH_PROBES_MAX 2

/* Its definitions, for the kernel and as text for ubp. */
struct bench_definitions {
	struct kernel_probe probes[BENCH_PROBES_MAX];
	size_t n_probes;
	char path[PATH_MAX];
	char rest[BENCH_PROBES_MAX][128];
	char text[BENCH_PROBES_MAX * (PATH_MAX + 256)];
};

int bench_define(const struct bench_row *row, struct bench_definitions *ret_definitions,
		 struct ubp_err *err);

/* At most so many bytes do the events of a call take, on any side. */
#define BENCH_CALL_BYTES_MAX 128
size_t bench_call_bytes(const struct bench_case *c);

#endif
