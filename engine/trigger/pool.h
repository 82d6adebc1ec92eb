/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory that is given back all at once: what a trigger is made of. Pieces are zeroed. Zero-initialise the pool.
 */

#ifndef UBP_TRIGGER_POOL_H
#define UBP_TRIGGER_POOL_H

#include <stddef.h>

struct pool_piece;

struct pool {
	struct pool_piece *last;
};

/* NULL when memory is short; so with the others. */
void *pool_get(struct pool *pool, size_t size);
char *pool_text(struct pool *pool, const char *text, size_t len);
__attribute__((format(printf, 2, 3))) char *pool_format(struct pool *pool, const char *fmt,
							...);
/* What @from has is @pool's from now on. */
void pool_join(struct pool *pool, struct pool *from);
void pool_free(struct pool *pool);

#endif
