/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Quantiles of very many numbers in little memory: counted in ranges, each 1/32 as wide as where its power of two begins. Whatever
 * is asked for is told with an error of 1/64 at most; below 64 exactly. At most 16 KiB, of which only powers of two that occur are there.
 */

#ifndef UBP_SINK_QUANTILES_H
#define UBP_SINK_QUANTILES_H

#include <stdint.h>

#define QUANTILES_ERROR (1.0 / 64)

/* Zero-initialise. */
struct quantiles {
	uint64_t n;
	uint64_t *counts
		[60]; /* of each power of two, from 2^5 on (what is below is with the first): 32 ranges, or 64 */
};

/* @n times. 0 or -ENOMEM: it is not counted. */
int quantiles_add(struct quantiles *q, uint64_t value, uint64_t n);
/* What @share of them (0 to 1) are not above. 0 if there are none. */
uint64_t quantiles_get(const struct quantiles *q, double share);
void quantiles_free(struct quantiles *q);

#endif
