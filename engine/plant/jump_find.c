/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the hit path, and a copy of the memory, want to know of jumps. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plant/jump.h"

struct site *jump_of_trap(const struct space *space, uint64_t vaddr, size_t *ret_first,
			  bool *ret_is_return)
{
	const struct plant_space *ps = space->plant;
	struct site *site = ps ? map_get(&ps->jump.traps, vaddr) : NULL;
	const struct site_jump *jump = site ? site->jump : NULL;

	*ret_first = 0;
	*ret_is_return = false;
	if (jump && jump->scans)
		return jump->copy + jump->detour.trap_at[0] == vaddr ? site : NULL;
	for (size_t i = 0; jump && i < site->n_probes; i++) {
		*ret_first = i;
		*ret_is_return = jump->copy + jump->detour.ret_trap_at[i] == vaddr;
		if (*ret_is_return || jump->copy + jump->detour.trap_at[i] == vaddr)
			return site;
	}
	return NULL;
}

bool jump_has(const struct site *site, uint64_t vaddr, uint64_t *ret_at)
{
	if (!site->jump || vaddr - site->jump->copy >= site->jump->len)
		return false;
	*ret_at = vaddr - site->jump->copy;
	return true;
}

uint64_t jump_fixup(const struct site *site, uint64_t at)
{
	const struct detour *d = &site->jump->detour;
	size_t low = 0, high = d->n_loads;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->loads[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n_loads && d->loads[low].at == at
		       ? site->jump->copy + d->loads[low].fixup
		       : 0;
}

int jump_copy(const struct site *from, struct site *to)
{
	struct site_jump *copy;

	to->jump = NULL;
	if (!from->jump)
		return 0;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *from->jump;
	copy->detour.code = NULL;
	copy->detour.loads = malloc((copy->detour.n_loads + 1) * sizeof(*copy->detour.loads));
	if (!copy->detour.loads) {
		free(copy);
		return -ENOMEM;
	}
	if (copy->detour.n_loads)
		memcpy(copy->detour.loads, from->jump->detour.loads,
		       copy->detour.n_loads * sizeof(*copy->detour.loads));
	to->jump = copy;
	return 0;
}
