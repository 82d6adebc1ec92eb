/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Blocks that live, by stack: random ones of few addresses against a plain table. */

#include "engine/tally/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PIDS   3
#define PLACES 200
#define STACKS 17
#define STEPS  200000

struct model {
	uint64_t bytes;
	unsigned stack;
};

static void check(const struct blocks *blocks, struct model model[PIDS][PLACES],
		  const uint64_t *allocated, const uint64_t *n_allocated)
{
	uint64_t live[STACKS] = { 0 }, n_live[STACKS] = { 0 };

	for (unsigned p = 0; p < PIDS; p++)
		for (unsigned i = 0; i < PLACES; i++) {
			live[model[p][i].stack] += model[p][i].bytes;
			n_live[model[p][i].stack] += model[p][i].bytes != 0;
		}
	for (size_t i = 0; i < blocks_n(blocks); i++) {
		const struct blocks_row *row = blocks_row(blocks, i);

		assert_int_equal(row->live, live[i]);
		assert_int_equal(row->n_live, n_live[i]);
		assert_int_equal(row->allocated, allocated[i]);
		assert_int_equal(row->n_allocated, n_allocated[i]);
	}
}

static void as_a_table(void **state)
{
	static struct model model[PIDS][PLACES];
	uint64_t allocated[STACKS] = { 0 }, n_allocated[STACKS] = { 0 };
	struct blocks *blocks = blocks_new();

	(void)state;
	assert_non_null(blocks);
	srandom(1);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned p = (unsigned)random() % PIDS, i = (unsigned)random() % PLACES,
			 stack = (unsigned)random() % STACKS;
		uint64_t bytes = (uint64_t)random() % 5000 + 1;

		if (random() % 2) {
			blocks_take(blocks, p, 0x1000 + 16 * i);
			model[p][i].bytes = 0;
		} else {
			assert_int_equal(blocks_add(blocks, p, 0x1000 + 16 * i, bytes, stack),
					 0);
			model[p][i] = (struct model){ bytes, stack };
			allocated[stack] += bytes;
			n_allocated[stack]++;
		}
		if (step % 5000 == 0)
			check(blocks, model, allocated, n_allocated);
	}
	check(blocks, model, allocated, n_allocated);
	blocks_free(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_a_table) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
