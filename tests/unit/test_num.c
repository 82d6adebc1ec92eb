/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers as the kernel reads them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "engine/base/num.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *text;
	int base;
	int rc;
	uint64_t value;
} unsigned_cases[] = {
	{ "0", 0, 0, 0 },
	{ "8", 0, 0, 8 },
	{ "+8", 0, 0, 8 },
	{ "0x1f", 0, 0, 31 },
	{ "0XfF", 0, 0, 255 },
	{ "+0x10", 0, 0, 16 },
	{ "017", 0, 0, 15 },
	{ "0000000000000000000000000000000000000017", 0, 0, 15 },
	{ "18446744073709551615", 0, 0, UINT64_MAX },
	{ "0xffffffffffffffff", 0, 0, UINT64_MAX },
	{ "01777777777777777777777", 0, 0, UINT64_MAX },
	{ "007", 10, 0, 7 },
	{ "089", 10, 0, 89 },
	{ "", 0, -EINVAL, 0 },
	{ "+", 0, -EINVAL, 0 },
	{ "++8", 0, -EINVAL, 0 },
	{ "-8", 0, -EINVAL, 0 },
	{ "+-8", 0, -EINVAL, 0 },
	{ "08", 0, -EINVAL, 0 },
	{ "0x", 0, -EINVAL, 0 },
	{ "0xg", 0, -EINVAL, 0 },
	{ "0b1", 0, -EINVAL, 0 },
	{ "1a", 0, -EINVAL, 0 },
	{ " 1", 0, -EINVAL, 0 },
	{ "1 ", 0, -EINVAL, 0 },
	{ "0x10", 10, -EINVAL, 0 },
	{ "18446744073709551616", 0, -ERANGE, 0 },
	{ "18446744073709551616x", 0, -ERANGE, 0 },
	{ "0x10000000000000000", 0, -ERANGE, 0 },
	{ "99999999999999999999999999", 10, -ERANGE, 0 },
};

static void test_unsigned(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(unsigned_cases); i++) {
		const char *text = unsigned_cases[i].text;
		uint64_t value = 4711;
		int rc = num_u64(text, strlen(text), unsigned_cases[i].base, &value);

		if (rc != unsigned_cases[i].rc)
			fail_msg("'%s' gave %d", text, rc);
		assert_int_equal(rc < 0 ? 4711 : unsigned_cases[i].value, value);
	}
}

static const struct {
	const char *text;
	int rc;
	int64_t value;
} signed_cases[] = {
	{ "8", 0, 8 },
	{ "+8", 0, 8 },
	{ "-8", 0, -8 },
	{ "-0", 0, 0 },
	{ "-0x10", 0, -16 },
	{ "9223372036854775807", 0, INT64_MAX },
	{ "-9223372036854775808", 0, INT64_MIN },
	{ "--8", -EINVAL, 0 },
	{ "-+8", -EINVAL, 0 },
	{ "+-8", -EINVAL, 0 },
	{ "-", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "9223372036854775808", -ERANGE, 0 },
	{ "-9223372036854775809", -ERANGE, 0 },
	{ "18446744073709551615", -ERANGE, 0 },
	{ "-18446744073709551615", -ERANGE, 0 },
	{ "-18446744073709551616", -ERANGE, 0 },
};

static void test_signed(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(signed_cases); i++) {
		const char *text = signed_cases[i].text;
		int64_t value = 4711;
		int rc = num_s64(text, strlen(text), &value);

		if (rc != signed_cases[i].rc)
			fail_msg("'%s' gave %d", text, rc);
		assert_int_equal(rc < 0 ? 4711 : signed_cases[i].value, value);
	}
}

static void test_scan(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(2, num_scan("12@3", 4, &value));
	assert_int_equal(12, value);
	assert_int_equal(4, num_scan("0x1f/", 5, &value));
	assert_int_equal(31, value);
	assert_int_equal(1, num_scan("0x/", 3, &value));
	assert_int_equal(0, value);
	assert_int_equal(0, num_scan("+1", 2, &value));
	assert_int_equal(0, num_scan("", 0, &value));
	/* Too many digits wrap around; only what @len covers is read. */
	assert_int_equal(20, num_scan("18446744073709551618", 20, &value));
	assert_int_equal(2, value);
	assert_int_equal(3, num_scan("0x12", 3, &value));
	assert_int_equal(1, value);
	assert_int_equal(1, num_scan("0x12", 2, &value));
	assert_int_equal(0, value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unsigned),
		cmocka_unit_test(test_signed),
		cmocka_unit_test(test_scan),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
