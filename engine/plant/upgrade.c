/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/upgrade.h"

#include <errno.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/jump.h"
#include "engine/plant/rings.h"
#include "engine/plant/run_up.h"
#include "engine/plant/watch.h"
#include "engine/space/jump_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

/* At breakpoints, in a program that has just been started. */
#define HITS_BEFORE_JUMPS 16
/* Handled between the work on two processes. */
#define STOPS_BETWEEN 64
/* A process that lives for a few hits only does without rings. */
#define TRAPS_BEFORE_RINGS 8

void upgrade_due(struct plant *plant, struct tracer *tracer, struct space *space, bool is_new)
{
	struct plant_space *ps = space->plant;

	if (!plant->opt.rings || !ps || ps->jump->failed)
		return;
	if (guard_is_missing(ps)) {
		jump_refuse_all(ps);
		return;
	}
	ps->jump->due = true;
	/* Most programs that are started end soon. */
	if (is_new && !ps->jump->n_written && !plant->opt.eager)
		ps->jump->hits_before = HITS_BEFORE_JUMPS;
	plant->upgrades_due = true;
	tracer_end_turn(tracer);
}

void upgrade_hit(struct plant_space *ps)
{
	if (ps->jump->hits_before)
		ps->jump->hits_before--;
}

void upgrade_at_ret(struct plant *plant, struct tracer *tracer, struct space *space,
		    struct site *site)
{
	if (!at_ret_becomes_hot(space->plant, site))
		return;
	site->no_jump = NULL;
	upgrade_due(plant, tracer, space, false);
}

void upgrade_returns(struct plant *plant, struct tracer *tracer, struct space *space)
{
	if (watch_take_woken(space->plant))
		upgrade_due(plant, tracer, space, false);
}

bool upgrade_wants_rings(struct plant_space *ps)
{
	return !ps->jump->failed && ++ps->jump->n_detour_traps >= TRAPS_BEFORE_RINGS;
}

bool upgrade_is_settled(const struct plant_space *ps)
{
	const struct space_jumps *jump = ps->jump;

	return !jump->due && !jump->renew_due && !jump->sweep_due;
}

/* A held thread of @p, and back: what is between is no business of the program's. */
static void upgrade_kept(struct plant *plant, struct tracer *tracer, struct process *p)
{
	struct space *space = p->space;
	struct jump_batch *batch = jump_collect(plant, space);
	pid_t pid = p->pid;
	struct held held;
	struct ubp_err err;
	bool is_there;
	int rc;

	if (!batch)
		return;
	rc = attach_hold_one(tracer, p, &held, &err);
	is_there = process_is_there(tracer, pid, p, space);
	if (rc < 0 || !is_there) {
		if (rc == 0)
			held_let_go(&held);
		if (is_there)
			jump_put_back(space, batch); /* later, then */
		else
			jump_batch_free(batch);
		return;
	}
	tracer_stop_begin(tracer);
	rc = jump_prepare(plant, &held, batch, &err);
	tracer_stop_end(tracer);
	is_there = held_lasts(&held) && process_is_there(tracer, pid, p, space);
	if (is_there) {
		plant->opt.rings_made(plant->opt.ctx, held.t);
		held_let_go(&held);
	}
	if (rc < 0 || !is_there) {
		jump_batch_free(batch);
		return;
	}
	jump_make(plant, tracer, space, held.tid, NULL, batch);
}

static void upgrade(struct plant *plant, struct tracer *tracer, struct process *p)
{
	struct space *space = p->space;

	space_keep(space); /* no other one is to have its address, which tells of an exec */
	upgrade_kept(plant, tracer, p);
	space_put(tracer, space);
}

/*
 * At once, with @held's thread held all the time: a program that has just been started may be at its end before
 * its turn comes.
 */
static void upgrade_held(struct plant *plant, const struct held *held)
{
	struct space *space = held->t->process->space;
	struct jump_batch *batch = jump_collect(plant, space);
	struct ubp_err err;
	int rc;

	if (!batch)
		return;
	space->plant->jump->tried_ns = event_clock_now(CLOCK_KIND_MONO);
	tracer_stop_begin(held->tracer);
	rc = jump_prepare(plant, held, batch, &err);
	if (held_lasts(held)) {
		plant->opt.rings_made(plant->opt.ctx, held->t);
		held_keep(held, true);
	}
	if (rc == 0 && held_lasts(held))
		jump_make(plant, held->tracer, space, held->tid, held, batch);
	else
		jump_batch_free(batch);
	tracer_stop_end(held->tracer);
}

void upgrade_planted(struct plant *plant, const struct held *held)
{
	const struct process *p = held->t->process;
	bool is_new = tracee_has_executed(held->t);

	upgrade_due(plant, held->tracer, p->space, is_new);
	if (plant->opt.eager && (is_new || p->pid == held->tracer->command) &&
	    p->space->plant && p->space->plant->jump->due)
		upgrade_held(plant, held);
}

bool upgrade_pass(struct plant *plant, struct tracer *tracer, uint64_t limit_ns)
{
	uint64_t now;
	size_t pos = 0;
	void *value;

	if (!plant->upgrades_due)
		return true;
	plant->upgrades_due = false;
	now = event_clock_now(CLOCK_KIND_MONO);
	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		struct process *p = value;
		struct plant_space *ps = p->space->plant;

		if (!ps || !ps->jump->due || ps->closing || p->is_alone)
			continue;
		plant->upgrades_due = true;
		/* Each once: while one is seen to, others, or it again, may become due. */
		if (ps->jump->hits_before || ps->jump->tried_ns >= now ||
		    now - ps->jump->tried_ns < ps->jump->wait_ns)
			continue;
		if (event_clock_now(CLOCK_KIND_MONO) - now > limit_ns)
			return false;
		ps->jump->tried_ns = now;
		upgrade(plant, tracer, p);
		/* It stops once more, and others may have met a breakpoint. */
		tracer_poll(tracer, STOPS_BETWEEN);
		pos = 0; /* the table may have changed */
	}
	return true;
}

void upgrade_end(struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		struct space *space = ((struct process *)value)->space;
		const struct plant_space *ps = space->plant;

		if (!ps || ps->closing || !ps->jump->n_written)
			continue;
		jump_remove(tracer, space);
		tracer_poll(tracer, STOPS_BETWEEN);
		pos = 0; /* the table may have changed */
	}
}

void upgrade_note_thread(const struct held *held)
{
	const struct plant_space *ps = held->t->process->space->plant;
	struct held there = *held;
	struct ubp_regs regs;

	if (!ps || !rings_are_made(ps) || ubp_host_get_regs(held->tid, &regs) < 0)
		return;
	there.at = &regs;
	rings_add_thread(&there);
}

/*
 * A child may have its mother's thread pointer. She may never have been seen with it: it was
 * set after her exec.
 */
void upgrade_born(pid_t mother, const struct held *held)
{
	struct tracer *tracer = held->tracer;
	struct tracee *m = mother ? map_get(&tracer->tracees, (uint64_t)mother) : NULL;
	struct held of_mother;

	if (m && m->process->space == held->t->process->space) {
		of_mother = held_thread(tracer, m, NULL);
		upgrade_note_thread(&of_mother);
	}
	upgrade_note_thread(held);
}

void upgrade_rings(struct plant *plant, const struct held *held, const uint64_t *seen, size_t n)
{
	struct space *space = held->t->process->space;
	struct plant_space *ps = space->plant;
	struct ubp_err err;
	struct maps maps;
	bool is_first = !rings_are_made(ps);
	int rc = maps_read(held->tid, &maps, &err);

	if (rc == 0)
		rc = is_first ? rings_provide(plant, held, &maps, &err)
			      : rings_grow(plant, held, &err);
	maps_free(&maps);
	if (!held_lasts(held))
		return;
	held_keep(held, false); /* the hit goes on as if there had been no remote call */
	if (rc < 0) {
		ps->jump->failed |= is_first;
		if (!is_first)
			rings_note_full(ps);
		return;
	}
	plant->opt.rings_made(plant->opt.ctx, held->t);
	rings_add_thread(held);
	rings_look_around(space, held->tid, seen, n);
	(void)rings_open_gate(space, held->tid);
}
