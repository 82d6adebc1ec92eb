/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What others keep with an object (engine/base/annex.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/annex.h"

#define KINDS 5

static int freed[2 * KINDS], n_freed;

static void note_freed(void *kept)
{
	freed[n_freed++] = *(int *)kept;
}

static void is_one_of_a_kind_and_freed_backwards(void **state)
{
	static const struct annex_kind kinds[KINDS] = {
		{ note_freed }, { note_freed }, { note_freed }, { note_freed }, { note_freed }
	};
	static int kept[KINDS + 1] = { 0, 1, 2, 3, 4, 5 };
	struct annexes annexes = { 0 };

	(void)state;
	for (int i = 0; i < KINDS; i++) {
		assert_null(annex_get(&annexes, &kinds[i]));
		assert_int_equal(annex_put(&annexes, &kinds[i], &kept[i]), 0);
	}
	for (int i = 0; i < KINDS; i++)
		assert_ptr_equal(annex_get(&annexes, &kinds[i]), &kept[i]);
	assert_int_equal(n_freed, 0);
	assert_int_equal(annex_put(&annexes, &kinds[1], &kept[KINDS]), 0);
	assert_ptr_equal(annex_get(&annexes, &kinds[1]), &kept[KINDS]);
	assert_int_equal(n_freed, 1);
	assert_int_equal(freed[0], 1);
	annexes_free(&annexes);
	assert_int_equal(n_freed, 1 + KINDS);
	for (int i = 0; i < KINDS; i++)
		assert_int_equal(freed[KINDS - i], i == 1 ? KINDS : i);
	assert_null(annex_get(&annexes, &kinds[0]));
	annexes_free(&annexes);
	assert_int_equal(n_freed, 1 + KINDS);
}

static void is_made_once(void **state)
{
	static const struct annex_kind kind = { free };
	struct annexes annexes = { 0 };
	int *kept = annex_make(&annexes, &kind, sizeof(*kept));

	(void)state;
	assert_non_null(kept);
	assert_int_equal(*kept, 0);
	assert_ptr_equal(annex_get(&annexes, &kind), kept);
	assert_ptr_equal(annex_make(&annexes, &kind, sizeof(*kept)), kept);
	annexes_free(&annexes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_one_of_a_kind_and_freed_backwards),
		cmocka_unit_test(is_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
