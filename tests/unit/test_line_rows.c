/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rows of line tables are counted before libdw makes them: no fewer than it makes, whatever stands in the table. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/dwarf/line_rows.h"

/* A header for version @v, and what stands between it and the operations. */
static size_t put_header(uint8_t *at, unsigned v, uint32_t len, uint32_t names)
{
	static const uint8_t lengths[12] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	const uint32_t rest = names + 17 + (v >= 4);
	size_t n = 4;

	memset(at, 0, 40);
	at[n] = (uint8_t)v;
	n += v >= 5 ? 4 : 2;
	memcpy(at + n, &rest, 4);
	n += 4;
	at[n] = 1;
	n += v >= 4 ? 5 : 4;
	at[n++] = 13; /* opcode_base */
	memcpy(at + n, lengths, sizeof(lengths));
	n += sizeof(lengths) + names;
	len += (uint32_t)n - 4;
	memcpy(at, &len, 4);
	return n;
}

/* With the operations @op, @n times one after the other. */
static bool are_many(unsigned version, const char *op, size_t op_len, size_t n, uint32_t names)
{
	size_t len = n * op_len, begin;
	uint8_t *table = malloc(64 + names + len);
	bool is;

	assert_non_null(table);
	begin = put_header(table, version, (uint32_t)len, names);
	for (size_t i = 0; i < n; i++)
		memcpy(table + begin + i * op_len, op, op_len);
	is = line_rows_are_many(table, begin + len);
	free(table);
	return is;
}

#define MANY(version, op, n) are_many(version, op, sizeof(op) - 1, n, 0)
#define MAX                  LINE_ROWS_MAX

static void rows_are_counted(void **state)
{
	(void)state;
	for (unsigned version = 2; version <= 5; version++) {
		assert_false(MANY(version, "\x4b", MAX));
		assert_true(MANY(version, "\x4b", MAX + 1));
		assert_false(MANY(version, "\x01", MAX));
		assert_true(MANY(version, "\x01", MAX + 1));
		assert_true(MANY(version, "\x00\x01\x01", MAX + 1)); /* end_sequence */
	}
	/* None of these is a row. */
	assert_false(MANY(4, "\x02\x01\x03\x7f\x06\x0a", MAX));
	assert_false(MANY(4, "\x09\x4b\x4b\x0c\x01", MAX)); /* its operand is two bytes */
	assert_false(MANY(4, "\x00\x09\x02XXXXXXXX\x01", MAX));
	assert_false(MANY(4, "\x00\x02\x04\x05\x4b", MAX)); /* a discriminator */
	assert_false(MANY(4, "\x00\x04\x80KKK\x4b", MAX));  /* not known */
}

/* libdw and we may disagree on what follows: all of that counts. */
static void a_corrupt_table_is_long(void **state)
{
	static const char *const bad[] = { "\x7f\x01", "\x04\x02", "\x80\x01", "\x03\x04\x05" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char op[8] = { 0 };

		memcpy(op + 1, bad[i], strlen(bad[i]));
		assert_true(are_many(4, op, 4, MAX, 0));
		assert_false(are_many(4, op, 4, MAX / 4 - 1, 0));
	}
	assert_true(MANY(4, "\x00", MAX + 1));
	assert_true(MANY(4, "\x00\x06\x03\x61\x00\x00\x00\x00", MAX)); /* a file's name */
}

static void long_headers(void **state)
{
	(void)state;
	assert_true(are_many(4, "\x01", 1, 1, MAX + 1));
	assert_false(are_many(4, "\x01", 1, 1, MAX / 2));
}

/* Each length that a table can be cut to is read to its end at the most: sanitizers look. */
static void cut_off(void **state)
{
	uint8_t table[64 + 24];
	size_t len = put_header(table, 5, 24, 0);

	(void)state;
	memcpy(table + len,
	       "\x00\x09\x02XXXXXXXX\x4b\x09\x01\x01\x02\x80\x80\x80\x80\x80\x01\x00\x02\x04",
	       24);
	for (size_t n = 0; n <= len + 24; n++) {
		uint8_t *cut = malloc(n ? n : 1);

		assert_non_null(cut);
		memcpy(cut, table, n);
		assert_false(line_rows_are_many(cut, n));
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_counted),
		cmocka_unit_test(a_corrupt_table_is_long),
		cmocka_unit_test(long_headers),
		cmocka_unit_test(cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
