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
#include "engine/plant/area.h"
#include "engine/plant/claims.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/leave.h"
#include "engine/plant/rings.h"
#include "engine/plant/upgrade.h"
#include "engine/space/probe_list.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* Does only a stop tell what @site is probed for? A probe's breakpoint, or a detour's trap that is always taken. */
static const char *why_stops(const struct site *site)
{
	if (!site->n_probes || !site->planted)
		return NULL;
	if (site->rung != SITE_JUMPED)
		return "not all of its places are jumps";
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->asks_name)
			return "a probe asks for the thread's name";
	return NULL;
}

static const char *why_sites_stop(const struct plant_space *ps)
{
	const char *why = NULL;
	size_t pos = 0;
	void *value;

	while (!why && map_next(&ps->sites, &pos, NULL, &value))
		why = why_stops(value);
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
	if (plant->opt.lossless)
		return "a full ring is to stop it (--lossless)";
	if (probe_list(plant)->has_returns)
		return "return addresses are replaced in it";
	if (guard_is_missing(space->plant))
		return "it has no guard";
	return NULL;
}

const char *stand_alone_why_not(const struct plant *plant, const struct process *p,
				bool *ret_soon)
{
	const struct space *space = p->space;
	const struct plant_space *ps = space->plant;
	const char *why;

	*ret_soon = true;
	if (!ps || ps->closing || p->is_leaving || p->waits || p->at_exec || p->is_vforked)
		return "it is in the middle of something";
	why = why_never(plant, p);
	*ret_soon = !why;
	if (why)
		return why;
	if (!upgrade_is_settled(ps) || ps->n_lent)
		return "its jumps are not made yet";
	if (space_is_shared(space))
		return "it shares its memory with another process";
	if (!mem_is_sure(&space->mem, task_live_thread(p->pid)))
		return "its memory may not answer";
	why = why_sites_stop(ps);
	if (!why && !rings_are_made(ps))
		why = "it has no rings";
	return why ? why : why_threads_stay(p);
}

int stand_alone_prepare(const struct plant *plant, const struct held *held, struct ubp_err *err)
{
	const struct space *space = held->t->process->space;
	const struct plant_space *ps = space->plant;
	const uint64_t args[6] = { guard_gate(ps), UBP_GUARD_DATA_LEN - UBP_GUARD_GATE,
				   MADV_WIPEONFORK };
	int64_t result;
	int rc;

	/* Where there are none to be had, who comes is not recorded, and counted. */
	if (rings_spare(plant, held, err) == -ESRCH)
		return -ESRCH;
	rc = area_call(held, ps->stub, space->arch->call.nr_madvise, args, &result, err);

	if (rc < 0 || result == 0)
		return rc;
	return ubp_fail(err, (int)-result, "madvise(MADV_WIPEONFORK): %s",
			strerror((int)-result));
}

static int set_alone(const struct space *space, pid_t tid, uint64_t is_alone)
{
	return mem_write(&space->mem, tid,
			 guard_gate(space->plant) + offsetof(struct guard_gate, alone),
			 &is_alone, sizeof(is_alone));
}

int stand_alone_begin(const struct process *p)
{
	int rc = set_alone(p->space, p->tracees->tid, 1);

	if (rc == 0) {
		claims_set_alone(p, true);
		plant_rest(p->space, p->tracees->tid);
	}
	return rc;
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

	(void)set_alone(p->space, tid, 0);
	plant_wake(p->space, tid);
	rings_drop_ended(tracer, p->space->plant);
	claims_set_alone(p, false);
	know_masks_again(tracer, p);
	stand_alone_forget(p);
}

uint64_t stand_alone_place(const struct space *space)
{
	return space->plant->areas->vaddr;
}
