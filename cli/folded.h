/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --folded: equal stacks, counted. */

#ifndef UBP_CLI_FOLDED_H
#define UBP_CLI_FOLDED_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/map.h"

struct output;

/* Zero-initialise; free with folded_free(). */
struct folded {
	struct map by_hash; /* -> struct folded_stack */
	size_t n;
	bool failed; /* memory was short: some are not counted */
};

/* One more of this stack, @len bytes. */
void folded_add(struct folded *folded, const char *stack, size_t len);
/* "STACK COUNT" lines, sorted by stack. */
void folded_print(struct folded *folded, struct output *out);
void folded_free(struct folded *folded);

#endif
