/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/wait_loop.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/trace/alone.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/next_stop.h"
#include "engine/trace/reaper.h"
#include "engine/trace/stop_one.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"
#include "engine/trace/waker.h"

int tracer_init(struct tracer *tracer, const struct tracer_ops *ops, void *ctx,
		struct ubp_err *err)
{
	struct stop stop;

	*tracer = (struct tracer){ .ops = ops,
				   .ctx = ctx,
				   .options = TRACER_OPTIONS,
				   .follow = { .cpu = -1, .next_cpu = -1 } };
	tracer->pokes = (struct mem_pokes){ .stop_one = stop_one,
					    .stop_all = stop_all,
					    .tracer = tracer };
	tracer->waker = waker_start(err);
	if (tracer->waker < 0)
		return tracer->waker;
	if (wait_look(tracer->waker, &stop) != -EINVAL) {
		tracer->reaper = reaper_is_needed() ? reaper_start(tracer) : NULL;
		return 0;
	}
	waker_end(tracer->waker);
	tracer->waker = 0;
	return ubp_fail(err, ENOSYS,
			"this kernel is too old: its waitid() cannot look at the stops of "
			"threads (Linux 4.7 can)");
}

int tracer_run(struct tracer *tracer, unsigned max)
{
	struct stop stop;

	for (unsigned i = 0; i < max && !tracer->n_parked; i++) {
		if (!wait_any(tracer, &stop)) {
			__atomic_store_n(&tracer->mailed, 0, __ATOMIC_RELAXED);
			return 0;
		}
		tracer_handle(tracer, &stop);
	}
	return 1;
}

void tracer_fini(struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	while (pos = 0, map_next(&tracer->tracees, &pos, NULL, &value))
		tracer_drop_tracee(tracer, value);
	map_free(&tracer->tracees);
	alone_fini(tracer);
	map_free(&tracer->processes);
	map_free(&tracer->limbo);
	map_free(&tracer->unseen);
	reaper_stop(tracer->reaper);
	waker_end(tracer->waker);
	stand_in_end(&tracer->stand_in);
	ids_fini(tracer);
	seize_late_free(&tracer->late);
	free(tracer->follow.all_cpus);
}
