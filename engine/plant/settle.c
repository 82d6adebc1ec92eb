/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A child has the signal actions that its mother had when the kernel began to make it, and her memory as
 * it is later: the kernel waits in between for what others do with that memory. So a child of fork(),
 * too, might have our breakpoints and not the guard. Births that have begun before the guard are awaited, behind it and
 * before the first breakpoint: whoever has been seen elsewhere once, asleep in another call or stopped for a moment, begins the
 * next one with the guard. There may be thousands of threads, so nobody is held while others are looked at.
 */

#include "engine/plant/settle.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/attach.h"
#include "engine/trace/children.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define WAIT_NS 2000000000ULL  /* for a birth, or for one that can't be stopped ... */
#define MOST_NS 10000000000ULL /* ... or has no processor */
#define LOOKS   32             /* between two looks at who has stopped */

struct settling {
	struct tracer *tracer;
	struct space *space;
	struct maps maps;
	struct map seen;              /* tid -> itself */
	unsigned n_births, n_running; /* not seen yet: in a birth; not stopped */
};

/* Does @t, which sleeps, wait for its vfork() child, and not yet for that to be made? */
static bool is_mother(const struct settling *s, const struct tracee *t)
{
	size_t pos = 0;
	void *value;

	while (map_next(&s->tracer->processes, &pos, NULL, &value)) {
		const struct process *p = value;

		/* Of those that were there before nobody has told which thread it was. */
		if (p->born_of == t->tid ? p->is_vforked
					 : !p->born_of && p->space == s->space &&
						   task_ppid(p->pid) == t->process->pid)
			return true;
	}
	return false;
}

static bool gives_birth(const struct settling *s, const struct tracee *t)
{
	const uint16_t *nr = s->space->arch->call.nr_births;

	while (*nr && *nr != t->asleep_in)
		nr++;
	return *nr && !is_mother(s, t);
}

/* Its mask is opened where it has to be. False: not now. */
static bool stop_for_a_moment(struct settling *s, struct tracee *t)
{
	struct held held = held_thread(s->tracer, t, NULL);
	int rc = attach_hold(s->tracer, t);

	if (!held_lasts(&held) || t->process->space != s->space)
		return true;
	if (rc != 1)
		return strchr("ZX", task_state(held.tid));
	guard_open_mask(t, &s->maps);
	attach_let_go(t);
	return true;
}

static bool see(struct settling *s, struct tracee *t)
{
	uint64_t pc, sp;

	if (!t->held && task_asleep_in(t->tid, &pc, &sp, &t->asleep_in)) {
		if (gives_birth(s, t)) {
			s->n_births++;
			return false;
		}
		if (!task_blocks_trap(t->tid))
			return true;
	}
	/* One that is kept in its stop is somebody else's. */
	if (t->held || stop_for_a_moment(s, t))
		return true;
	s->n_running++;
	return false;
}

/* One pass. 0, or -ENOMEM. */
static int look_around(struct settling *s)
{
	size_t n;
	pid_t *tids = space_ids(s->tracer, s->space, NULL, &n);
	int rc = tids ? 0 : -ENOMEM;

	s->n_births = s->n_running = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct tracee *t;

		if (map_get(&s->seen, (uint64_t)tids[i]))
			continue;
		if (i % LOOKS == LOOKS - 1)
			tracer_poll(s->tracer, LOOKS);
		t = map_get(&s->tracer->tracees, (uint64_t)tids[i]);
		if (!t || t->process->space != s->space || see(s, t))
			rc = map_put(&s->seen, (uint64_t)tids[i], s);
	}
	ids_give(s->tracer, tids);
	tracer_poll(s->tracer, LOOKS);
	return rc;
}

static int see_all(struct settling *s, struct ubp_err *err)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), spin = 0, passed = 0;
	int rc = look_around(s);

	while (rc == 0 && !tracer_is_cancelled(s->tracer) &&
	       ((s->n_births && passed < WAIT_NS) || (s->n_running && passed < MOST_NS))) {
		wait_a_little(&spin);
		rc = look_around(s);
		passed = event_clock_now(CLOCK_KIND_MONO) - begun;
	}
	if (rc < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (tracer_is_cancelled(s->tracer))
		return tracer_give_up(err);
	return !s->n_running && children_all_seen(s->tracer, s->space)
		       ? 0
		       : ubp_fail(err, ETIMEDOUT, "threads of a process cannot be stopped");
}

int plant_settle(const struct plant *plant, struct tracer *tracer, const struct process *p,
		 struct ubp_err *err)
{
	struct space *space = p->space;
	struct plant_space *ps = space->plant;
	struct settling s = { .tracer = tracer, .space = space };
	int rc;

	/* It is planted in pieces, and goes on. */
	if (ps && guard_is_settled(ps))
		return 0;
	rc = maps_read(task_live_thread(p->pid), &s.maps, err);
	space_keep(space); /* it may end meanwhile */
	if (rc == 0)
		rc = see_all(&s, err);
	if (rc == -ETIMEDOUT && plant->opt.force) {
		guard_set_missing(ps);
		rc = 0;
	}
	if (rc == 0)
		guard_set_settled(ps);
	space_put(tracer, space);
	maps_free(&s.maps);
	map_free(&s.seen);
	return rc;
}
