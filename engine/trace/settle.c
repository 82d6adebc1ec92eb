/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The second stops of threads that were let go behind remote calls. */

#include "engine/base/again.h"
#include "engine/event/clock.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/ids.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

/* One pass. False: there is none, or none any more. */
static bool look_at_second_stops(struct tracer *tracer)
{
	struct tracee *t;
	struct stop stop;
	bool any = false;
	size_t n;
	pid_t *tids = tracer_tids(tracer, &n);

	for (size_t i = 0; tids && i < n; i++) {
		t = map_get(&tracer->tracees, (uint64_t)tids[i]);
		if (!t || !t->remote.stops_again || t->held)
			continue;
		any = true;
		if (wait_look(tids[i], &stop) == 1)
			tracer_dispatch(tracer, &stop);
	}
	ids_give(tracer, tids);
	return any;
}

void tracer_settle(struct tracer *tracer, unsigned limit_ms)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), spin = 0;

	while (look_at_second_stops(tracer) && !again_is_hopeless() &&
	       event_clock_now(CLOCK_KIND_MONO) - begun < limit_ms * 1000000ULL)
		wait_a_little(&spin);
}
