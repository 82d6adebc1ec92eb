/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How fast the time stamp counter is, in kHz: what an emulated machine would guess. */

#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct pair {
	unsigned long long tsc, ns;
};

/* Both at once: the closest of many tries. */
static struct pair now(void)
{
	struct pair best = { 0 };
	unsigned long long least = ~0ULL;

	for (int i = 0; i < 200; i++) {
		unsigned long long before = __rdtsc(), after;
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		after = __rdtsc();
		if (after - before < least) {
			least = after - before;
			best.tsc = before + least / 2;
			best.ns = (unsigned long long)t.tv_sec * 1000000000 +
				  (unsigned long long)t.tv_nsec;
		}
	}
	return best;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 300000000 };
	struct pair a = now(), b;

	nanosleep(&pause, NULL);
	b = now();
	printf("%.0f\n", (double)(b.tsc - a.tsc) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}
