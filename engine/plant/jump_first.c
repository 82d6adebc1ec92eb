/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Of a pair of jumps (pair.h) the first is taken back before the second, whose bytes it has. */

#include "engine/plant/jump_priv.h"

#include "engine/space/site_jump.h"
#include "engine/space/space.h"

int jump_take_first_back(const struct space *space, const struct site *site)
{
	uint64_t behind = site->jump->is_begun && site->jump->run_up < 0
				  ? (uint64_t)-site->jump->run_up
				  : 0;
	struct site *ret = behind ? plant_site_at(space, site->vaddr - behind) : NULL;
	int rc;

	if (!ret || !ret->jump || !ret->jump->is_begun || ret->jump->reach <= behind)
		return 0;
	rc = jump_to_breakpoint(space, ret);
	if (rc == 0)
		jump_refuse(ret, "what stands behind the ret instruction is not moved");
	return rc;
}
