/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/stop_count.h"

#include "arch/arch.h"
#include "engine/hit/state.h"
#include "engine/plant/rings.h"
#include "engine/returns/entry.h"
#include "engine/returns/hijack.h"
#include "engine/returns/returns.h"
#include "engine/space/return_instance.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/stop_why.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"

static void count(struct uprobe *probe, enum stop_why why)
{
	uprobe_count(&probe->stats.stops[why]);
}

static bool may_have_jump(const struct site *site)
{
	return !site->no_jump && site->probes[0]->window.len;
}

void stop_count_site(const struct site *site)
{
	if (site->n_probes)
		count(site->probes[0],
		      may_have_jump(site) ? STOP_BEFORE_JUMP : STOP_BREAKPOINT);
	else if (site->n_exits)
		count(site->exits[0].probe, STOP_AT_RET);
}

void stop_count_return(const struct return_instance *ri)
{
	const struct site *site = ri->n_entries ? ri->entries[0].site : NULL;

	for (size_t i = 0; site && i < site->n_probes; i++)
		if (site->probes[i]->kind == PROBE_RETURN) {
			count(site->probes[i], STOP_RETURN);
			return;
		}
}

bool stop_is_tail(const struct held *held)
{
	const struct plant_space *ps = held->t->process->space->plant;
	uint64_t to;

	return return_address(held->t, held->at, &to) &&
	       (to == hijack_place(ps).code || to == returns_trampoline(ps));
}

bool stop_saw_new_memory(const struct hit *hit, const struct plant_space *ps)
{
	for (size_t i = 0; i < hit->n_seen; i++)
		if (!rings_may_read(ps, hit->seen[i]))
			return true;
	return false;
}

void stop_count_detour(const struct hit *hit, const struct held *held,
		       const struct site_jump *jump, size_t first, bool is_tail)
{
	const struct plant_space *ps = held->t->process->space->plant;
	enum stop_why why = STOP_DETOUR;

	if (is_tail)
		why = STOP_TAIL;
	else if (!rings_are_made(ps) || !rings_has_thread(ps, held->tid))
		why = STOP_THREAD;
	else if (stop_saw_new_memory(hit, ps))
		why = STOP_MEMORY;
	count(jump->probes[first], why);
}
