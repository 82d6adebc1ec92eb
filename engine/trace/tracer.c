/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/tracer.h"

#include <errno.h>

#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/trace/waker.h"

bool tracer_is_cancelled(const struct tracer *tracer)
{
	return tracer->cancelled && __atomic_load_n(tracer->cancelled, __ATOMIC_RELAXED);
}

int tracer_give_up(struct ubp_err *err)
{
	return ubp_fail(err, EINTR, "ended before all probes were planted");
}

bool tracer_has(const struct tracer *tracer, const struct tracee *t, pid_t tid)
{
	return map_get(&tracer->tracees, (uint64_t)tid) == t;
}

void tracer_end_turn(struct tracer *tracer)
{
	__atomic_store_n(&tracer->mailed, 1, __ATOMIC_RELEASE);
}

void tracer_wake(struct tracer *tracer)
{
	__atomic_store_n(&tracer->mailed, 1, __ATOMIC_RELEASE);
	waker_ring(tracer->waker);
}

void tracer_stop_begin(struct tracer *tracer)
{
	if (tracer->stops.depth++ == 0)
		tracer->stops.since_ns = event_clock_now(CLOCK_KIND_MONO);
}

void tracer_stop_end(struct tracer *tracer)
{
	struct tracer_stops *s = &tracer->stops;
	uint64_t ns;

	if (--s->depth)
		return;
	ns = event_clock_now(CLOCK_KIND_MONO) - s->since_ns;
	__atomic_store_n(&s->total_ns, s->total_ns + ns, __ATOMIC_RELAXED);
	if (ns > s->longest_ns)
		__atomic_store_n(&s->longest_ns, ns, __ATOMIC_RELAXED);
}
