/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/clock.h"

#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ULL

static const struct {
	const char *name;
	clockid_t id;
} clocks[] = {
	[CLOCK_KIND_MONO] = { "mono", CLOCK_MONOTONIC },
	[CLOCK_KIND_MONO_RAW] = { "mono_raw", CLOCK_MONOTONIC_RAW },
	[CLOCK_KIND_BOOT] = { "boot", CLOCK_BOOTTIME },
	[CLOCK_KIND_REAL] = { "real", CLOCK_REALTIME },
};

int event_clock_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(clocks[i].name, name) == 0)
			return (int)i;
	return -1;
}

uint64_t event_clock_now(enum event_clock clock)
{
	struct timespec now = { 0 };

	/* Cannot fail: all four clocks are older than any kernel ubp runs on. */
	(void)clock_gettime(clocks[clock].id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
