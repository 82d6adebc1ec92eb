/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which places cost too much: engine/session/budget_pick.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine/session/budget_pick.h"

#define SECOND UINT64_C(1000000000)

/* A place by what it had in a second, in which a stop takes 100 us. */
struct given {
	double stops, jumped, lost;
	bool was_fast;
	enum taken_out out; /* expected */
	bool is_fast;       /* expected */
};

#define GIVEN_MAX 5

struct row {
	const char *what;
	struct budget_limits limits;
	bool was_over, is_over; /* before; expected behind it */
	struct given v[GIVEN_MAX];
};

static const struct row rows[] = {
	{ "no limits: nothing goes",
	  { 0, 0 },
	  true,
	  false,
	  { { .stops = 100000, .jumped = 1e8 } } },
	{ "over the rate for the first time",
	  { 1000, 0 },
	  false,
	  false,
	  { { .stops = 1001, .is_fast = true } } },
	{ "... and again",
	  { 1000, 0 },
	  false,
	  false,
	  { { .stops = 1001, .was_fast = true, .out = TAKEN_OUT_RATE, .is_fast = true } } },
	{ "the rate itself is not too much",
	  { 1000, 0 },
	  false,
	  false,
	  { { .stops = 1000, .was_fast = true } } },
	{ "hits at stops, by jumps and lost ones are one rate; each place has its own",
	  { 1000, 0 },
	  false,
	  false,
	  { { .stops = 400,
	      .jumped = 400,
	      .lost = 400,
	      .was_fast = true,
	      .out = TAKEN_OUT_RATE,
	      .is_fast = true },
	    { .stops = 900, .was_fast = true },
	    { .jumped = 900, .was_fast = true },
	    { .lost = 1e9, .was_fast = true, .out = TAKEN_OUT_RATE, .is_fast = true } } },
	{ "the greatest rate is over none",
	  { UINT64_MAX, 100 },
	  true,
	  false,
	  { { .stops = 1000, .jumped = 1e7, .lost = 1e6, .was_fast = true } } },
	{ "all together are over the percentage for the first time",
	  { 0, 10 },
	  false,
	  true,
	  { { .stops = 20000 } } },
	{ "... and again: what costs most goes, the rest fits",
	  { 0, 10 },
	  true,
	  true,
	  { { .stops = 900 }, { .stops = 5000, .out = TAKEN_OUT_OVERHEAD }, { .stops = 50 } } },
	{ "as many as it takes",
	  { 0, 10 },
	  true,
	  true,
	  { { .stops = 900 },
	    { .stops = 5000, .out = TAKEN_OUT_OVERHEAD },
	    { .stops = 8000, .out = TAKEN_OUT_OVERHEAD },
	    { .stops = 50 } } },
	/* 9 % by jumps, 8 % by stops. */
	{ "a hot stop goes before a jump that costs more",
	  { 0, 10 },
	  true,
	  true,
	  { { .jumped = 3e6 }, { .stops = 800, .out = TAKEN_OUT_OVERHEAD } } },
	/* 30 % by jumps. */
	{ "but not in vain: what fits when the jump is out stays",
	  { 0, 10 },
	  true,
	  true,
	  { { .jumped = 1e7, .out = TAKEN_OUT_OVERHEAD },
	    { .stops = 800 },
	    { .stops = 3 },
	    { .stops = 10 } } },
	{ "jumps alone: what costs most",
	  { 0, 10 },
	  true,
	  true,
	  { { .jumped = 2e6 },
	    { .jumped = 5e6, .out = TAKEN_OUT_OVERHEAD },
	    { .jumped = 1e6 } } },
	{ "hits that are not recorded cost little",
	  { 0, 10 },
	  true,
	  false,
	  { { .jumped = 1e6, .lost = 1e7 } } },
	{ "what goes for its rate costs nothing any more",
	  { 1000, 10 },
	  true,
	  false,
	  { { .stops = 20000, .was_fast = true, .out = TAKEN_OUT_RATE, .is_fast = true },
	    { .stops = 900 } } },
	{ "what may go for its rate at the next look still costs",
	  { 1000, 10 },
	  true,
	  true,
	  { { .stops = 20000, .out = TAKEN_OUT_OVERHEAD, .is_fast = true },
	    { .stops = 900 } } },
	{ "more than one CPU", { 0, 100 }, true, false, { { .stops = 9999 } } },
	{ "a stop that costs nothing by itself, beside much",
	  { 0, 1 },
	  true,
	  true,
	  { { .stops = 1 }, { .jumped = 1e9, .out = TAKEN_OUT_OVERHEAD } } },
};

static struct uprobe probes[GIVEN_MAX];

static size_t fill(const struct row *row, struct budget_place *places)
{
	size_t n = 0;

	for (; n < GIVEN_MAX && row->v[n].stops + row->v[n].jumped + row->v[n].lost > 0; n++) {
		const struct given *g = &row->v[n];
		const struct budget_counts counts = { .at_stops = g->stops,
						      .stops = g->stops,
						      .jumped = g->jumped,
						      .lost = g->lost };

		places[n] =
			(struct budget_place){ .probe = &probes[n], .was_fast = g->was_fast };
		budget_cost(&places[n], &counts, PROBE_ENTRY, 100000, SECOND);
	}
	return n;
}

static void check(const struct row *row)
{
	struct budget_place places[GIVEN_MAX];
	size_t n = fill(row, places);
	bool was_over = row->was_over;

	(void)budget_pick(places, n, &row->limits, &was_over);
	if (was_over != row->is_over)
		fail_msg("%s: over: %d", row->what, was_over);
	for (size_t i = 0; i < n; i++) {
		size_t given = (size_t)(places[i].probe - probes);

		if (places[i].out != row->v[given].out ||
		    places[i].is_fast != row->v[given].is_fast)
			fail_msg("%s: place %zu: out %d, fast %d", row->what, given,
				 (int)places[i].out, places[i].is_fast);
	}
}

static void picks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

/* The same in half the time is twice the rate and twice the share. */
static void costs(void **state)
{
	const struct budget_counts counts = { .stops = 50, .at_stops = 50, .dropped = 1e6 };
	struct budget_place one = { 0 }, half = { 0 };

	(void)state;
	budget_cost(&one, &counts, PROBE_ENTRY, 10000, SECOND);
	budget_cost(&half, &counts, PROBE_ENTRY, 10000, SECOND / 2);
	assert_true(one.rate > 1000049 && one.rate < 1000051);
	assert_true(one.stop_rate > 49.9 && one.stop_rate < 50.1);
	assert_true(one.share > 0.0049 && one.share < 0.0061);
	assert_true(half.rate > 2 * one.rate - 1 && half.rate < 2 * one.rate + 1);
	assert_true(half.share > 1.99 * one.share && half.share < 2.01 * one.share);
}

/* A return is dearer than an entry, a stop than both. */
static void kinds(void **state)
{
	const struct budget_counts jumped = { .jumped = 1000 };
	const struct budget_counts stopped = { .at_stops = 1000, .stops = 1000 };
	struct budget_place entry = { 0 }, ret = { 0 }, stop = { 0 };

	(void)state;
	budget_cost(&entry, &jumped, PROBE_ENTRY, 5000, SECOND);
	budget_cost(&ret, &jumped, PROBE_RETURN, 5000, SECOND);
	budget_cost(&stop, &stopped, PROBE_ENTRY, 5000, SECOND);
	assert_true(entry.share > 0 && entry.share < ret.share && ret.share < stop.share);
	assert_true(entry.by_stops == 0 && stop.by_stops == stop.share);
}

/* Nothing was hit, or there is nothing. */
static void nothing(void **state)
{
	const struct budget_limits limits = { 1, 1 };
	struct budget_place places[1];
	bool was_over = true;

	(void)state;
	assert_true(budget_pick(places, 0, &limits, &was_over) == 0);
	assert_false(was_over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(picks),
		cmocka_unit_test(costs),
		cmocka_unit_test(kinds),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
