/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Blocks of memory that live, by the stack that allocated them. A block is an address of a process; one that is allocated again at the same
 * address, before anybody has seen it freed, takes the place of the other. For one thread.
 */

#ifndef UBP_TALLY_BLOCKS_H
#define UBP_TALLY_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct blocks;

/* What one stack has allocated. */
struct blocks_row {
	uint64_t live, n_live;           /* bytes and blocks */
	uint64_t allocated, n_allocated; /* the same, with those that were freed */
};

/* NULL: out of memory. */
struct blocks *blocks_new(void);
void blocks_free(struct blocks *blocks);
/* Stacks are numbered by the caller: 0, 1, ... 0 or -ENOMEM. */
int blocks_add(struct blocks *blocks, uint32_t pid, uint64_t vaddr, uint64_t bytes,
	       uint64_t stack);
/* Of a block that is not known nothing is known afterwards, either. */
void blocks_take(struct blocks *blocks, uint32_t pid, uint64_t vaddr);
/* The number of stacks, and one of them. */
size_t blocks_n(const struct blocks *blocks);
const struct blocks_row *blocks_row(const struct blocks *blocks, size_t stack);

#endif
