/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Values in filters: numbers, CPU lists, patterns. */

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "engine/base/units.h"
#include "engine/spec/filter_parse.h"

/* The most CPUs that a kernel can be built for. */
#define CPUS_LIMIT 8192

/* --- numbers -------------------------------------------------------------- */

bool filter_number(const char *text, size_t len, bool is_signed, uint64_t *ret_value)
{
	const uint64_t lowest = 1ULL << 63;
	bool minus = is_signed && len && text[0] == '-';
	uint64_t value;

	if (!units_digits(text + minus, len - minus, &value))
		return false;
	if (is_signed && (minus ? value > lowest : value >= lowest))
		return false;
	*ret_value = minus ? -value : value;
	return true;
}

static size_t skip_digits(const char *text, size_t len, size_t i)
{
	while (i < len && char_is_digit(text[i]))
		i++;
	return i;
}

/* [-]DIGITS[.DIGITS][e[+-]DIGITS]; digits may be missing on one side of the point. */
static bool is_decimal(const char *text, size_t len)
{
	size_t start = len && text[0] == '-', i = skip_digits(text, len, start);
	size_t n_digits = i - start;

	if (i < len && text[i] == '.') {
		start = i + 1;
		i = skip_digits(text, len, start);
		n_digits += i - start;
	}
	if (i < len && (text[i] | 0x20) == 'e') {
		i++;
		i += i < len && (text[i] == '-' || text[i] == '+');
		start = i;
		i = skip_digits(text, len, start);
		if (i == start)
			return false;
	}
	return n_digits && i == len;
}

bool filter_float(const char *text, size_t len, unsigned size, uint64_t *ret_bits)
{
	locale_t c_locale;
	char copy[64];
	double value;

	if (len >= sizeof(copy) || !is_decimal(text, len))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	/* Whoever we work for may have set a locale. */
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return false;
	value = size == sizeof(float) ? (double)strtof_l(copy, NULL, c_locale)
				      : strtod_l(copy, NULL, c_locale);
	freelocale(c_locale);
	memcpy(ret_bits, &value, sizeof(value));
	return isfinite(value);
}

/* --- CPU lists ------------------------------------------------------------ */

unsigned filter_machine_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	if (n < 1)
		return 1;
	return n > CPUS_LIMIT ? CPUS_LIMIT : (unsigned)n;
}

struct cpu_range {
	unsigned first, last;
	unsigned use, of; /* of each .of CPUs the first .use */
};

/* A list being read; ends at .end. */
struct cpu_cursor {
	const char *at, *end;
	unsigned n_cpus;
};

static char look(const struct cpu_cursor *cur)
{
	return cur->at == cur->end ? '\0' : *cur->at;
}

static bool is_gap(char c)
{
	return char_is_space(c) || c == ',';
}

/* A decimal number, or N for the last CPU. */
static bool read_cpu(struct cpu_cursor *cur, unsigned *ret_cpu)
{
	unsigned value = 0;

	if (look(cur) == 'N') {
		cur->at++;
		*ret_cpu = cur->n_cpus - 1;
		return true;
	}
	if (!char_is_digit(look(cur)))
		return false;
	for (; char_is_digit(look(cur)); cur->at++)
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, (unsigned)(*cur->at - '0'), &value))
			return false;
	*ret_cpu = value;
	return true;
}

static bool skip_char(struct cpu_cursor *cur, char c)
{
	if (look(cur) != c)
		return false;
	cur->at++;
	return true;
}

/* FIRST, FIRST-LAST, or all; the latter two with :USE/OF. */
static bool read_range(struct cpu_cursor *cur, struct cpu_range *ret)
{
	bool is_range = true;

	if (cur->end - cur->at >= 3 && strncasecmp(cur->at, "all", 3) == 0) {
		cur->at += 3;
		ret->first = 0;
		ret->last = cur->n_cpus - 1;
	} else {
		if (!read_cpu(cur, &ret->first))
			return false;
		ret->last = ret->first;
		is_range = skip_char(cur, '-');
		if (is_range && !read_cpu(cur, &ret->last))
			return false;
	}
	ret->use = ret->of = ret->last + 1;
	if (!look(cur) || is_gap(look(cur)))
		return true;
	return is_range && skip_char(cur, ':') && read_cpu(cur, &ret->use) &&
	       skip_char(cur, '/') && read_cpu(cur, &ret->of);
}

bool filter_cpu_list(const char *text, size_t len, unsigned n_cpus, uint8_t *set)
{
	struct cpu_cursor cur = { .at = text, .end = text + len, .n_cpus = n_cpus };
	struct cpu_range range;

	memset(set, 0, FILTER_SET_SIZE(n_cpus));
	for (;;) {
		while (cur.at < cur.end && is_gap(*cur.at))
			cur.at++;
		if (!look(&cur))
			return true;
		if (!read_range(&cur, &range))
			return false;
		if (range.first > range.last || range.last >= n_cpus || !range.of ||
		    range.use > range.of)
			return false;
		for (unsigned i = range.first; i <= range.last; i++)
			if ((i - range.first) % range.of < range.use)
				set[i / 8] |= (uint8_t)(1U << (i % 8));
	}
}

/* --- patterns ------------------------------------------------------------- */

enum filter_test filter_pattern(const char **text, size_t *len, bool has_digits,
				bool *ret_negated)
{
	const char *s = *text;
	size_t n = *len;
	bool leading, trailing;

	*ret_negated = n && s[0] == '!';
	if (*ret_negated) {
		s++;
		n--;
	}
	*text = s;
	*len = n;
	if (!n || (!has_digits && char_is_digit(s[0])))
		return FILTER_SAME; /* the kernel takes a leading digit for an index */
	leading = s[0] == '*';
	trailing = n > 1 && s[n - 1] == '*';
	for (size_t i = leading; i < n - trailing; i++)
		if (strchr("*[?\\", s[i]))
			return FILTER_GLOB;
	*text = s + leading;
	*len = n - leading - trailing;
	if (leading)
		return trailing ? FILTER_MIDDLE : FILTER_SUFFIX;
	return trailing ? FILTER_PREFIX : FILTER_SAME;
}
