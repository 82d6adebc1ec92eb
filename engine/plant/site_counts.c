/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/site_counts.h"

#include <stdint.h>

#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"

static void add(uint32_t *counter, bool up)
{
	__atomic_store_n(counter, *counter + (up ? 1 : -1U), __ATOMIC_RELAXED);
}

static bool is_counted(const struct site *site, const struct uprobe *probe)
{
	return uprobe_is_since(probe, site->n_copied);
}

void count_site(const struct site *site, struct uprobe *probe, bool is_exit)
{
	struct uprobe_stats *st = &probe->stats;

	/* The ret behind a run-up is the site. */
	if (!is_counted(site, probe) || site->run_up)
		return;
	add(&st->sites, true);
	if (site->rung == SITE_STEPPED)
		add(&st->stepped, true);
	else if (site->rung == SITE_IN_PLACE)
		add(&st->in_place, true);
	else
		add(&st->boosted,
		    true); /* also of a jump: that is not for this probe, and gives way */
	if (!is_exit && site_behind(site, probe))
		add(&st->behind, true);
	if (!is_exit && probe->window.is_unwanted)
		add(&st->beside_kernel, true);
	if (probe->kind == PROBE_RETURN)
		add(is_exit ? &st->at_rets : &st->hijacked, true);
}

void count_jump(const struct site *site, bool up)
{
	const struct site_jump *jump = site->jump;

	for (size_t i = 0; i < jump->n_probes; i++) {
		struct uprobe *probe = jump->probes[i];

		if (!is_counted(site, probe))
			continue;
		/* The rets are its sites. */
		if (jump->detour.leaf_len && probe->kind == PROBE_RETURN) {
			add(&probe->stats.by_copy, up);
			continue;
		}
		add(&probe->stats.jumped, up);
		if (!site_behind(site, probe))
			add(&probe->stats.at_first, up);
		if (jump->hop_at && !site->hop.is_own)
			add(jump->reach > jump->jump_len ? &probe->stats.by_punned
							 : &probe->stats.by_short,
			    up);
		add(&probe->stats.boosted, !up);
	}
}
