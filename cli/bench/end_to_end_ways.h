/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How a hit gets into a file: by uprobe, and by other tracers. A run writes to "out" in the folder that it is in: a file or a folder. */

#ifndef UBP_CLI_BENCH_END_TO_END_WAYS_H
#define UBP_CLI_BENCH_END_TO_END_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_WAY_ARGS 24

struct bench_way {
	const char *name;
	/* Up to NULL; the program that is measured, and its words, follow. "UPROBE" and "DEFINITION" stand for what is known then. */
	const char *argv[BENCH_WAY_ARGS];
	const char *first; /* of bench_firsts; NULL: the usual one */
	const char *
		program; /* what is behind the path of ubp-bench in that of the program that is measured; NULL: nothing */
	bool (*begin)(const char *program); /* what the tracer needs; false: it cannot be had */
	void (*end)(void);
	uint64_t (*kept)(void); /* events in "out" */
	bool is_other;          /* left out, with a word, where it does not work */
};

/* The last one has no name. */
extern const struct bench_way bench_ways[];

#endif
