/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way out: what was planted is taken out again, of a process that is left or of
 * a copy that fork() made of one, or is taken over with the copy.
 */

#include "engine/plant/leave.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/gate_page.h"
#include "engine/plant/give_back.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/leftover.h"
#include "engine/plant/parts.h"
#include "engine/plant/rings.h"
#include "engine/plant/site.h"
#include "engine/space/part.h"
#include "engine/space/space.h"
#include "engine/space/undo.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/ids.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

/* Handled between the work on two processes. */
#define STOPS_BETWEEN 64

/* @owner: @space, or the memory that it is a copy of. @tid: a stopped thread of @space, or 0. */
static void remove_from(const struct space *owner, const struct space *space, pid_t pid,
			pid_t tid, struct plant_left *left)
{
	struct part_left l = { .owner = owner,
			       .ps = owner->plant,
			       .tid = tid,
			       .undo = { .space = space, .pid = pid, .left = left } };

	parts_leave(&l);
	undo_end(&l.undo);
}

void plant_remove(const struct process *p)
{
	struct plant_space *ps = p->space->plant;

	if (!ps || ps->closing)
		return;
	ps->closing = true;
	care_ask_again(&p->space->care);
	remove_from(p->space, p->space, p->pid, 0, &ps->left);
	area_note_change(p->space, 0);
}

void plant_clean_copy(const struct space *parent, struct space *child, pid_t tid,
		      struct plant_left *left)
{
	if (parent->plant)
		remove_from(parent, child, tid, tid, left);
}

void plant_unhook(struct space *space, pid_t pid, pid_t tid, struct plant_left *left)
{
	struct undo undo = { .space = space, .pid = pid, .left = left };

	if (space->plant)
		site_unplant_all(space->plant, &undo, tid, true);
	undo_end(&undo);
}

void plant_unhook_parts(struct space *space, pid_t tid)
{
	size_t pos = 0;
	void *value;

	while (map_next(&space->plant->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (site->planted && site->is_patched && !site_is_at_once(space, site))
			site->planted = site_unplant(space, tid, site) < 0;
	}
}

/* Of a breakpoint alone: jumps, to detours or to the guard, trap nobody. */
static bool is_lent(const struct site *site)
{
	return site->planted && !site->is_patched && site->rung != SITE_JUMPED;
}

void plant_rest(struct space *space, pid_t tid)
{
	size_t pos = 0;
	void *value;

	while (map_next(&space->plant->sites, &pos, NULL, &value))
		if (is_lent(value))
			(void)site_unplant(space, tid, value);
	area_note_change(space, tid);
}

void plant_wake(struct space *space, pid_t tid)
{
	struct ubp_err ignored;
	size_t pos = 0;
	void *value;

	hold_forget_looks(space);
	while (map_next(&space->plant->sites, &pos, NULL, &value))
		if (is_lent(value))
			(void)site_plant(space, tid, value, &ignored);
	area_note_change(space, tid);
}

void plant_lend(struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;

	if (!ps || ps->n_lent++)
		return;
	plant_rest(space, tid);
	ps->lent_gate = RING_GATE_OFF;
	if (guard_data(ps))
		(void)mem_peek(&space->mem, guard_gate(ps), &ps->lent_gate,
			       sizeof(ps->lent_gate));
	(void)rings_set_gate(space, space, tid, RING_GATE_OFF);
}

void plant_take_back(struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;

	if (!ps || !ps->n_lent || --ps->n_lent || ps->closing)
		return;
	(void)rings_set_gate(space, space, tid, ps->lent_gate);
	plant_wake(space, tid);
}

int plant_clean_partly(const struct held *held, struct plant_left *left, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps;
	struct maps maps;
	unsigned n_removed = 0;
	int rc;

	plant_forget(space);
	ps = plant_space_get(space);
	if (!ps)
		return ubp_fail(err, ENOMEM, "out of memory");
	guard_note_look(ps);
	rc = maps_read(t->tid, &maps, err);
	if (rc == 0)
		rc = leftover_adopt(held, &maps, &n_removed, err);
	maps_free(&maps);
	if (rc == -ESRCH)
		return rc; /* the space may be gone, too */
	/* Nobody is told of a copy. */
	(void)guard_take_found(space);
	if (rc == 0 && left)
		remove_from(space, space, t->process->pid, t->tid, left);
	return rc;
}

int plant_clean_forgotten(const struct held *held, struct plant_left *left, struct ubp_err *err)
{
	struct space *space = held->t->process->space;
	struct plant_space *known = space->plant;
	int rc;

	space_keep(space); /* it may end meanwhile */
	space->plant = NULL;
	rc = plant_clean_partly(held, left, err);
	plant_forget(space);
	space->plant = known;
	area_allow_batch(space);
	space_put(held->tracer, space);
	return rc;
}

/* Does a process in this memory need the jumps to the guard? */
static bool is_guarded(const struct space *space)
{
	const struct process *p = space->processes;

	while (p && !p->probes->is_guarded)
		p = p->next;
	return p;
}

/* A thread of each process is needed, and those whose masks were changed. */
static void leave_process(struct tracer *tracer, struct process *p)
{
	struct plant_space *ps = p->space->plant;
	struct space *space = p->space;
	struct held held;
	struct ubp_regs regs;
	struct ubp_err err;
	bool is_held, gives, alone;
	pid_t pid = p->pid;
	int rc;

	p->probes->is_guarded = p->probes->is_guarded && ps;
	if (!p->probes->is_guarded || ps->left.is_live)
		return;
	space_keep(space); /* it may end meanwhile */
	rc = attach_hold_one(tracer, p, &held, &err);
	is_held = rc == 0;
	if (is_held) {
		held.at = &regs;
		rc = ubp_host_get_regs(held.tid, &regs);
	}
	if (rc == 0)
		gate_page_keep(&held);
	if (rc == 0 && space->refs == 2)
		plant_unhook_parts(space, held.tid);
	if (rc == 0)
		rc = held_lasts(&held) ? guard_uninstall(&held, &err) : -ESRCH;
	ps->keeps_guard |= rc < 0 && rc != -ESRCH;
	/* A filter of late lets nothing be asked of it: then the guard hands on to the program's own
	 * handler, as uprobe(1) has it. */
	if (rc < 0 && rc != -ESRCH && rc != -EACCES)
		plant_left_note(&ps->left, "the handler of SIGTRAP", 0, rc);
	/* Nobody else is in its memory: what leads to the guard goes at once, and then all else. */
	gives = rc == 0 && space->refs == 2;
	if (gives) {
		plant_unhook(space, pid, held.tid, &ps->left);
		ps->is_unhooked = true;
		gives = !p->probes->is_guarded && !ps->left.n;
	}
	space_put(tracer, space);
	/* Nobody stands still while thousands of others are looked at. */
	alone = gives && p->n_tracees == 1;
	if (gives && !alone)
		held_let_go(&held);
	if (gives)
		give_back(tracer, p, alone ? &held : NULL);
	if (is_held && (alone || !gives))
		held_let_go(&held);
}

/* No process in its memory has a guard any more: the jumps to that go, too. */
static void unhook(struct tracer *tracer, struct process *p)
{
	const struct plant_space *ps = p->space->plant;
	struct space *space = p->space;
	pid_t pid = p->pid;
	struct held held;
	struct ubp_err err;
	bool is_held;

	if (!ps || ps->left.is_live || ps->keeps_guard)
		return;
	space_keep(space);
	/* Words are poked through a thread that is let go of afterwards. */
	is_held = tracer->pokes.needed && attach_hold_one(tracer, p, &held, &err) == 0;
	plant_unhook(space, pid, is_held ? held.tid : 0, &space->plant->left);
	if (is_held)
		held_let_go(&held);
	space_put(tracer, space);
}

static void leave_mask(struct tracer *tracer, struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	struct held held = held_thread(tracer, t, NULL);
	int rc;

	/* Who meets a breakpoint with the signal blocked dies of it. */
	if (ps && ps->left.is_live) {
		t->probes->trap_opened = false;
	} else if (attach_hold_patiently(tracer, t) == 1) {
		rc = guard_close_mask(t);
		if (rc < 0 && rc != -ESRCH && ps)
			plant_left_note(&ps->left, "a signal mask", 0, rc);
		attach_let_go(t);
	} else if (held_lasts(&held)) {
		t->probes->trap_opened = false;
		if (ps)
			plant_left_note(&ps->left, "a signal mask", 0, -ETIMEDOUT);
	}
}

static void unhook_all(struct tracer *tracer, const struct process *only)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		struct process *p = value;
		struct plant_space *ps = p->space->plant;

		if (!ps || ps->is_unhooked || (only && p != only) || is_guarded(p->space))
			continue;
		ps->is_unhooked = true;
		unhook(tracer, p);
		pos = 0; /* the table may have changed */
	}
}

static void close_masks(struct tracer *tracer, const struct process *p)
{
	size_t n;
	pid_t *tids = space_ids(tracer, p->space, p, &n);

	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (!t || !t->probes->trap_opened)
			continue;
		leave_mask(tracer, t);
	}
	ids_give(tracer, tids);
}

/* False: there was none. */
static bool leave_each(struct tracer *tracer, const struct process *only)
{
	size_t n;
	pid_t *pids = tracer_pids(tracer, &n);
	bool any = false;

	for (size_t i = 0; pids && i < n; i++) {
		struct process *p = map_get(&tracer->processes, (uint64_t)pids[i]);

		if (!p || (only && p != only))
			continue;
		close_masks(tracer, p);
		p = map_get(&tracer->processes, (uint64_t)pids[i]);
		if (!p || !p->probes->is_guarded)
			continue;
		any = true;
		leave_process(tracer, p);
		/* It stops once more. (Who leaves one may be handling a stop.) */
		if (!only)
			tracer_poll(tracer, STOPS_BETWEEN);
		if (map_get(&tracer->processes, (uint64_t)pids[i]) == p)
			p->probes->is_guarded = false;
	}
	ids_give(tracer, pids);
	return any;
}

void plant_leave(struct tracer *tracer, const struct process *only)
{
	/* Again for those that were born in their memory meanwhile: they have the guard, too. */
	while (leave_each(tracer, only))
		;
	unhook_all(tracer, only);
}

int plant_copy(const struct space *parent, struct space *child, struct tracee *first)
{
	struct part_copied c = {
		.parent = parent, .child = child, .from = parent->plant, .first = first
	};

	if (!c.from)
		return 0;
	c.to = plant_space_get(child);
	return c.to ? parts_copy(&c) : -ENOMEM;
}

void plant_left_told(struct space *space)
{
	space->plant->left.n = 0;
}

void plant_forget(struct space *space)
{
	if (!space->plant)
		return;
	parts_forget(space->plant);
	plant_space_free(space);
	space->batch = 0;
}
