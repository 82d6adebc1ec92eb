/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Quantiles are as near to the exact ones as they say, whatever the numbers are. */

#include "engine/sink/quantiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define N 20000

static uint64_t values[N];

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* @values, and what is asked of them. */
static void check(size_t n)
{
	static const double shares[] = { 0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };
	struct quantiles q = { 0 };

	for (size_t i = 0; i < n; i++)
		assert_int_equal(0, quantiles_add(&q, values[i], 1));
	assert_int_equal(n, q.n);
	qsort(values, n, sizeof(values[0]), by_value);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		double rank = shares[i] * (double)n;
		size_t at = (size_t)rank + ((double)(size_t)rank < rank);
		uint64_t exact = values[at ? at - 1 : 0], got = quantiles_get(&q, shares[i]);
		uint64_t off = got > exact ? got - exact : exact - got;

		if ((double)off > (double)exact * QUANTILES_ERROR)
			fail_msg("%g of %zu: %llu, not %llu", shares[i], n,
				 (unsigned long long)got, (unsigned long long)exact);
	}
	quantiles_free(&q);
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

static void all_sizes(void **state)
{
	uint64_t seed = 88172645463325252ULL;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < N; i++)
			values[i] = next(&seed) >> (next(&seed) % 64);
		check(N);
		check(1 + next(&seed) % 50);
	}
}

/* The ends of each range, and beyond. */
static void edges(void **state)
{
	size_t n = 0;

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++)
		for (int i = -1; i < 2; i++)
			values[n++] = (1ULL << bit) + (uint64_t)i;
	values[n++] = UINT64_MAX;
	check(n);
	for (n = 0; n < 64; n++) {
		struct quantiles q = { 0 };

		assert_int_equal(0, quantiles_add(&q, n, 1));
		assert_int_equal(n, quantiles_get(&q, 0.5));
		quantiles_free(&q);
	}
}

static void none(void **state)
{
	struct quantiles q = { 0 };

	(void)state;
	assert_int_equal(0, quantiles_get(&q, 0.5));
	quantiles_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(edges),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests_name("quantiles", tests, NULL, NULL);
}
