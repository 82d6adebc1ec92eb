/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/next_stop.h"

#include <errno.h>
#include <sys/wait.h>

#include "engine/base/again.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/reaper.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

/* Looks at the hot threads before blocking: longer than an idle processor takes to wake up. */
#define SPINS 200

#define SWEEP_EVERY 16 /* hot stops between two sweeps */
#define SWEEP_WIDTH 4  /* cold threads per sweep */

/* A few of the threads that are not hot, in turn. */
static bool sweep(struct tracer *tracer, struct stop *ret_stop)
{
	for (unsigned i = 0; i < SWEEP_WIDTH; i++) {
		struct tracee *t;
		void *value;

		if (!map_next(&tracer->tracees, &tracer->sweep_pos, NULL, &value)) {
			tracer->sweep_pos = 0;
			return false;
		}
		t = value;
		if (!t->held && wait_look(t->tid, ret_stop) == 1)
			return true;
	}
	return false;
}

static bool look_at_hot(struct tracer *tracer, struct stop *ret_stop)
{
	for (unsigned i = 0; i < tracer->n_hot; i++) {
		unsigned at = (tracer->next_hot + i) % tracer->n_hot;

		if (wait_look(tracer->hot[at]->tid, ret_stop) == 1) {
			tracer->next_hot = at + 1;
			return true;
		}
	}
	return false;
}

static bool woken(struct tracer *tracer)
{
	return __atomic_load_n(&tracer->mailed, __ATOMIC_ACQUIRE) != 0;
}

static bool block(struct tracer *tracer, struct stop *ret_stop)
{
	siginfo_t si;

	for (;;) {
		/* Who is woken again in each turn looks at one stop in each, too. */
		if (woken(tracer))
			return wait_poll(ret_stop);
		si.si_pid = 0;
		if (again_waitid(P_ALL, 0, &si, WAIT_LOOK) == 0)
			break;
		if (errno == EINTR)
			continue;
		/* Nothing is traced, not even the waker; or there is no way to wait. */
		if (errno != ECHILD)
			tracer->wait_code = errno;
		return false;
	}
	wait_fill(ret_stop, &si);
	return true;
}

static bool wait_long(struct tracer *tracer, struct stop *ret_stop)
{
	uint64_t start;

	if (reaper_next(tracer->reaper, ret_stop))
		return true;
	if (tracer->n_hot && ++tracer->hits_since_sweep >= SWEEP_EVERY) {
		tracer->hits_since_sweep = 0;
		if (sweep(tracer, ret_stop))
			return true;
	}
	start = 0;
	for (unsigned i = 0; i < SPINS && tracer->n_hot; i++) {
		if (woken(tracer))
			return false;
		if (look_at_hot(tracer, ret_stop))
			return true;
		if (!wait_yield(&start))
			break;
	}
	tracer->n_hot = 0;
	tracer->ops->idle(tracer->ctx);
	return block(tracer, ret_stop);
}

bool wait_any(struct tracer *tracer, struct stop *ret_stop)
{
	bool got;

	reaper_waiting(tracer->reaper);
	got = wait_long(tracer, ret_stop);
	reaper_working(tracer->reaper);
	return got;
}

void wait_note_hot(struct tracer *tracer, struct tracee *t)
{
	for (unsigned i = 0; i < tracer->n_hot; i++)
		if (tracer->hot[i] == t)
			return;
	if (tracer->n_hot < TRACER_HOT)
		tracer->hot[tracer->n_hot++] = t;
	else
		tracer->hot[tracer->next_hot++ % TRACER_HOT] = t;
}

void wait_forget(struct tracer *tracer, const struct tracee *t)
{
	for (unsigned i = 0; i < tracer->n_hot; i++)
		if (tracer->hot[i] == t)
			tracer->hot[i--] = tracer->hot[--tracer->n_hot];
}
