/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A site that stands behind a lead becomes one at the lead. An instruction has made a fault there: it may run again
 * without the lead, which is no other hit; or the program's handler skips it, and then no hit is seen.
 */

#include "engine/plant/first.h"

#include <errno.h>

#include "engine/base/err.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/jump.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/site.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/process.h"

static const char why_fault[] = "its first instructions made a fault";

/* The first of its probes whose lead it stands behind, or NULL. */
static struct uprobe *led(const struct site *site)
{
	for (size_t i = 0; i < site->n_probes && !site->run_up; i++)
		if (site_behind(site, site->probes[i]))
			return site->probes[i];
	return NULL;
}

/* What stands there is no reason to fail: then all stays as it is. */
static struct site *make_first(struct plant *plant, struct space *space, pid_t tid,
			       const struct site *site, const struct uprobe *probe)
{
	struct plant_space *ps = space->plant;
	uint64_t vaddr = site_probed(site, probe);
	struct area *area = area_of(ps, site->slot);
	struct site_origin from = { .code = &probe->code,
				    .insn = &probe->insn,
				    .what = probe->what };
	struct mapping m = {
		.start = vaddr, .foffset = probe->foffset, .dev = site->dev, .ino = site->ino
	};
	struct mem_view view = { .mem = &space->mem };
	struct site *first = NULL;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (!area || plant_site_at(space, vaddr) ||
	    (area_is_full(area) && !map_get(&ps->slots, vaddr)) ||
	    site_provide(space, tid, &view, vaddr, &m, &from, &first, &err) < 0)
		return NULL;
	first->is_first = true;
	if (site_prepare(plant, space, tid, &view, first, area, &err) == 0 &&
	    area_enter(space, tid, area_of(ps, first->slot), &first, 1) == 0)
		return first;
	site_discard(ps, first);
	return NULL;
}

static bool take_probes(struct site *first, const struct site *site)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site_add_probe(first, site->probes[i]) < 0)
			return false;
	return true;
}

/* With all threads held. Those that are under way in the old site's slot know their way on. */
static bool move(struct plant *plant, struct space *space, pid_t tid, struct site *site)
{
	struct uprobe *probe = led(site);
	struct site *first = make_first(plant, space, tid, site, probe);
	struct ubp_err err;

	if (!first)
		return false;
	ubp_err_reset(&err);
	if (!take_probes(first, site) || site_plant(space, tid, first, &err) < 0) {
		site_discard(space->plant, first);
		return false;
	}
	site_unplant(space, tid, site);
	area_note_change(space, tid);
	site->planted = false;
	site->is_moved = true;
	jump_refuse(first, why_fault);
	return true;
}

static bool is_movable(const struct site *site)
{
	return site->planted && !site->is_moved && led(site) && site->slot && !site->n_exits &&
	       !site->watches && site->rung == SITE_BOOSTED;
}

bool site_to_first(struct plant *plant, const struct held *held, struct site *site)
{
	struct space *space = held->t->process->space;
	struct hold_scope scope;
	bool done = false;

	if (space->plant->closing || !led(site))
		return false;
	hold_scope_begin(&scope, held);
	if ((site->rung != SITE_JUMPED || jump_demote(held, site, why_fault)) &&
	    hold_scope_lasts(&scope)) {
		if (hold_all(held->tracer, space, JUMP_HOLD_MS) && is_movable(site))
			done = move(plant, space, held->tid, site);
		hold_end(held->tracer, space, held);
	}
	hold_scope_end(&scope);
	return done;
}
