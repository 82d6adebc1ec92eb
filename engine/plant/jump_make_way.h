/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Jumps that reach over a place that is to be probed, too. */

#ifndef UBP_PLANT_JUMP_MAKE_WAY_H
#define UBP_PLANT_JUMP_MAKE_WAY_H

#include <stdint.h>

struct plant_space;
struct site;
struct ubp_err;
struct update;

/* The site whose jump reaches over @vaddr. NULL: none does. */
struct site *jump_over(const struct plant_space *ps, uint64_t vaddr);

/*
 * Called before breakpoints are written under a jump, which begins at a lower address: the jump becomes a breakpoint. The
 * thread of @u is held; it may be gone afterwards. Returns 0 or -errno.
 */
int jump_make_way(struct update *u, struct ubp_err *err);

#endif
