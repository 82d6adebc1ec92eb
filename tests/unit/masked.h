/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Texts of the corpus of triggers, in which what differs from run to run is masked (its README). */

#ifndef TESTS_UNIT_MASKED_H
#define TESTS_UNIT_MASKED_H

#include <stdbool.h>
#include <stddef.h>

struct hits;

struct masked {
	const struct hits *hits;        /* of the last run; NULL: there was none */
	const struct hits *const *runs; /* of all, the first one first */
	unsigned n_runs;
	bool digits;    /* numbers are not compared */
	bool unordered; /* nor is the order of lines */
};

/* Is @have what @want, with masks, says? Frames of stacks are left out of both. */
bool masked_equal(const struct masked *masked, const char *have, const char *want);

#endif
