/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The functions that probes are at, and what each probe is for its function. */

#ifndef UBP_CALLS_FUNCTIONS_H
#define UBP_CALLS_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/calls/function.h"

struct spec_arg;
struct spec_probe;

struct function {
	struct calls_function public;
	struct function *next; /* of the same hash */
	char *name, *file;
	unsigned n_entries, n_returns; /* its probes */
	bool has_duration;             /* a return probe has */
	uint64_t n_paired, n_strays; /* returns with an entry, and those while none was open */
};

/* What a probe is. */
struct function_probe {
	struct function *function;
	bool is_return;
	unsigned i; /* of its kind at this function; 63: and those behind it */
	const struct spec_arg *duration; /* $duration, of a return; NULL: it has none */
	const struct spec_arg *sp;       /* %sp or $stack, of an entry; NULL: it has none */
	/* What tells that another probe has taken its place in memory. */
	uint64_t serial, offset;
};

/* Zero-initialise. */
struct functions {
	struct map by_place, by_probe;
	struct function **v;
	size_t n, cap;
	unsigned n_lone; /* functions whose calls are known from their returns alone */
};

/* What @probe is, as long as @functions. NULL: memory is short. */
const struct function_probe *functions_probe(struct functions *functions,
					     const struct spec_probe *probe);
void functions_free(struct functions *functions);

#endif
