/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Clocks: names, and that each reading lies between two of the clock it claims to be. */

#include "engine/event/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	assert_int_equal(clock_gettime(id, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void names_are_those_of_trace_clock(void **state)
{
	(void)state;
	assert_int_equal(event_clock_by_name("mono"), CLOCK_KIND_MONO);
	assert_int_equal(event_clock_by_name("mono_raw"), CLOCK_KIND_MONO_RAW);
	assert_int_equal(event_clock_by_name("boot"), CLOCK_KIND_BOOT);
	assert_int_equal(event_clock_by_name("real"), CLOCK_KIND_REAL);
	assert_int_equal(event_clock_by_name("local"), -1);
	assert_int_equal(event_clock_by_name("mon"), -1);
	assert_int_equal(event_clock_by_name(""), -1);
}

static void each_kind_reads_its_clock(void **state)
{
	static const struct {
		enum event_clock kind;
		clockid_t id;
	} clocks[] = {
		{ CLOCK_KIND_MONO, CLOCK_MONOTONIC },
		{ CLOCK_KIND_MONO_RAW, CLOCK_MONOTONIC_RAW },
		{ CLOCK_KIND_BOOT, CLOCK_BOOTTIME },
		{ CLOCK_KIND_REAL, CLOCK_REALTIME },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		uint64_t before = read_clock(clocks[i].id);
		uint64_t now = event_clock_now(clocks[i].kind);
		uint64_t after = read_clock(clocks[i].id);

		assert_true(before <= now);
		assert_true(now <= after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_trace_clock),
		cmocka_unit_test(each_kind_reads_its_clock),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
