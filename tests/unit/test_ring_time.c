/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Ticks as nanoseconds: beside the clock itself, and with clocks that behave badly. */

#include "engine/event/ring_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "arch/detour.h"
#include "arch/host.h"

#define N 20000

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Each reading of the ticks is taken between two of the clock: outside of these it
 * must not be told, but for what the readings themselves may be off by. Interrupted
 * readings are wide, and so are right, too.
 */
static void tells_what_the_clock_told(void **state)
{
	static const enum event_clock clocks[] = { CLOCK_KIND_MONO, CLOCK_KIND_MONO_RAW,
						   CLOCK_KIND_BOOT, CLOCK_KIND_REAL };
	static uint64_t before[N], ticks[N], after[N], off[N];

	(void)state;
	for (size_t c = 0; c < sizeof(clocks) / sizeof(clocks[0]); c++) {
		struct ring_time *time = malloc(sizeof(*time));

		ring_time_init(time, clocks[c], ubp_host_ticks);
		for (size_t i = 0; i < N; i++) {
			before[i] = event_clock_now(clocks[c]);
			ticks[i] = ubp_host_ticks();
			after[i] = event_clock_now(clocks[c]);
			if (i % 1000 == 999)
				(void)ring_time_look(time);
		}
		for (size_t i = 0; i < N; i++) {
			uint64_t ns = ring_time_ns(time, ticks[i]);

			off[i] = ns < before[i]  ? before[i] - ns
				 : ns > after[i] ? ns - after[i]
						 : 0;
			if (i)
				assert_true(ns >= ring_time_ns(time, ticks[i - 1]));
		}
		qsort(off, N, sizeof(*off), compare_words);
		assert_true(off[N * 99 / 100] < 500);
		free(time);
	}
}

/* --- made-up ticks ----------------------------------------------------------------- */

static uint64_t ticks_now;

static uint64_t made_up_ticks(void)
{
	return ticks_now += 10;
}

static struct ring_time line(size_t n)
{
	struct ring_time time = {
		.clock = CLOCK_KIND_MONO, .ticks = made_up_ticks, .ns_per_tick = 0.5, .n = n
	};

	for (size_t i = 0; i < n; i++)
		time.samples[i] = (struct ring_time_sample){ 1000000 + i * 20000000,
							     7000000 + i * 10000000 };
	return time;
}

static void lies_on_the_line_between_two_readings(void **state)
{
	struct ring_time time = line(100);

	(void)state;
	for (uint64_t i = 0; i < 99 * 20000000ULL; i += 777777) {
		uint64_t expected = 7000000 + i / 2;

		assert_true(ring_time_ns(&time, 1000000 + i) - expected + 1 <= 2);
	}
}

static void ticks_that_cannot_be_are_put_near_the_readings(void **state)
{
	static const uint64_t ticks[] = { 0,          1,
					  999999,     1000000 + 99 * 20000000ULL,
					  1ULL << 40, 1ULL << 62,
					  1ULL << 63, UINT64_MAX - 1,
					  UINT64_MAX };
	struct ring_time time = line(100);
	uint64_t first = time.samples[0].ns, last = time.samples[99].ns;

	(void)state;
	time.samples[0].ns = first += 2000000000; /* no wrap below zero */
	for (size_t i = 0; i < 100; i++)
		time.samples[i].ns += i ? 2000000000 : 0;
	last += 2000000000;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		uint64_t ns = ring_time_ns(&time, ticks[i]);

		assert_true(ns >= first - 1000000000 && ns <= last + 1000000000);
	}
}

static void a_clock_that_was_set_makes_no_slope(void **state)
{
	struct ring_time time = line(4);

	(void)state;
	/* Set back by an hour between the second and the third reading. */
	time.samples[2].ns += 1000000000ULL * 3600;
	time.samples[3].ns += 1000000000ULL * 3600;
	for (uint64_t i = 0; i < 20000000; i += 12345) {
		uint64_t ticks = time.samples[1].ticks + 1 + i;
		uint64_t expected = time.samples[2].ns - (time.samples[2].ticks - ticks) / 2;

		if (ticks < time.samples[2].ticks)
			assert_true(ring_time_ns(&time, ticks) - expected + 1 <= 2);
	}
	assert_true(ring_time_ns(&time, time.samples[0].ticks + 10000000) ==
		    time.samples[0].ns + 5000000);
}

/* What is told does not depend on what was asked before, nor on readings that are not kept any more. */
static void tells_the_same_in_any_order(void **state)
{
	struct ring_time time = line(100), fresh;
	uint64_t at = 1;

	(void)state;
	for (size_t i = 0; i < 100; i++) /* a slope of its own between each two */
		time.samples[i].ns += i * i * 300;
	for (int i = 0; i < 20000; i++) {
		at = at * 6364136223846793005ULL + 1442695040888963407ULL;
		fresh = time;
		fresh.line.ticks = 0;
		assert_int_equal(ring_time_ns(&time, (at >> 33) % 2000000000),
				 ring_time_ns(&fresh, (at >> 33) % 2000000000));
	}
	/* The last reading only stood for now, and another takes its place. */
	time = line(2);
	time.samples[1] = (struct ring_time_sample){ 1001000, event_clock_now(time.clock) };
	time.samples[0].ns = time.samples[1].ns - 1000;
	ticks_now = 1002000;
	(void)ring_time_ns(&time, 1000500);
	(void)ring_time_look(&time);
	assert_int_equal(time.n, 2);
	fresh = time;
	fresh.line.ticks = 0;
	assert_int_equal(ring_time_ns(&time, 1000500), ring_time_ns(&fresh, 1000500));
}

/* Many more looks than readings are kept, by a clock of the machine. */
static void keeps_few_of_many_readings(void **state)
{
	struct ring_time *time = malloc(sizeof(*time));

	(void)state;
	ring_time_init(time, CLOCK_KIND_MONO, ubp_host_ticks);
	for (int i = 0; i < 100000; i++) {
		(void)ring_time_look(time);
		assert_true(time->n >= 2 && time->n <= RING_TIME_SAMPLES);
	}
	for (size_t i = 1; i < time->n; i++) {
		assert_true(time->samples[i].ticks > time->samples[i - 1].ticks);
		assert_true(time->samples[i].ns >= time->samples[i - 1].ns);
	}
	/* When it is full, every second one stays. */
	for (struct ring_time_sample *last; time->n < RING_TIME_SAMPLES; time->n++) {
		last = &time->samples[time->n - 1];
		last[1] = (struct ring_time_sample){ last->ticks + 30000000,
						     last->ns + 10000000 };
	}
	(void)ring_time_look(time);
	assert_int_equal(time->n, RING_TIME_SAMPLES / 2 + 1);
	free(time);
}

/* A span of ticks between two readings of the clock, and one around two. */
static void measures_how_long_something_took(void **state)
{
	uint64_t factor, first, second, third, last, ns;
	struct ring_rate rate;

	(void)state;
	ring_rate_init(&rate, ubp_host_ticks);
	factor = ring_rate_factor(&rate);
	first = ubp_host_ticks();
	second = event_clock_now(CLOCK_KIND_MONO);
	do
		third = event_clock_now(CLOCK_KIND_MONO);
	while (third - second < 20000000);
	last = ubp_host_ticks();
	ns = third - second;
	assert_true(detour_ns(last - first, factor) >= ns - ns / 1000);
	first = event_clock_now(CLOCK_KIND_MONO);
	second = ubp_host_ticks();
	third = ubp_host_ticks();
	last = event_clock_now(CLOCK_KIND_MONO);
	ns = last - first;
	assert_true(detour_ns(third - second, factor) <= ns + ns / 1000);
	/* Later it is known better; not another one. */
	assert_in_range(ring_rate_factor(&rate), factor - factor / 1000,
			factor + factor / 1000);
}

static uint64_t stopped_ticks(void)
{
	return 5;
}

static void ticks_that_stand_still_measure_nothing(void **state)
{
	struct ring_rate rate;

	(void)state;
	ring_rate_init(&rate, stopped_ticks);
	assert_int_equal(0, ring_rate_factor(&rate));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_the_clock_told),
		cmocka_unit_test(lies_on_the_line_between_two_readings),
		cmocka_unit_test(ticks_that_cannot_be_are_put_near_the_readings),
		cmocka_unit_test(a_clock_that_was_set_makes_no_slope),
		cmocka_unit_test(tells_the_same_in_any_order),
		cmocka_unit_test(keeps_few_of_many_readings),
		cmocka_unit_test(measures_how_long_something_took),
		cmocka_unit_test(ticks_that_stand_still_measure_nothing),
	};

	return cmocka_run_group_tests_name("ring_time", tests, NULL, NULL);
}
