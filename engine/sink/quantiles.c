/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/quantiles.h"

#include <errno.h>
#include <stdlib.h>

#define BITS  5
#define WIDTH (1U << BITS)
#define N     (sizeof(((struct quantiles *)0)->counts) / sizeof(uint64_t *))

/* Which power of two, and which range of it. Below 2^5 a range is a number. */
static unsigned block_of(uint64_t value)
{
	return value < 2 * WIDTH ? 0 : 63U - (unsigned)__builtin_clzll(value) - BITS;
}

static unsigned range_of(uint64_t value, unsigned block)
{
	return (unsigned)(value >> block) - (block ? WIDTH : 0);
}

/* The middle of a range. */
static uint64_t middle(unsigned block, unsigned range)
{
	uint64_t first = (uint64_t)(range + (block ? WIDTH : 0)) << block;

	return first + (block ? (1ULL << block) / 2 : 0);
}

int quantiles_add(struct quantiles *q, uint64_t value, uint64_t n)
{
	unsigned block = block_of(value);

	if (!q->counts[block])
		q->counts[block] = calloc(block ? WIDTH : 2 * WIDTH, sizeof(uint64_t));
	if (!q->counts[block])
		return -ENOMEM;
	q->counts[block][range_of(value, block)] += n;
	q->n += n;
	return 0;
}

uint64_t quantiles_get(const struct quantiles *q, double share)
{
	uint64_t wanted = (uint64_t)(share * (double)q->n), seen = 0;

	/* The one behind as many: of 100 the 99th for 0.99, of 3 the second for a half. */
	if (!wanted || (double)wanted < share * (double)q->n)
		wanted++;
	for (unsigned block = 0; block < N; block++)
		for (unsigned i = 0; q->counts[block] && i < (block ? WIDTH : 2 * WIDTH); i++) {
			seen += q->counts[block][i];
			if (seen >= wanted)
				return middle(block, i);
		}
	return 0;
}

void quantiles_free(struct quantiles *q)
{
	for (unsigned block = 0; block < N; block++)
		free(q->counts[block]);
}
