/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/units.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Value of a digit, whatever the base; 255 for other bytes. */
static unsigned digit_value(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A' + 10);
	return 255;
}

bool units_digits(const char *text, size_t len, uint64_t *ret_value)
{
	unsigned base = 10;
	uint64_t value = 0;
	size_t i = 0;

	if (len >= 3 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	} else if (len >= 2 && text[0] == '0') {
		base = 8;
		i = 1;
	}
	if (i == len)
		return false;
	for (; i < len; i++) {
		unsigned digit = digit_value(text[i]);

		if (digit >= base)
			return false;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret_value = value;
	return true;
}

/* Longer ones stand before those that they end in, and "s" last. */
static const struct unit {
	const char *name;
	uint64_t factor;
	bool is_time;
} units[] = {
	{ "ns", 1, true },
	{ "us", 1000, true },
	{ "ms", 1000000, true },
	{ "min", 60000000000, true },
	{ "s", 1000000000, true },
	{ "h", 3600000000000, true },
	{ "KiB", 1ULL << 10, false },
	{ "MiB", 1ULL << 20, false },
	{ "GiB", 1ULL << 30, false },
	{ "TiB", 1ULL << 40, false },
	{ "kB", 1000, false },
	{ "MB", 1000000, false },
	{ "GB", 1000000000, false },
	{ "TB", 1000000000000, false },
	{ "B", 1, false },
};

/* NULL: it ends in none. */
static const struct unit *unit_at_end(const char *text, size_t *len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].name);

		if (*len <= n || memcmp(text + *len - n, units[i].name, n) != 0)
			continue;
		*len -= n;
		return &units[i];
	}
	return NULL;
}

/* So many of @factor fit a number of 64 bits. */
#define PART_DIGITS 6

/* The digits behind a point. @is_whole: what is less than one is refused, not cut off. */
static bool read_part(const char *text, size_t len, uint64_t factor, bool is_whole,
		      uint64_t *ret_value)
{
	uint64_t part = 0, of = 1;

	if (!len || len > PART_DIGITS)
		return false;
	for (size_t i = 0; i < len; i++, of *= 10) {
		if (!is_digit(text[i]))
			return false;
		part = part * 10 + digit_value(text[i]);
	}
	*ret_value = part * factor / of;
	return !is_whole || part * factor % of == 0;
}

/* @len: without the unit, which is @factor. */
static bool read_number(const char *text, size_t len, uint64_t factor, bool is_signed,
			bool is_whole, uint64_t *ret_value)
{
	const uint64_t lowest = 1ULL << 63;
	uint64_t value, part = 0;
	bool minus = is_signed && len && text[0] == '-';
	const char *point = memchr(text, '.', len);
	size_t whole = point ? (size_t)(point - text) : len;

	/* Octal and hexadecimal numbers have none. */
	if ((whole - minus > 1 && text[minus] == '0') ||
	    !units_digits(text + minus, whole - minus, &value) ||
	    (point && !read_part(point + 1, len - whole - 1, factor, is_whole, &part)) ||
	    __builtin_mul_overflow(value, factor, &value) ||
	    __builtin_add_overflow(value, part, &value))
		return false;
	if (is_signed && (minus ? value > lowest : value >= lowest))
		return false;
	*ret_value = minus ? -value : value;
	return true;
}

bool units_number(const char *text, size_t len, bool is_signed, uint64_t *ret_value)
{
	const struct unit *unit = unit_at_end(text, &len);

	return unit && read_number(text, len, unit->factor, is_signed, true, ret_value);
}

bool units_size(const char *text, size_t len, uint64_t *ret_size)
{
	static const char letters[] = "KMGT";
	const struct unit *unit = unit_at_end(text, &len);
	const char *letter = len ? memchr(letters, text[len - 1], sizeof(letters) - 1) : NULL;

	if (unit)
		return !unit->is_time &&
		       read_number(text, len, unit->factor, false, false, ret_size);
	if (letter)
		return read_number(text, len - 1, 1024ULL << (10 * (letter - letters)), false,
				   false, ret_size);
	return read_number(text, len, 1, false, false, ret_size);
}
