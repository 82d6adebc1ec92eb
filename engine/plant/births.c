/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/births.h"

#include <errno.h>
#include <signal.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/leave.h"
#include "engine/plant/samples.h"
#include "engine/plant/site.h"
#include "engine/plant/trap_chain.h"
#include "engine/plant/upgrade.h"
#include "engine/returns/hijack_open.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

/* The guard of a new process that is held goes, if nothing needs it. */
static void take_guard(const struct held *first, struct plant_left *left)
{
	struct space *space = first->t->process->space;
	struct held held = *first;
	struct ubp_regs regs;
	struct ubp_err err;
	int rc = guard_close_mask(first->t);

	held.at = &regs;
	if (rc == 0 && space->plant)
		rc = ubp_host_get_regs(held.tid, &regs);
	if (rc == 0 && space->plant)
		plant_unhook_parts(space, held.tid);
	if (rc == 0 && space->plant)
		rc = guard_uninstall(&held, &err);
	if (!held_lasts(first))
		return;
	if (rc == 0 || rc == -EACCES)
		plant_unhook(space, held.tid, held.tid, left);
	else if (rc != -ESRCH)
		plant_left_note(left, "the handler of SIGTRAP", 0, rc);
}

/* Nothing of ours may stay in a new process that is held. *left: what does all the same. */
static void leave_child(const struct held *first, struct plant_left *left)
{
	if (!left->is_live)
		take_guard(first, left);
}

/*
 * There was no memory to note what it has. All stands where its parent has it, so what is known of that is
 * gone by.
 */
static void leave_copy(const struct space *of_parent, const struct held *first,
		       struct plant_left *left)
{
	struct space *space = first->t->process->space;
	void *noted = space->plant;

	space_keep(space); /* it may end meanwhile */
	space->plant = of_parent->plant;
	leave_child(first, left);
	space->plant = noted;
	space_put(first->tracer, space);
}

/* What its parent knows of is taken out, and what that has forgotten. */
static void clean_copy(const struct space *of_parent, const struct held *first,
		       struct plant_left *left)
{
	struct ubp_err ignored;
	int rc = 0;

	plant_clean_copy(of_parent, first->t->process->space, first->tid, left);
	if (plant_forgot(of_parent))
		rc = plant_clean_forgotten(first, left, &ignored);
	if (rc < 0)
		plant_left_live(left, "breakpoints", 0, rc);
}

static enum birth copied_whole(const struct space *of_parent, const struct held *first,
			       struct plant_left *left)
{
	struct process *p = first->t->process;
	bool copied = plant_copy(of_parent, p->space, first->t) == 0;

	/* Born while breakpoints are taken out, it may have copies of them. */
	if (copied && !p->silent) {
		hijack_adopt(first->t);
		if ((of_parent->plant->changed_ns && of_parent->plant->list_version) ||
		    guard_is_missing(of_parent->plant))
			return BIRTH_KEPT;
		/* The guard is there, and breakpoints are still to come: all, or the next of them. It may lack the guard
		 * itself: that is found out by installing it. */
		p->probes->is_guarded = false;
		return BIRTH_PLANT;
	}
	clean_copy(of_parent, first, left);
	if (!held_lasts(first)) {
		*left = (struct plant_left){ 0 };
		return BIRTH_GONE;
	}
	if (copied)
		leave_child(first, left);
	else
		leave_copy(of_parent, first, left);
	return BIRTH_GONE;
}

/* It was born while breakpoints were written: its parent has more than it has. */
static enum birth copied_partly(const struct held *first, struct plant_left *left)
{
	bool keep = !first->t->process->silent;
	struct ubp_err err;
	int rc = plant_clean_partly(first, keep ? NULL : left, &err);

	if (!held_lasts(first)) {
		*left = (struct plant_left){ 0 };
		return BIRTH_GONE;
	}
	if (rc < 0) {
		plant_left_live(left, "all breakpoints", 0, rc);
		return BIRTH_GONE;
	}
	if (!keep) {
		leave_child(first, left);
		return BIRTH_GONE;
	}
	/* Whatever it has of the guard is found out by installing it. */
	first->t->process->probes->is_guarded = false;
	return BIRTH_PLANT;
}

enum birth births_copy(const struct process *parent, const struct held *first,
		       struct plant_left *left)
{
	struct process *p = first->t->process;
	struct space *of_parent = parent->space;
	enum birth birth;

	p->probes->is_guarded = parent->probes->is_guarded;
	/* Its parent was seized, and nothing planted yet. */
	if (!of_parent->plant)
		return p->silent ? BIRTH_GONE : BIRTH_PLANT;
	space_keep(of_parent); /* it may end meanwhile */
	birth = area_is_whole_copy(of_parent, p->space) ? copied_whole(of_parent, first, left)
							: copied_partly(first, left);
	space_put(first->tracer, of_parent);
	return birth;
}

int births_share(const struct process *parent, const struct held *first, struct ubp_err *err)
{
	struct process *p = first->t->process;
	const struct plant_space *ps = p->space->plant;

	p->probes->is_guarded = parent->probes->is_guarded;
	upgrade_born(p->born_of, first);
	/* Born before the guard, it has none. */
	p->probes->is_guarded = p->probes->is_guarded && ps && guard_is_settled(ps) &&
				task_catches(first->tid, SIGTRAP);
	chain_born(p);
	return plant_guard(first, err);
}

void births_executed(struct tracee *t)
{
	struct process_probes *probes = t->process->probes;

	probes->is_guarded = false;
	probes->loses_guard = false;
	probes->ends_by_trap = false;
	(void)guard_close_mask(t);
	samples_forget(t);
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
	return ps && plant_any_site(ps, site_is_probed);
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
