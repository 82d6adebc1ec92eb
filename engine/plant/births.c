/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/births.h"

#include <errno.h>
#include <signal.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/chain.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/leave.h"
#include "engine/plant/site.h"
#include "engine/plant/upgrade.h"
#include "engine/returns/hijack_open.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* The guard of a new process that is held goes, if nothing needs it. */
static void take_guard(struct tracer *tracer, struct tracee *first, struct plant_left *left)
{
	struct space *space = first->process->space;
	pid_t tid = first->tid;
	struct ubp_regs regs;
	struct ubp_err err;
	struct held held;
	int rc = guard_close_mask(first);

	if (rc == 0 && space->plant)
		rc = ubp_host_get_regs(tid, &regs);
	if (rc == 0 && space->plant) {
		held = held_thread(tracer, first, &regs);
		rc = guard_uninstall(&held, &err);
	}
	if (!tracer_has(tracer, first, tid))
		return;
	if (rc == 0 || rc == -EACCES)
		plant_unhook(space, tid, tid, left);
	else if (rc != -ESRCH)
		plant_left_note(left, "the handler of SIGTRAP", 0, rc);
}

/* Nothing of ours may stay in a new process that is held. *left: what does all the same. */
static void leave_child(struct tracer *tracer, struct tracee *first, struct plant_left *left)
{
	if (!left->is_live)
		take_guard(tracer, first, left);
}

/*
 * There was no memory to note what it has. All stands where its parent has it, so what is known of that is
 * gone by.
 */
static void leave_copy(struct tracer *tracer, const struct process *parent,
		       struct tracee *first, struct plant_left *left)
{
	struct space *space = first->process->space, *of_parent = parent->space;
	void *noted = space->plant;

	/* Either may end meanwhile. */
	space->refs++;
	of_parent->refs++;
	space->plant = of_parent->plant;
	leave_child(tracer, first, left);
	space->plant = noted;
	space_put(tracer, space);
	space_put(tracer, of_parent);
}

/* What its parent knows of is taken out, and what that has forgotten. */
static void clean_copy(struct tracer *tracer, struct process *parent, struct tracee *first,
		       struct plant_left *left)
{
	struct held held = held_thread(tracer, first, NULL);
	struct ubp_err ignored;
	int rc = 0;

	plant_clean_copy(parent->space, first->process->space, first->tid, left);
	if (plant_forgot(parent->space))
		rc = plant_clean_forgotten(&held, left, &ignored);
	if (rc < 0)
		plant_left_live(left, "breakpoints", 0, rc);
}

static enum birth copied_whole(struct tracer *tracer, struct process *parent,
			       struct tracee *first, struct plant_left *left)
{
	struct space *space = first->process->space;
	const struct plant_space *of_parent;
	pid_t tid = first->tid;
	bool copied = plant_copy(parent->space, space, first) == 0;

	/* Born while breakpoints are taken out, it may have copies of them. */
	if (copied && !first->process->silent) {
		hijack_adopt(first);
		of_parent = parent->space->plant;
		if (of_parent->changed_ns || guard_is_missing(of_parent))
			return BIRTH_KEPT;
		/* The guard is there, and the breakpoints are still to come. It may lack the guard itself: that is
		 * found out by installing it. */
		first->process->probes->is_guarded = false;
		return BIRTH_PLANT;
	}
	clean_copy(tracer, parent, first, left);
	if (!tracer_has(tracer, first, tid)) {
		*left = (struct plant_left){ 0 };
		return BIRTH_GONE;
	}
	if (copied)
		leave_child(tracer, first, left);
	else
		leave_copy(tracer, parent, first, left);
	return BIRTH_GONE;
}

/* It was born while breakpoints were written: its parent has more than it has. */
static enum birth copied_partly(struct tracer *tracer, struct tracee *first,
				struct plant_left *left)
{
	bool keep = !first->process->silent;
	pid_t tid = first->tid;
	struct held held = held_thread(tracer, first, NULL);
	struct ubp_err err;
	int rc = plant_clean_partly(&held, keep ? NULL : left, &err);

	if (!tracer_has(tracer, first, tid)) {
		*left = (struct plant_left){ 0 };
		return BIRTH_GONE;
	}
	if (rc < 0) {
		plant_left_live(left, "all breakpoints", 0, rc);
		return BIRTH_GONE;
	}
	if (!keep) {
		leave_child(tracer, first, left);
		return BIRTH_GONE;
	}
	/* Whatever it has of the guard is found out by installing it. */
	first->process->probes->is_guarded = false;
	return BIRTH_PLANT;
}

enum birth births_copy(struct tracer *tracer, struct process *parent, struct tracee *first,
		       struct plant_left *left)
{
	first->process->probes->is_guarded = parent->probes->is_guarded;
	/* Its parent was seized, and nothing planted yet. */
	if (!parent->space->plant)
		return first->process->silent ? BIRTH_GONE : BIRTH_PLANT;
	return area_is_whole_copy(parent->space, first->process->space)
		       ? copied_whole(tracer, parent, first, left)
		       : copied_partly(tracer, first, left);
}

int births_share(struct tracer *tracer, const struct process *parent, struct tracee *first,
		 struct ubp_err *err)
{
	struct process *p = first->process;
	const struct plant_space *ps = p->space->plant;
	struct held held = held_thread(tracer, first, NULL);

	p->probes->is_guarded = parent->probes->is_guarded;
	upgrade_born(tracer, p->born_of, first);
	/* Born before the guard, it has none. */
	p->probes->is_guarded = p->probes->is_guarded && ps && guard_is_settled(ps) &&
				task_catches(first->tid, SIGTRAP);
	chain_born(p);
	return plant_guard(&held, err);
}

void births_executed(struct tracee *t)
{
	struct process_probes *probes = t->process->probes;

	probes->is_guarded = false;
	probes->loses_guard = false;
	probes->ends_by_trap = false;
	(void)guard_close_mask(t);
}

void births_vfork_done(struct tracee *t)
{
	if (t->probes->lends)
		plant_take_back(t->process->space, t->tid);
	t->probes->lends = false;
}

bool births_has_probes(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;

	while (ps && map_next(&ps->sites, &pos, NULL, &value))
		if (site_is_probed(value))
			return true;
	return false;
}

bool births_is_dynamic(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;

	while (ps && map_next(&ps->sites, &pos, NULL, &value))
		if (((struct site *)value)->watches & WATCH_LOADER)
			return true;
	return false;
}
