/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Values in filters: numbers, CPU lists for machines of any size, kinds of patterns. */

#include "engine/spec/filter_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void reads_numbers(void **state)
{
	static const struct {
		const char *text;
		bool is_signed, ok;
		uint64_t value;
	} cases[] = {
		{ "0", false, true, 0 },
		{ "00", false, true, 0 },
		{ "010", false, true, 8 },
		{ "08", false, false, 0 },
		{ "0x", false, false, 0 },
		{ "0XfF", true, true, 255 },
		{ "0xg", false, false, 0 },
		{ "1a", false, false, 0 },
		{ "", false, false, 0 },
		{ "-", true, false, 0 },
		{ "-1", false, false, 0 },
		{ "-1", true, true, UINT64_MAX },
		{ "-0", true, true, 0 },
		{ "-0x10", true, true, (uint64_t)-16 },
		{ "18446744073709551615", false, true, UINT64_MAX },
		{ "18446744073709551616", false, false, 0 },
		{ "9223372036854775807", true, true, INT64_MAX },
		{ "9223372036854775808", true, false, 0 },
		{ "-9223372036854775808", true, true, 1ULL << 63 },
		{ "-9223372036854775809", true, false, 0 },
		{ "01777777777777777777777", false, true, UINT64_MAX },
		{ "02000000000000000000000", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 0;
		bool ok = filter_number(cases[i].text, strlen(cases[i].text),
					cases[i].is_signed, &value);

		if (ok != cases[i].ok || (ok && value != cases[i].value))
			fail_msg("%s", cases[i].text);
	}
}

static void cuts_and_extends(void **state)
{
	(void)state;
	assert_int_equal(filter_extend(0x1ff, 1, false), 0xff);
	assert_int_equal(filter_extend(0x1ff, 1, true), UINT64_MAX);
	assert_int_equal(filter_extend(0x17f, 1, true), 0x7f);
	assert_int_equal(filter_extend(0x18000, 2, true), 0xffffffffffff8000);
	assert_int_equal(filter_extend(0x180000000, 4, false), 0x80000000);
	assert_int_equal(filter_extend(UINT64_MAX, 8, false), UINT64_MAX);
	assert_int_equal(filter_extend(1ULL << 63, 8, true), 1ULL << 63);
}

/* On a machine of 12 CPUs; what the kernel accepts was tried on one of 2. */
static void reads_cpu_lists(void **state)
{
	static const struct {
		const char *list;
		int set; /* -1: refused */
	} cases[] = {
		{ "0", 0x001 },	      { "11", 0x800 },	    { "12", -1 },
		{ "0-3", 0x00f },     { "3-0", -1 },	    { "N", 0x800 },
		{ "9-N", 0xe00 },     { "N-N", 0x800 },	    { "all", 0xfff },
		{ "AlL", 0xfff },     { "all:1/2", 0x555 }, { "0-7:2/4", 0x033 },
		{ "0-7:4/4", 0x0ff }, { "0-7:5/4", -1 },    { "0-7:0/4", 0x000 },
		{ "0-7:1/0", -1 },    { "4:1/2", -1 },	    { "0,2,4", 0x015 },
		{ " 0 , 2 ", 0x005 }, { ",,", 0 },	    { "", 0 },
		{ "0 2", 0x005 },     { "0-", -1 },	    { "-1", -1 },
		{ "0x1", -1 },	      { "1;2", -1 },	    { "99999999999", -1 },
		{ "4294967296", -1 }, { "n", -1 },	    { "0-7:/2", -1 },
		{ "0-7:1/", -1 },     { "0-7:1", -1 },	    { "0-1:1/2all", 0xfff },
		{ "0-1:1/2x", -1 },   { "1-2-3", -1 },	    { "0-4294967295", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t set[FILTER_SET_SIZE(12)];
		int got = -1;

		if (filter_cpu_list(cases[i].list, strlen(cases[i].list), 12, set))
			got = set[0] | set[1] << 8;
		if (got != cases[i].set)
			fail_msg("%s: %#x", cases[i].list, got);
	}
}

static void tells_kinds_of_patterns(void **state)
{
	static const struct {
		const char *pattern;
		enum filter_test test;
		const char *text;
		bool negated;
	} cases[] = {
		{ "", FILTER_SAME, "", false },		{ "!", FILTER_SAME, "", true },
		{ "ab", FILTER_SAME, "ab", false },	{ "!ab", FILTER_SAME, "ab", true },
		{ "*", FILTER_SUFFIX, "", false },	{ "**", FILTER_MIDDLE, "", false },
		{ "***", FILTER_GLOB, "***", false },	{ "a*", FILTER_PREFIX, "a", false },
		{ "*a", FILTER_SUFFIX, "a", false },	{ "*a*", FILTER_MIDDLE, "a", false },
		{ "!*a*", FILTER_MIDDLE, "a", true },	{ "a*b", FILTER_GLOB, "a*b", false },
		{ "*a*b", FILTER_GLOB, "*a*b", false }, { "a?", FILTER_GLOB, "a?", false },
		{ "[a]", FILTER_GLOB, "[a]", false },	{ "a]", FILTER_SAME, "a]", false },
		{ "a\\", FILTER_GLOB, "a\\", false },	{ "1*", FILTER_SAME, "1*", false },
		{ "!1*", FILTER_SAME, "1*", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].pattern;
		size_t len = strlen(text);
		bool negated = !cases[i].negated;

		assert_int_equal(filter_pattern(&text, &len, false, &negated), cases[i].test);
		assert_int_equal(negated, cases[i].negated);
		assert_int_equal(len, strlen(cases[i].text));
		assert_memory_equal(text, cases[i].text, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_numbers),
		cmocka_unit_test(cuts_and_extends),
		cmocka_unit_test(reads_cpu_lists),
		cmocka_unit_test(tells_kinds_of_patterns),
	};

	return cmocka_run_group_tests_name("filter_value", tests, NULL, NULL);
}
