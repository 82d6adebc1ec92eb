/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/drain.h"

#include <string.h>
#include <sys/ptrace.h>

#include "engine/base/again.h"
#include "engine/event/clock.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/ids.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define DRAIN_LIMIT_NS 2000000000ULL  /* without any stop */
#define DRAIN_MAX_NS   20000000000ULL /* in all */
#define DRAIN_ASLEEP_NS 1000000ULL    /* then it is asked whether a thread sleeps by now */
#define LOOKS          32             /* between two looks at who has stopped */

/* Whose breakpoints are gone: @p (NULL: all). */
struct drain {
	struct tracer *tracer;
	const struct process *p;
	uint64_t begun, last; /* when: the start, the last stop */
	uint64_t asked;       /* whether threads sleep */
};

static bool concerns(const struct drain *d, const struct tracee *t)
{
	return !d->p || t->process == d->p;
}

static bool ask(struct tracee *t)
{
	/* Another stop first has it asked again. */
	t->want_interrupt = again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
	return t->want_interrupt;
}

/* A breakpoint's trap may be under way to a thread that runs or steps; blocked in
 * the kernel it has none, and stopping it might break its system call off. Whoever stops
 * meanwhile does not wait for all. */
static void ask_to_stop(const struct drain *d)
{
	size_t n;
	pid_t *tids = tracer_tids(d->tracer, &n);

	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t;

		if (i % LOOKS == LOOKS - 1)
			tracer_poll(d->tracer, LOOKS);
		t = map_get(&d->tracer->tracees, (uint64_t)tids[i]);
		if (!t || !concerns(d, t))
			continue;
		t->drained = t->held || (!t->stepping &&
					 (t->listening || strchr("SDZX", task_state(t->tid))));
		t->is_asked = !t->drained && ask(t);
	}
	ids_give(d->tracer, tids);
}

/* One pass. False: all have been seen. */
static bool look_around(struct drain *d)
{
	struct stop stop;
	size_t pos = 0;
	bool again = false;
	void *value;

	while (map_next(&d->tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (!concerns(d, t) || t->drained)
			continue;
		again = true; /* the table may change: only a quiet pass is the last */
		t->is_asked = t->is_asked || ask(t);
		if (wait_look(t->tid, &stop) != 1)
			continue;
		d->last = event_clock_now(CLOCK_KIND_MONO);
		t->want_interrupt = stop.event != PTRACE_EVENT_STOP;
		tracer_dispatch(d->tracer, &stop);
	}
	return again;
}

/* Nothing has stopped for long: those that wait in the kernel, in one of @states, have no trap. NULL: nor have others. */
static void give_up_blocked(const struct drain *d, const char *states)
{
	size_t pos = 0;
	void *value;

	while (map_next(&d->tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (concerns(d, t) && !t->drained &&
		    (!states || strchr(states, task_state(t->tid))))
			t->drained = true;
	}
}

/*
 * A thread that waits for its child of vfork() stops when that has gone, and that may be in a stop that nobody handles while we wait. It
 * cannot be woken, unlike those that sleep otherwise.
 */
static void look_who_sleeps(struct drain *d, uint64_t now)
{
	if (now - d->last < DRAIN_ASLEEP_NS || now - d->asked < DRAIN_ASLEEP_NS)
		return;
	give_up_blocked(d, "D");
	d->asked = now;
}

void drain_traps(struct tracer *tracer, const struct process *p)
{
	struct drain d = { tracer, p, event_clock_now(CLOCK_KIND_MONO), 0, 0 };
	uint64_t spin = 0, now;

	tracer->is_draining = true;
	d.last = d.begun;
	ask_to_stop(&d);
	while (look_around(&d) && !again_is_hopeless()) {
		now = event_clock_now(CLOCK_KIND_MONO);
		if (now - d.last > DRAIN_LIMIT_NS || now - d.begun > DRAIN_MAX_NS) {
			give_up_blocked(&d, now - d.begun > DRAIN_MAX_NS ? NULL : "SDTtZXIP");
			d.last = now;
		}
		look_who_sleeps(&d, now);
		wait_a_little(&spin);
	}
	tracer->is_draining = false;
}
