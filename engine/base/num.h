/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Numbers as the kernel reads them in definitions and filters (kstrtoul() and
 * relatives, Linux 6.18): stricter than strtoul(), and with its own errors.
 *
 * Texts are not NUL-ended; nothing past @len is looked at. On failure *ret is
 * left alone.
 */

#ifndef UBP_BASE_NUM_H
#define UBP_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Unsigned: an optional single '+', then digits, to the end of the text. @base
 * is 10, or 0 for "0x" hexadecimal, "0" octal, else decimal. Returns 0, -EINVAL,
 * or -ERANGE for digits that do not fit 64 bits (even with garbage behind).
 */
int num_u64(const char *text, size_t len, int base, uint64_t *ret);

/* Signed, base 0: the same with an optional '-' instead of the '+'. */
int num_s64(const char *text, size_t len, int64_t *ret);

/*
 * The digits @text begins with, base 0, no sign; too many of them wrap around.
 * Returns how many bytes they take, 0 if there is none (*ret is then 0).
 */
size_t num_scan(const char *text, size_t len, uint64_t *ret);

/* The smallest e with 2^e >= @value, up to 64; of 0 and 1: 0. */
static inline unsigned num_log2(uint64_t value)
{
	return value > 1 ? 64 - (unsigned)__builtin_clzll(value - 1) : 0;
}

#endif
