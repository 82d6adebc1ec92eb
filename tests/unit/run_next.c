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

/* A sanitized test is slower by itself, and the plain one looks at all there is. */
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 3
#else
#define SLOWER 1
#endif

static unsigned slower(void)
{
	const char *times = getenv("UBP_SLOWER");
	unsigned n = (times ? (unsigned)strtoul(times, NULL, 10) : 1) * SLOWER;

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
