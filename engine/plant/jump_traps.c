/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where the breakpoints of detours are, for the hit path. */

#include "engine/plant/jump_priv.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"

int jump_note_traps(struct plant_space *ps, struct site *site, const struct site_jump *jump)
{
	struct map *traps = &ps->jump->traps;
	uint64_t copy = jump->copy;
	int rc = jump->is_watch ? map_put(traps, copy + jump->detour.trap_at[0], site) : 0;

	for (size_t i = 0; i < jump->n_probes && rc == 0; i++) {
		if (jump->detour.trap_at[i])
			rc = map_put(traps, copy + jump->detour.trap_at[i], site);
		if (rc == 0 && jump->detour.ret_trap_at[i])
			rc = map_put(traps, copy + jump->detour.ret_trap_at[i], site);
	}
	return rc < 0 ? rc : 0;
}

void jump_forget_traps(struct plant_space *ps, const struct site_jump *jump)
{
	for (size_t i = 0; i < UBP_DETOUR_PROBES; i++) {
		map_remove(&ps->jump->traps, jump->copy + jump->detour.trap_at[i]);
		map_remove(&ps->jump->traps, jump->copy + jump->detour.ret_trap_at[i]);
	}
}
