/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The account of what a process costs the others: engine/base/credit.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/base/credit.h"

#define S UINT64_C(1000000000)

static void the_first_second_is_free(void **state)
{
	struct credit credit = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(credit_wait(&credit, 50 * S), 0);
		credit_charge(&credit, S / 10);
	}
	assert_int_not_equal(credit_wait(&credit, 50 * S), 0);
}

static void a_tenth_comes_back(void **state)
{
	struct credit credit = { 0 };
	uint64_t now = 7 * S, wait;

	(void)state;
	assert_int_equal(credit_wait(&credit, now), 0);
	credit_charge(&credit, S + S / 10);
	wait = credit_wait(&credit, now);
	assert_in_range(wait, S, S + 100);
	assert_int_not_equal(credit_wait(&credit, now + wait / 2), 0);
	assert_int_equal(credit_wait(&credit, now + wait), 0);
	/* Whoever rests has all of it again, and not more. */
	assert_int_equal(credit_wait(&credit, now + 1000 * S), 0);
	assert_int_equal(credit.spent_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_second_is_free),
		cmocka_unit_test(a_tenth_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
