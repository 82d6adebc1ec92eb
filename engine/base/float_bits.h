/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Floating-point numbers of targets, which are those of every machine we run on. */

#ifndef UBP_BASE_FLOAT_BITS_H
#define UBP_BASE_FLOAT_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The f32 or f64 (@size is 4 or 8) whose bits are @bits. */
static inline double float_of_bits(uint64_t bits, size_t size)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (size == sizeof(f)) {
		memcpy(&f, &low, sizeof(f));
		return (double)f;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}

#endif
