/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Sorted arrays: what is found is what a walk over all of them finds. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/search.h"

#define N_MAX 9

struct element {
	char before;
	uint64_t key;
	uint32_t behind;
};

static size_t walk(const struct element *v, size_t n, uint64_t key, int above)
{
	for (size_t i = 0; i < n; i++)
		if (above ? v[i].key > key : v[i].key >= key)
			return i;
	return n;
}

static void compare(const struct element *v, size_t n, uint64_t key)
{
	for (size_t near = 0; near <= N_MAX + 1; near++) {
		size_t last = near;

		assert_int_equal(search_above_near(v, n, key, key, &last), walk(v, n, key, 1));
		assert_int_equal(last, walk(v, n, key, 1));
	}
	assert_int_equal(search_at_least(v, n, key, key), walk(v, n, key, 0));
	assert_int_equal(search_above(v, n, key, key), walk(v, n, key, 1));
}

static void as_a_walk(void **state)
{
	static const uint64_t keys[N_MAX] = { 0, 1, 3, 3, 3, 8, 16, UINT64_MAX, UINT64_MAX };
	struct element v[N_MAX];

	(void)state;
	for (size_t i = 0; i < N_MAX; i++)
		v[i] = (struct element){ .key = keys[i] };
	for (size_t from = 0; from < N_MAX; from++)
		for (size_t n = 0; from + n <= N_MAX; n++) {
			for (uint64_t key = 0; key < 20; key++)
				compare(v + from, n, key);
			compare(v + from, n, UINT64_MAX - 1);
			compare(v + from, n, UINT64_MAX);
		}
}

static void of_none(void **state)
{
	const struct element *v = NULL;
	size_t near = 3;

	(void)state;
	assert_int_equal(search_above_near(v, 0, key, 5, &near), 0);
	assert_int_equal(search_at_least(v, 0, key, 5), 0);
	assert_int_equal(search_above(v, 0, key, 5), 0);
	assert_int_equal(search_above(v, 0, key, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_a_walk),
					    cmocka_unit_test(of_none) };

	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
