/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The hash map against a plain array, through random operations. */

#include "engine/base/map.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEYS 500

/* Keys that collide: stack slots lie 8 bytes apart, mappings whole pages. */
static uint64_t key_of(unsigned i)
{
	return i % 2 ? 0x7fffffff0000ULL + 8ULL * i : 0x1000ULL * i;
}

static void check_all(const struct map *map, void *const *want)
{
	size_t pos = 0, n = 0, expected = 0;
	uint64_t key;
	void *value;

	for (unsigned i = 0; i < KEYS; i++) {
		assert_ptr_equal(want[i], map_get(map, key_of(i)));
		expected += want[i] != NULL;
	}
	while (map_next(map, &pos, &key, &value)) {
		assert_ptr_equal(value, map_get(map, key));
		n++;
	}
	assert_int_equal(expected, n);
	assert_int_equal(expected, map->n);
}

static void random_operations(void **state)
{
	struct map map = { 0 };
	void *want[KEYS] = { 0 };
	static char values[KEYS];

	(void)state;
	srand(1);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (unsigned)rand() % KEYS;

		if (rand() % 2) {
			want[i] = &values[rand() % KEYS];
			assert_int_equal(0, map_put(&map, key_of(i), want[i]));
		} else {
			assert_ptr_equal(want[i], map_remove(&map, key_of(i)));
			want[i] = NULL;
		}
		if (step % 500 == 0)
			check_all(&map, want);
	}
	check_all(&map, want);
	map_free(&map);
}

static void empty(void **state)
{
	struct map map = { 0 };
	size_t pos = 0;

	(void)state;
	assert_null(map_get(&map, 0));
	assert_null(map_remove(&map, 5));
	assert_false(map_next(&map, &pos, NULL, NULL));
	assert_int_equal(0, map_put(&map, 0, &map));
	assert_ptr_equal(&map, map_get(&map, 0));
	map_free(&map);
	assert_null(map_get(&map, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
