/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a handler's functions (engine/ubp_handler.h, hit_access.c) need of the thread that was hit, beside its registers: on the tracing thread, or by asking the
 * engine that has it (apart_hits.c).
 */

#ifndef UBP_SESSION_HIT_REACH_H
#define UBP_SESSION_HIT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/hit/handle.h"

struct ubp_err;

/* As the public functions with these names, for a probe that may change the program where that matters. */
struct hit_reach {
	uint64_t (*vector)(const struct ubp_hit *hit, unsigned i); /* i < UBP_VECTORS */
	size_t (*read)(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size);
	int (*write)(struct ubp_hit *hit, uint64_t addr, const void *buf, size_t size,
		     struct ubp_err *err);
	int (*skip)(struct ubp_hit *hit, uint64_t result, struct ubp_err *err);
	size_t (*stack)(const struct ubp_hit *hit, uint64_t *ret_addr, size_t n); /* n > 0 */
};

extern const struct hit_reach hit_reach_here;

/* Is register @reg, by its number, one that a handler may change? */
bool hit_may_set(const struct ubp_hit *hit, unsigned reg);
/* To be written when all handlers have run. Bits of the flags that are not the program's stay. */
void hit_set_reg(struct ubp_hit *hit, unsigned reg, uint64_t value);

#endif
