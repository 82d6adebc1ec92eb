/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes in one memory (vfork(), clone(CLONE_VM)) meet the same breakpoints, but each has signal
 * actions of its own. So each of them gets the guard before the first breakpoint is written.
 */

#include <errno.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/update.h"
#include "engine/space/space.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define WAIT_NS 2000000000ULL /* for one that can't be stopped */

static struct process *find(const struct space *space, pid_t pid)
{
	struct process *p = space->processes;

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static struct process *next_unguarded(const struct space *space)
{
	struct process *p = space->processes;

	while (p && p->probes->is_guarded)
		p = p->next;
	return p;
}

/* Whose child lives in the same memory: the guard is to know its action of SIGTRAP, not the child's. */
static struct process *eldest(const struct space *space)
{
	for (struct process *p = space->processes; p->next; p = p->next)
		if (!find(space, task_ppid(p->pid)))
			return p;
	return space->processes;
}

/* One of @p's threads: held already, or (it was born meanwhile) now. NULL: that can't be, or it has ended. */
static struct tracee *try_hold(const struct update *u, const struct process *p)
{
	pid_t pid = p->pid, *tids;
	struct tracee *t = p->tracees;
	struct stop stop;
	size_t n = 0;

	while (t && !t->held)
		t = t->next;
	tids = t ? NULL : space_ids(u->held.tracer, u->space, p, &n);
	for (size_t i = 0; tids && i < n && !t && find(u->space, pid) == p; i++) {
		t = map_get(&u->held.tracer->tracees, (uint64_t)tids[i]);
		if (!t)
			continue;
		if (strchr("DZX", task_state(tids[i])) || attach_hold(u->held.tracer, t) != 1)
			t = NULL;
		/* It has ended, or is in its new image. */
		if (!t && wait_look(tids[i], &stop) == 1)
			tracer_dispatch(u->held.tracer, &stop);
	}
	ids_give(u->held.tracer, tids);
	return t;
}

/* It may be waiting for a disk, in front of its exec. */
static struct tracee *hold(const struct update *u, const struct process *p)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), spin = 0;
	struct tracee *t;
	pid_t pid = p->pid;

	while (!(t = try_hold(u, p)) && find(u->space, pid) == p &&
	       event_clock_now(CLOCK_KIND_MONO) - begun < WAIT_NS)
		wait_a_little(&spin);
	return t;
}

static bool is_settled(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return guard_is_settled(ps);
}

static int guard(const struct update *u, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid; /* it may end while it is waited for */
	struct tracee *t = hold(u, p);
	struct ubp_regs regs;
	struct held held;
	int rc;

	if (!t)
		return find(u->space, pid) ? ubp_fail(err, EBUSY,
						      "process %d, which shares its memory, "
						      "cannot be stopped",
						      (int)pid)
					   : 0;
	rc = ubp_host_get_regs(t->tid, &regs);
	held = held_thread(u->held.tracer, t, &regs);
	if (rc == 0)
		rc = guard_install(&held, err);
	if (rc == 0 && is_settled(u->space)) /* else they are yet to be seen */
		guard_open_masks(&held, &u->maps);
	if (rc != -ESRCH)
		return rc;
	/* Killed while it was held: it runs no more. */
	p = find(u->space, pid);
	if (p)
		p->probes->is_guarded = true;
	return 0;
}

static int guard_all(struct update *u, struct ubp_err *err)
{
	bool alone = !space_is_shared(u->space) && u->held.t->process->n_tracees == 1;
	int rc = 0;

	for (struct process *p = eldest(u->space); rc == 0 && p;
	     p = rc == 0 ? next_unguarded(u->space) : NULL) {
		if (p == u->held.t->process)
			rc = guard_install(&u->held, err);
		else if (!p->probes->is_guarded)
			rc = guard(u, p, err);
		if (!held_lasts(&u->held))
			return ubp_fail(err, ESRCH, "thread %d has ended", (int)u->tid);
	}
	if (rc == 0 && next_unguarded(u->space))
		rc = ubp_fail(err, EBUSY, "process %d, which shares its memory, has no guard",
			      (int)next_unguarded(u->space)->pid);
	/* What they were held for is done, or is not to be. */
	for (struct tracee *t = NULL; (t = space_next(u->space, t));)
		if (t->held && t != u->held.t)
			attach_let_go(t);
	if (rc == 0 && !alone && !is_settled(u->space))
		rc = ubp_fail(err, EINPROGRESS, "its threads are to be seen first");
	return rc;
}

int sharers_guard(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	int rc;

	/* Its processes may end meanwhile. */
	space_keep(space);
	rc = guard_all(u, err);
	space_put(u->held.tracer, space);
	return rc;
}

/*
 * One that was born between the look at sharers and the stop of its mother would die of a breakpoint: it has no guard, and
 * is hidden from tracers (CLONE_UNTRACED). Those that are born from now on have their mother's guard.
 */
int sharers_check_hidden(const struct space *space, struct ubp_err *err)
{
	const struct process *p = sharers_hidden(space);

	return p ? ubp_fail(err, EBUSY,
			    "in the memory of process %d lives another one, which it hides "
			    "from tracers (a leak checker?)",
			    (int)p->pid)
		 : 0;
}

int plant_guard(const struct held *held, struct ubp_err *err)
{
	struct tracee *t = held->t;
	const struct plant_space *ps = t->process->space->plant;
	struct held there = *held;
	struct ubp_regs regs;
	struct maps maps;
	int rc;

	/* Nothing is planted yet: it is among those that get it then. */
	if (!ps || !ps->stub || !guard_data(ps) || ps->closing ||
	    t->process->probes->is_guarded)
		return 0;
	rc = maps_read(t->tid, &maps, err);
	if (rc < 0)
		return rc;
	there.at = &regs;
	rc = ubp_host_get_regs(t->tid, &regs);
	rc = rc == 0 ? guard_install(&there, err)
		     : ubp_fail(err, -rc, "thread %d has ended", (int)t->tid);
	if (rc == 0)
		guard_open_masks(&there, &maps);
	maps_free(&maps);
	return rc;
}
