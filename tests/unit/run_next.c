/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/run_next.h"

#include <stdlib.h>

uint64_t run_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned slower(void)
{
	const char *times = getenv("UBP_SLOWER");
	unsigned n = times ? (unsigned)strtoul(times, NULL, 10) : 1;

	return n ? n : 1;
}

unsigned run_rounds(unsigned n)
{
	return n / slower();
}

unsigned run_step(unsigned step)
{
	return step * slower();
}
