/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Arrays that grow (engine/base/vec.h). */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/vec.h"

#define N 1000

static void keeps_what_was_there(void **state)
{
	uint32_t *kept = NULL, *doubled = NULL, *fitting = NULL;
	size_t cap = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(VEC_ROOM(kept, &cap, i), 0);
		assert_true(cap > i);
		assert_int_equal(VEC_DOUBLE(doubled, i), 0);
		assert_int_equal(VEC_FIT(fitting, i + 1), 0);
		kept[i] = doubled[i] = fitting[i] = i;
	}
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(kept[i], i);
		assert_int_equal(doubled[i], i);
		assert_int_equal(fitting[i], i);
	}
	free(kept);
	free(doubled);
	free(fitting);
}

static void grows_only_when_full(void **state)
{
	uint64_t *v = NULL, *before;
	size_t cap = 0;

	(void)state;
	assert_int_equal(VEC_ROOM(v, &cap, 0), 0);
	before = v;
	for (size_t n = 1; n < cap; n++)
		assert_int_equal(VEC_ROOM(v, &cap, n), 0);
	assert_ptr_equal(v, before);
	free(v);
}

/* More than there is, and more than can be counted. */
static void stays_without_memory(void **state)
{
	uint64_t first = 1, *v = &first;
	size_t cap = SIZE_MAX / 4;

	(void)state;
	assert_int_equal(VEC_ROOM(v, &cap, cap), -ENOMEM);
	assert_int_equal(cap, SIZE_MAX / 4);
	assert_int_equal(VEC_FIT(v, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(VEC_DOUBLE(v, SIZE_MAX / 2 + 1), -ENOMEM);
	assert_ptr_equal(v, &first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_was_there),
		cmocka_unit_test(grows_only_when_full),
		cmocka_unit_test(stays_without_memory),
	};

	return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
