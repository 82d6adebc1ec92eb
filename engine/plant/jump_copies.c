/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Copies of functions (leaf.h), when their jumps are taken out for good: who is in one, and what its rets do. */

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/map.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/jump_who.h"
#include "engine/plant/patches.h"
#include "engine/plant/site.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/hold.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"

void jump_disarm_copies(const struct plant_space *owner, bool only_used,
			struct patches *patches)
{
	const struct arch_jump *arch = &patches->space->arch->jump;
	size_t pos = 0;
	void *value;

	patches->leaf_ret = (struct page_patch){ arch->leaf_ret.code, arch->leaf_ret.len };
	while (map_next(&owner->sites, &pos, NULL, &value)) {
		const struct site_jump *jump = NULL;

		while ((jump = jump_next(value, jump))) {
			const struct detour *d = &jump->detour;

			if (!d->leaf_len || (only_used && !who_uses(owner, jump)))
				continue;
			for (size_t i = 0; i < d->n_places; i++)
				if (d->places[i].is_ret)
					patches_add(patches, jump->copy + d->places[i].at,
						    &patches->leaf_ret);
		}
	}
}

void jump_leave_copies(const struct space *space)
{
	for (struct tracee *t = NULL; (t = space_next(space, t));) {
		const struct site_jump *jump;
		const struct site *site;
		uint64_t pc, at, from;

		if (!t->held || hold_get_pc(t, &pc) < 0)
			continue;
		site = plant_site_of_slot(space, pc);
		jump = site ? jump_at(site, pc, &at) : NULL;
		if (jump && jump->detour.leaf_len && !jump->is_left &&
		    jump_insn_at(jump, at, &from) && from)
			(void)hold_set_pc(t, site->vaddr + from);
	}
}
