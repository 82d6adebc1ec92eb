/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/num.h"

#include <errno.h>
#include <stdbool.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* The base that a prefix means, and how long the prefix is. */
static int base_of(const char *text, size_t len, size_t *ret_skip)
{
	*ret_skip = 0;
	if (len == 0 || text[0] != '0')
		return 10;
	/* The '0' of octal is a digit itself: "0" alone is a number. */
	if (len < 3 || (text[1] | 0x20) != 'x' || digit_of(text[2]) >= 16)
		return 8;
	*ret_skip = 2;
	return 16;
}

/* Digits at the start of the text. Returns their number; *ret wraps around. */
static size_t scan_digits(const char *text, size_t len, int base, uint64_t *ret,
			  bool *ret_overflow)
{
	uint64_t value = 0;
	size_t n = 0;

	*ret_overflow = false;
	for (; n < len && digit_of(text[n]) < base; n++) {
		uint64_t digit = (uint64_t)digit_of(text[n]);
		uint64_t times, next;

		if (__builtin_mul_overflow(value, (uint64_t)base, &times) ||
		    __builtin_add_overflow(times, digit, &next)) {
			*ret_overflow = true;
			next = value * (uint64_t)base + digit;
		}
		value = next;
	}
	*ret = value;
	return n;
}

/* Without any sign. */
static int parse_digits(const char *text, size_t len, int base, uint64_t *ret)
{
	size_t skip = 0, n;
	uint64_t value;
	bool overflow;

	if (base == 0)
		base = base_of(text, len, &skip);
	n = scan_digits(text + skip, len - skip, base, &value, &overflow);
	if (overflow)
		return -ERANGE;
	if (n == 0 || skip + n != len)
		return -EINVAL;
	*ret = value;
	return 0;
}

int num_u64(const char *text, size_t len, int base, uint64_t *ret)
{
	if (len > 0 && text[0] == '+')
		return parse_digits(text + 1, len - 1, base, ret);
	return parse_digits(text, len, base, ret);
}

int num_s64(const char *text, size_t len, int64_t *ret)
{
	bool negative = len > 0 && text[0] == '-';
	uint64_t value;
	int rc;

	if (negative)
		rc = parse_digits(text + 1, len - 1, 0, &value);
	else
		rc = num_u64(text, len, 0, &value);
	if (rc < 0)
		return rc;
	if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return -ERANGE;
	*ret = (int64_t)(negative ? -value : value);
	return 0;
}

size_t num_scan(const char *text, size_t len, uint64_t *ret)
{
	size_t skip, n;
	bool overflow;
	int base = base_of(text, len, &skip);

	n = scan_digits(text + skip, len - skip, base, ret, &overflow);
	return n == 0 ? 0 : skip + n;
}
