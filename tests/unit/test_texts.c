/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Texts by number: each once, whatever bytes it has, however many there are. */

#include "engine/base/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY 20000

static void each_once(void **state)
{
	struct texts texts = { 0 };
	char text[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MANY; i++) {
			int len = snprintf(text, sizeof(text), "main;f%d", i * 7919);

			assert_int_equal(texts_number(&texts, text, (size_t)len), i);
		}
	}
	assert_int_equal(texts.n, MANY);
	assert_string_equal(texts_get(&texts, 2), "main;f15838");
	assert_null(texts_get(&texts, MANY));
	texts_free(&texts);
	assert_null(texts_get(&texts, 0));
}

/* Length counts, not a NUL. */
static void any_bytes(void **state)
{
	struct texts texts = { 0 };

	(void)state;
	assert_int_equal(texts_number(&texts, "", 0), 0);
	assert_int_equal(texts_number(&texts, "a\0b", 3), 1);
	assert_int_equal(texts_number(&texts, "a\0c", 3), 2);
	assert_int_equal(texts_number(&texts, "a", 1), 3);
	assert_int_equal(texts_number(&texts, "a\0b", 3), 1);
	assert_int_equal(texts_number(&texts, "", 0), 0);
	assert_memory_equal(texts_get(&texts, 2), "a\0c", 4);
	texts_free(&texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
