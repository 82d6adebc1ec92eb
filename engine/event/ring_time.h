/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Ticks of the processor as nanoseconds of a clock. Both are read together from time to
 * time; what lies between two readings is interpolated, so that neither the processor's
 * rate nor the clock's corrections need to be known.
 */

#ifndef UBP_EVENT_RING_TIME_H
#define UBP_EVENT_RING_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "engine/event/clock.h"

#define RING_TIME_SAMPLES 1024

struct ring_time_sample {
	uint64_t ticks, ns;
};

/* Between two readings. Records come in the order of their times: the next one is mostly there, too. */
struct ring_time_line {
	struct ring_time_sample begin;
	uint64_t ticks; /* so many, from the first reading to the second; 0: no line */
	double ns_per_tick;
};

struct ring_time {
	enum event_clock clock;
	uint64_t (*ticks)(void);
	double ns_per_tick;         /* as last measured; 0: not yet */
	struct ring_time_line line; /* what was told last was there */
	size_t n;
	struct ring_time_sample samples[RING_TIME_SAMPLES];
};

void ring_time_init(struct ring_time *time, enum event_clock clock, uint64_t (*ticks)(void));
/* Read both. Returns the clock: ticks up to now can be told to the nanosecond or so. */
uint64_t ring_time_look(struct ring_time *time);
/* Ticks at the last reading. */
static inline uint64_t ring_time_last(const struct ring_time *time)
{
	return time->samples[time->n - 1].ticks;
}
/* Any ticks at all: what can't be is put at the first or last reading. */
uint64_t ring_time_ns(struct ring_time *time, uint64_t ticks);

/* How many nanoseconds of CLOCK_KIND_MONO a tick has been since the beginning. Any thread may ask. */
struct ring_rate {
	uint64_t (*ticks)(void);
	struct ring_time_sample first;
};

void ring_rate_init(struct ring_rate *rate, uint64_t (*ticks)(void));
/*
 * For detour_ns(), good to a few millionths, and better as time goes by. It takes that time if
 * asked right at the beginning, 2 ms. 0: the ticks stand still.
 */
uint64_t ring_rate_factor(const struct ring_rate *rate);

#endif
