/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A uprobe of the kernel's that comes to one of our breakpoints finds what it would write there
 * itself. From then on it has the hits; and when it goes, it takes the breakpoint out. Nothing
 * tells us so in time, but at the end it is looked for.
 */

#include "engine/plant/taken_sites.h"

#include <stdlib.h>
#include <string.h>

#include "engine/code/kernel_uprobe.h"
#include "engine/elf/object.h"
#include "engine/plant/site.h"
#include "engine/space/probe_list.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* Is what we have written there no longer there? */
static bool is_gone(const struct space *space, struct mem_view *view, const struct site *site)
{
	const struct site_jump *jump = site->rung == SITE_JUMPED ? site->jump : NULL;
	const uint8_t *ours = jump ? jump->bytes : space->arch->swbp.code;
	size_t len = space->arch->swbp.len;
	uint8_t now[UBP_INSN_MAX];

	return mem_view_peek(view, site->vaddr, now, len) == len && memcmp(now, ours, len) != 0;
}

/* Nothing hides from us behind the first instruction. */
static bool is_hidden(const struct space *space, struct mem_view *view, const struct site *site,
		      const struct uprobe *probe)
{
	if (!site->planted || site->rests || site->is_patched || site_behind(site, probe))
		return false;
	return probe->is_taken || is_gone(space, view, site);
}

/* By place: many are in one page. */
void taken_sites_look(const struct plant *plant)
{
	const struct probe_list *list = probe_list(plant);
	struct object_page page = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		struct uprobe *u = list->v[i];

		if (u->stats.sites > u->stats.behind)
			u->is_taken = object_has_kernel_uprobe(plant->opt.object_of(u),
							       u->foffset, &page);
	}
}

unsigned taken_sites_count(struct space *space, const struct uprobe **ret_first)
{
	const struct plant_space *ps = space->plant;
	struct mem_view view = { .mem = &space->mem };
	struct site **sites = NULL;
	size_t n_sites = 0;
	unsigned n = 0;

	if (ps && !ps->closing)
		sites = plant_sites_by_place(ps, &n_sites);
	for (size_t k = 0; k < n_sites; k++) {
		const struct site *site = sites[k];

		for (size_t i = 0; i < site->n_probes; i++) {
			struct uprobe *probe = site->probes[i];

			if (!is_hidden(space, &view, site, probe))
				continue;
			if (!n || probe->number < (*ret_first)->number)
				*ret_first = probe;
			n++;
			__atomic_store_n(&probe->stats.hidden, probe->stats.hidden + 1,
					 __ATOMIC_RELAXED);
		}
	}
	free(sites);
	return n;
}
