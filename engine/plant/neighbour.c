/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/neighbour.h"

#include <stdint.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/map.h"
#include "engine/plant/hop.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"

const char *neighbour_of(const struct plant_space *ps, const struct site *site, size_t len)
{
	if (hop_near(ps, site->vaddr, len))
		return "the jump of another probe is in bytes that it would replace";
	for (uint64_t at = site->vaddr + 1; at < site->vaddr + len + UBP_INSN_MAX; at++) {
		const struct site *other = map_get(&ps->sites, at);

		/* It may stand behind the probe. */
		if (other && at - (other->n_probes ? site_behind(other, other->probes[0]) : 0) <
				     site->vaddr + len)
			return "another probe stands on the instructions that a jump would "
			       "replace";
	}
	for (uint64_t back = 1; back < UBP_WINDOW_MAX; back++) {
		const struct site *other = map_get(&ps->sites, site->vaddr - back);

		if (other && ((other->is_patched && other->patch_len > back) ||
			      (other->jump && other->jump->reach > back)))
			return "the jump of another probe reaches over it";
	}
	return NULL;
}
