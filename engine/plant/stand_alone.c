/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/stand_alone.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/bell_way.h"
#include "engine/plant/claims.h"
#include "engine/plant/gate_page.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/hooks.h"
#include "engine/plant/leave.h"
#include "engine/plant/mirror.h"
#include "engine/plant/renew.h"
#include "engine/plant/rings.h"
#include "engine/plant/samples.h"
#include "engine/plant/scan.h"
#include "engine/plant/self_read.h"
#include "engine/plant/ticks.h"
#include "engine/plant/upgrade.h"
#include "engine/plant/watch.h"
#include "engine/returns/returns.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* guard_gate.alone */
enum { ALONE = 1, ALONE_SOON = 2 };

#define AWAIT_NS 2000000000ULL

/* Does only a stop tell what @site is probed for? A probe's breakpoint, or a detour's trap that is always taken. */
static const char *why_stops(const struct ubp_arch *arch, const struct site *site,
			     bool is_forced)
{
	if (site->run_up && site->n_probes)
		return "returns are caught at instructions of it";
	/* Some hits of it are stops, and the trap may come where no signal can be taken. */
	if (site->rung == SITE_JUMPED && jump_asks_room(site))
		return "functions of it do not make sure of the stack that a detour needs";
	if (!is_forced && site->rung == SITE_JUMPED && site->jump &&
	    !mirror_takes_breakpoints(arch, site))
		return "a debugger's breakpoint could break one of its jumps (--force)";
	if (site->n_exits)
		return "returns are caught at instructions of it";
	if (!site->n_probes || !site->planted)
		return NULL;
	if (site->rung != SITE_JUMPED)
		return "not all of its places are jumps";
	for (size_t i = 0; i < site->n_probes; i++) {
		if (site->probes[i]->at_hit.asks_name)
			return "a probe asks for the thread's name";
	}
	return NULL;
}

/*
 * Were all sites looked at, and none was a reason? Whatever makes one a reason changes the target (area_note_change()), or lets its
 * jump be renewed first (upgrade_is_settled()).
 */
static bool is_as_seen(const struct plant_space *ps)
{
	return ps->changed_ns && ps->alone_seen_ns == ps->changed_ns;
}

static const char *why_sites_stop(const struct space *space, bool is_forced)
{
	const struct plant_space *ps = space->plant;
	const char *why = NULL;
	size_t pos = 0;
	void *value;

	if (is_as_seen(ps))
		return NULL;
	while (!why && map_next(&ps->sites, &pos, NULL, &value))
		why = why_stops(space->arch, value, is_forced);
	return why;
}

static const char *why_threads_stay(const struct process *p)
{
	for (const struct tracee *t = p->tracees; t; t = t->next) {
		if (t->probes->lends || t->remote.is_in || t->parked)
			return "a thread of it is in the middle of something";
	}
	return NULL;
}

/* Those that stay so. */
static const char *why_never(const struct plant *plant, const struct process *p)
{
	const struct space *space = p->space;

	if (!space->arch->detour.alone)
		return "its instruction set has no such detours";
	/* Nobody is there to make a fault good. */
	if (!plant->opt.force && plant->opt.frames)
		return "stacks are read, whose memory may be gone by then (--force)";
	if (guard_is_missing(space->plant))
		return "it has no guard";
	return NULL;
}

/* Functions whose entry the tracer saw. Some never return, so not for ever: as long behind the last one that was entered. */
static bool awaits_returns(const struct process *p)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), *since = &p->probes->awaits_ns;
	uint64_t n_ever = returns_n_ever(p->space->plant);

	if (!returns_n(p->space->plant)) {
		*since = 0;
		return false;
	}
	if (!*since || p->probes->awaits_n_ever != n_ever)
		*since = now;
	p->probes->awaits_n_ever = n_ever;
	return now - *since < AWAIT_NS;
}

const char *stand_alone_why_not(const struct plant *plant, const struct process *p)
{
	const struct space *space = p->space;
	struct plant_space *ps = space->plant;
	const char *why;
	bool reads;

	if (!ps || ps->closing || p->is_leaving || p->waits || p->at_exec || p->is_vforked)
		return "it is in the middle of something";
	why = why_never(plant, p);
	if (why)
		return why;
	if (!upgrade_is_settled(ps) || ps->n_lent)
		return "its jumps are not made yet";
	if (space_is_shared(space))
		return "it shares its memory with another process";
	why = why_sites_stop(space, plant->opt.force);
	if (!why)
		why = bell_why_not(ps, plant->opt.follows);
	if (!why)
		why = watch_why_traced(space);
	if (!why && !returns_find_home(ps))
		why = "return addresses that were replaced in it have no table";
	if (!why && awaits_returns(p))
		why = "returns are awaited that only a tracer sees";
	if (!why)
		why = rings_why_not_alone(p);
	if (!why && bell_waits(ps))
		why = "a thread of it has asked to be traced";
	reads = !why && !is_as_seen(ps) && self_read_is_wanted(p);
	if (!why && !reads)
		ps->alone_seen_ns = ps->changed_ns;
	/* With --force a fault is the program's. */
	if (!plant->opt.force && reads)
		why = self_read_why_not(p);
	return why ? why : why_threads_stay(p);
}

/* Not known, it is asked for at each exception. */
static void tell_stacks(const struct held *held)
{
	const struct process *p = held->t->process;
	struct ubp_err ignored;
	struct maps maps;

	if (maps_read(held->tid, &maps, &ignored) == 0)
		scan_tell_stacks(p, &maps);
	maps_free(&maps);
}

static bool is_go(struct plant *plant, const struct held *held)
{
	struct space *space = held->t->process->space;
	struct ubp_err ignored;
	struct maps maps;
	bool is = maps_read(held->tid, &maps, &ignored) < 0 ||
		  hooks_is_go(plant, &space->cost, held->tid, &maps);

	maps_free(&maps);
	return is;
}

/* With --force a fault is the program's. */
static const char *why_reads_stay(struct plant *plant, const struct held *held,
				  struct process *p, bool reads)
{
	const char *why = NULL;

	p->probes->reads = reads;
	if (p->probes->reads)
		why = self_read_why_not(p);
	if (p->probes->reads && !why)
		why = self_read_why_unseen(plant, held);
	if (!why || !plant->opt.force)
		return why;
	p->probes->reads = false;
	return NULL;
}

struct stand_alone_facts stand_alone_look(const struct process *p)
{
	const struct plant_space *ps = p->space->plant;

	return (struct stand_alone_facts){ !is_as_seen(ps) && self_read_is_wanted(p),
					   watch_has_unwinders(ps), renew_has_claimless(ps) };
}

int stand_alone_prepare(struct plant *plant, const struct held *held,
			const struct stand_alone_facts *facts, const char **ret_why,
			struct ubp_err *err)
{
	struct process *p = held->t->process;
	int rc;

	*ret_why = NULL;
	/* Its runtime makes processes by itself. */
	if (plant->opt.follows && is_go(plant, held))
		*ret_why = "its children would not be seen";
	else
		*ret_why = why_reads_stay(plant, held, p, facts->reads);
	if (*ret_why)
		return ubp_fail(err, ENOTSUP, "%s", *ret_why);
	*ret_why = "its threads may not read the clock that detours read";
	rc = ticks_check(held, err);
	if (rc < 0)
		return rc;
	*ret_why = "its threads could not claim rings by themselves";
	claims_provide(held, plant->code_has);
	if (!claims_code(p->space->plant))
		return ubp_fail(err, ENOTSUP, "%s", *ret_why);
	if (facts->has_claimless && renew_claimless(plant, p->space->plant))
		return ubp_fail(err, EAGAIN, "its jumps are made anew");
	/* Where there are none to be had, who comes is not recorded, and counted. */
	if (rings_spare(plant, held, err) == -ESRCH)
		return -ESRCH;
	if (facts->has_unwinders)
		tell_stacks(held);
	return gate_page_wipe(held, err);
}

int stand_alone_announce(const struct process *p)
{
	/* Before anybody is told to go on without a trap: who has looked for an offer in vain takes it yet. */
	claims_set_alone(p, true);
	return guard_set_alone(p->space, p->tracees->tid, ALONE_SOON);
}

void stand_alone_refuse(struct process *p)
{
	uint64_t n = ++p->probes->n_refused;

	(void)guard_set_alone(p->space, p->pid, ALONE + n * UBP_ALONE_REFUSED);
}

int stand_alone_settle(struct tracer *tracer, struct process *p)
{
	struct space *space = p->space;
	pid_t pid = p->pid;
	int rc = bell_ways_wait(tracer, space);

	if (rc < 0)
		return rc;
	if (!process_is_there(tracer, pid, p, space))
		return -ESRCH;
	return p->probes->reads ? self_read_begin(tracer, p) : 0;
}

int stand_alone_begin(const struct process *p)
{
	int rc = guard_set_alone(p->space, p->tracees->tid, ALONE);

	if (rc < 0)
		return rc;
	for (struct tracee *t = p->tracees; t; t = t->next)
		samples_hand_over(t, rings_of(p->space->plant));
	plant_rest(p->space, p->tracees->tid);
	return 0;
}

int stand_alone_send_home(const struct process *p)
{
	return returns_set_trap(p->space, p->tracees->tid, false);
}

int stand_alone_note(struct process *p)
{
	struct process_probes *probes = p->probes;
	size_t n = 0;

	for (const struct tracee *t = p->tracees; t; t = t->next)
		n += t->probes->trap_opened;
	probes->n_opened = 0;
	if (n && VEC_FIT(probes->opened, n) < 0)
		return -ENOMEM;
	for (const struct tracee *t = p->tracees; t; t = t->next)
		if (t->probes->trap_opened)
			probes->opened[probes->n_opened++] =
				(struct opened_mask){ t->tid, t->probes->open_mask };
	return 0;
}

/* A thread that has ended meanwhile is none of them; one with its number and such a mask would be its like. */
static void know_masks_again(const struct tracer *tracer, const struct process *p)
{
	for (size_t i = 0; i < p->probes->n_opened; i++) {
		const struct opened_mask *opened = &p->probes->opened[i];
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)opened->tid);

		if (!t || t->process != p)
			continue;
		t->probes->trap_opened = true;
		t->probes->open_mask = opened->mask;
	}
}

void stand_alone_forget(struct process *p)
{
	free(p->probes->opened);
	p->probes->opened = NULL;
	p->probes->n_opened = 0;
}

void stand_alone_end(struct tracer *tracer, struct process *p)
{
	pid_t tid = p->tracees ? p->tracees->tid : p->pid;

	(void)guard_set_alone(p->space, tid, 0);
	self_read_end(p);
	(void)returns_set_trap(p->space, tid, true);
	plant_wake(p->space, tid);
	returns_drop_home(p->space);
	rings_drop_ended(tracer, p->space->plant);
	rings_look_around(p->space, tid, NULL, 0); /* what it has mapped meanwhile */
	claims_set_alone(p, false);
	know_masks_again(tracer, p);
	stand_alone_forget(p);
}
