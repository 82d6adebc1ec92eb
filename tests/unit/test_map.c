/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The hash map against a plain array, through random operations. */

#include "engine/base/map.h"

#include <errno.h>
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

/* Keys that somebody has chosen: all come to one place, however large the map is. */
static void within(void **state)
{
	uint64_t factor = 0x9e3779b97f4a7c15ULL, inverse = 1;
	struct map map = { 0 };

	(void)state;
	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(0, map_put_within(&map, (i << 41) * inverse, &map, 9));
	assert_int_equal(-ELOOP, map_put_within(&map, (11ULL << 41) * inverse, &map, 9));
	assert_int_equal(0, map_put_within(&map, (10ULL << 41) * inverse, state, 9));
	assert_ptr_equal(state, map_get(&map, (10ULL << 41) * inverse));
	assert_int_equal(0, map_put_within(&map, (11ULL << 41) * inverse, &map, 10));
	assert_int_equal(11, map.n);
	map_free(&map);
}

/* A walk goes by the order in which they came, in a map that has grown and in one that had room. */
static void in_order(void **state)
{
	static char values[KEYS];

	(void)state;
	for (size_t room = 0; room <= KEYS; room += KEYS) {
		struct map map = { 0 };
		size_t pos = 0;
		void *value;

		assert_int_equal(0, map_keep_room(&map, room));
		for (unsigned i = 0; i < KEYS; i++)
			assert_int_equal(0, map_put(&map, key_of(i), &values[i]));
		assert_int_equal(0, map_put(&map, key_of(3), &values[3]));
		for (unsigned i = 0; i < KEYS; i++) {
			assert_true(map_next(&map, &pos, NULL, &value));
			assert_ptr_equal(&values[i], value);
		}
		assert_false(map_next(&map, &pos, NULL, &value));
		/* The last one comes into the place of one that is gone. */
		assert_ptr_equal(&values[0], map_remove(&map, key_of(0)));
		pos = 0;
		assert_true(map_next(&map, &pos, NULL, &value));
		assert_ptr_equal(&values[KEYS - 1], value);
		map_free(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(empty),
		cmocka_unit_test(within),
		cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
