/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Times of events as people want them: their digits, and their columns. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/sink/stamp.h"

#define S 1000000000ull

static void expect(struct sink_stamps *stamps, uint64_t time_ns, const char *text)
{
	sink_stamps_next(stamps, time_ns);
	assert_int_equal(stamps->len, strlen(text));
	assert_memory_equal(stamps->text, text, stamps->len);
}

/* Up to five digits in front of the point the columns behind it stay where they are. */
static void tells_how_long_it_is(void **state)
{
	struct sink_stamps since = { .kind = SINK_TIME_RELATIVE };
	struct sink_stamps delta = { .kind = SINK_TIME_DELTA };

	(void)state;
	expect(&since, 7 * S, "    0.000000: ");
	expect(&since, 7 * S + 1499, "    0.000001: ");
	expect(&since, 17 * S - 1000, "    9.999999: ");
	expect(&since, 17 * S, "   10.000000: ");
	expect(&since, 10006 * S, " 9999.000000: ");
	expect(&since, 100006 * S + 999999000, "99999.999999: ");
	expect(&since, 100007 * S, "100000.000000: ");
	/* One from before is the first now. */
	expect(&since, 6 * S, "    0.000000: ");
	expect(&since, 7 * S, "    1.000000: ");
	expect(&delta, 7 * S, "    0.000000: ");
	expect(&delta, 8 * S + 1000, "    1.000001: ");
	expect(&delta, 8 * S, "   -0.000001: ");
}

static void tells_the_time_of_day(void **state)
{
	struct sink_stamps stamps = { .kind = SINK_TIME_CLOCK, .to_real = 1700000000 * S };
	struct sink_stamps none = { .kind = SINK_TIME_NONE };

	(void)state;
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
	expect(&stamps, 6399 * S + 999999000, "23:59:59.999999: ");
	expect(&stamps, 6400 * S, "00:00:00.000000: ");
	expect(&stamps, 6400 * S + 1000, "00:00:00.000001: ");
	expect(&none, 5 * S, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_how_long_it_is),
		cmocka_unit_test(tells_the_time_of_day),
	};

	return cmocka_run_group_tests_name("sink_stamp", tests, NULL, NULL);
}
