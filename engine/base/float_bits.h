/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Floating-point numbers of targets, which are those of every machine we run on. */

#ifndef UBP_BASE_FLOAT_BITS_H
#define UBP_BASE_FLOAT_BITS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The f64 that is nearest to an x87's long double: 64 bits with a leading 1, a sign and an exponent. */
static inline uint64_t float_bits_of_x87(uint64_t mantissa, uint16_t sign_exponent)
{
	int exponent = sign_exponent & 0x7fff;
	/* No machine's long double has fewer bits of either. */
	double d = (double)ldexpl((long double)mantissa, (exponent ? exponent : 1) - 16446);
	uint64_t bits;

	if (exponent == 0x7fff)
		d = mantissa << 1 ? (double)NAN : (double)INFINITY;
	memcpy(&bits, &d, sizeof(bits));
	return bits | (uint64_t)(sign_exponent >> 15) << 63;
}

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
