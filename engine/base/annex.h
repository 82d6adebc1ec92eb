/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What others keep with an object for as long as it is open: its symbols, its debug files, landings.
 * The object frees them and knows nothing else of them.
 */

#ifndef UBP_BASE_ANNEX_H
#define UBP_BASE_ANNEX_H

#include <stddef.h>

/* Each kind is one static constant of its owner's: its address tells kinds apart. */
struct annex_kind {
	void (*free)(void *annex); /* never called with NULL */
};

struct annex {
	const struct annex_kind *kind;
	void *kept;
};

/* At most one of each kind. Zero-initialise. */
struct annexes {
	struct annex *v;
	size_t n;
};

/* What was put there, or NULL. */
void *annex_get(const struct annexes *annexes, const struct annex_kind *kind);

/*
 * Keep @kept, which is not NULL, from now on; what was there of its kind is freed. Returns 0, or
 * -ENOMEM: @kept stays the caller's.
 */
int annex_put(struct annexes *annexes, const struct annex_kind *kind, void *kept);

/*
 * What was put there; where there is nothing, @len bytes are: zeros, which @kind frees as well. NULL: out of
 * memory.
 */
void *annex_make(struct annexes *annexes, const struct annex_kind *kind, size_t len);

/* Free all, the last one first. */
void annexes_free(struct annexes *annexes);

#endif
