/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/ring_time.h"

#include <stdbool.h>

#include "arch/detour.h"

#define TRIES      6
#define SPACING_NS 5000000 /* readings that are kept are that far apart at least */
#define RATE_NS    100000  /* a rate is believed if measured over that time */
#define BEYOND_NS  1000000000.0
#define SPAN_NS                                                                                \
	2000000.0 /* code in the target, which cannot ask again, believes one over that time */

/* The clock is read between two readings of the ticks: of several, the tightest. */
static struct ring_time_sample take_sample(enum event_clock clock, uint64_t (*ticks)(void))
{
	struct ring_time_sample best = { 0 };
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = ticks();
		uint64_t ns = event_clock_now(clock);
		uint64_t after = ticks();

		if (after - before >= width)
			continue;
		width = after - before;
		best = (struct ring_time_sample){ before + width / 2, ns };
	}
	return best;
}

static double ticks_between(const struct ring_time_sample *a, const struct ring_time_sample *b)
{
	return (double)(int64_t)(b->ticks - a->ticks);
}

static double ns_between(const struct ring_time_sample *a, const struct ring_time_sample *b)
{
	return (double)(int64_t)(b->ns - a->ns);
}

/* Was the clock set in between? Then there is no line through the two. */
static bool is_jump(const struct ring_time *time, const struct ring_time_sample *a,
		    const struct ring_time_sample *b)
{
	double expected = ticks_between(a, b) * time->ns_per_tick;
	double off = ns_between(a, b) - expected;

	return ticks_between(a, b) <= 0 ||
	       (time->ns_per_tick > 0 &&
		(off > expected / 100 + 2000 || off < -expected / 100 - 2000));
}

/* Every second one goes: what is long ago can be told by fewer. */
static void thin_out(struct ring_time *time)
{
	size_t n = 0;

	for (size_t i = 0; i < time->n; i += 2)
		time->samples[n++] = time->samples[i];
	time->n = n;
}

static void learn_rate(struct ring_time *time, const struct ring_time_sample *a,
		       const struct ring_time_sample *b)
{
	double ns = ns_between(a, b);

	if (ns >= RATE_NS && ticks_between(a, b) > 0 && !is_jump(time, a, b))
		time->ns_per_tick = ns / ticks_between(a, b);
}

void ring_time_init(struct ring_time *time, enum event_clock clock, uint64_t (*ticks)(void))
{
	time->clock = clock;
	time->ticks = ticks;
	time->ns_per_tick = 0;
	time->line.ticks = 0;
	time->samples[0] = take_sample(time->clock, time->ticks);
	time->n = 1;
}

uint64_t ring_time_look(struct ring_time *time)
{
	struct ring_time_sample now = take_sample(time->clock, time->ticks);
	struct ring_time_sample *last = &time->samples[time->n - 1];

	time->line.ticks = 0;
	/* The last one only stands for now, unless it is far enough from the one before. */
	if (time->n > 1 && ns_between(last - 1, last) < SPACING_NS &&
	    ns_between(last - 1, last) >= 0) {
		*last = now;
	} else {
		if (time->n == RING_TIME_SAMPLES)
			thin_out(time);
		time->samples[time->n++] = now;
	}
	last = &time->samples[time->n - 1];
	learn_rate(time, last - 1, last);
	return now.ns;
}

/* The last sample that is not after @ticks; not the very last of all. */
static size_t find_sample(const struct ring_time *time, uint64_t ticks)
{
	size_t low = 0, high = time->n - 1;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (time->samples[mid].ticks <= ticks)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* From a sample on, or back from it. */
static uint64_t from(const struct ring_time *time, const struct ring_time_sample *at,
		     uint64_t ticks)
{
	double ns = (double)(int64_t)(ticks - at->ticks) * time->ns_per_tick;

	if (ns > BEYOND_NS)
		ns = BEYOND_NS;
	if (ns < -BEYOND_NS)
		ns = -BEYOND_NS;
	return at->ns + (uint64_t)(int64_t)ns;
}

static uint64_t on_line(const struct ring_time_line *line, uint64_t ticks)
{
	return line->begin.ns +
	       (uint64_t)((double)(ticks - line->begin.ticks) * line->ns_per_tick);
}

static uint64_t look_up(struct ring_time *time, uint64_t ticks)
{
	const struct ring_time_sample *first = &time->samples[0];
	const struct ring_time_sample *last = &time->samples[time->n - 1];
	const struct ring_time_sample *a, *b;

	if (time->n == 1 || ticks >= last->ticks)
		return from(time, last, ticks);
	if (ticks <= first->ticks)
		return from(time, first, ticks);
	a = &time->samples[find_sample(time, ticks)];
	b = a + 1;
	if (is_jump(time, a, b))
		return from(time, b, ticks);
	time->line = (struct ring_time_line){ *a, b->ticks - a->ticks,
					      ns_between(a, b) / ticks_between(a, b) };
	return on_line(&time->line, ticks);
}

uint64_t ring_time_ns(struct ring_time *time, uint64_t ticks)
{
	if (ticks - time->line.begin.ticks < time->line.ticks)
		return on_line(&time->line, ticks);
	return look_up(time, ticks);
}

/* --- how long something took ---------------------------------------------------------- */

void ring_rate_init(struct ring_rate *rate, uint64_t (*ticks)(void))
{
	rate->ticks = ticks;
	rate->first = take_sample(CLOCK_KIND_MONO, ticks);
}

uint64_t ring_rate_factor(const struct ring_rate *rate)
{
	struct ring_time_sample now;

	/* It is made long before somebody asks, as a rule. */
	do
		now = take_sample(CLOCK_KIND_MONO, rate->ticks);
	while (ns_between(&rate->first, &now) < SPAN_NS);
	if (ticks_between(&rate->first, &now) <= 0)
		return 0;
	return (uint64_t)(ns_between(&rate->first, &now) / ticks_between(&rate->first, &now) *
			  (double)(1ULL << UBP_TICKS_SHIFT));
}
