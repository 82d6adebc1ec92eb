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

static const char is_replaced[] =
	"another probe stands on the instructions that a jump would replace";
static const char is_reached[] = "the jump of another probe reaches over it";
static const char has_hop[] = "the jump of another probe is in bytes that it would replace";

/* Is its place, behind which it may stand, in front of @end? */
static bool is_under(const struct site *other, uint64_t end)
{
	bool has_lead = other->n_probes && !other->run_up;

	return other->vaddr - (has_lead ? site_behind(other, other->probes[0]) : 0) < end;
}

/* @back: bytes behind it. */
static bool reaches_over(const struct site *other, uint64_t back)
{
	return (other->is_patched && other->patch_len > back) ||
	       (other->jump && other->jump->reach > back);
}

const char *neighbour_of(const struct plant_space *ps, const struct site *site, size_t len)
{
	if (hop_near(ps, site->vaddr, len))
		return has_hop;
	for (uint64_t at = site->vaddr + 1; at < site->vaddr + len + UBP_INSN_MAX; at++) {
		const struct site *other = map_get(&ps->sites, at);

		if (other && is_under(other, site->vaddr + len))
			return is_replaced;
	}
	for (uint64_t back = 1; back < UBP_WINDOW_MAX; back++) {
		const struct site *other = map_get(&ps->sites, site->vaddr - back);

		if (other && reaches_over(other, back))
			return is_reached;
	}
	return NULL;
}

const char *neighbour_at(const struct plant_space *ps, const struct place *at, size_t len)
{
	const struct site *site = at->sites[at->i];
	uint64_t end = site->vaddr + len;

	if (hop_near(ps, site->vaddr, len))
		return has_hop;
	for (size_t i = at->i + 1; i < at->n && at->sites[i]->vaddr < end + UBP_INSN_MAX; i++)
		if (is_under(at->sites[i], end))
			return is_replaced;
	for (size_t i = at->i; i > 0; i--) {
		const struct site *other = at->sites[i - 1];

		if (site->vaddr - other->vaddr >= UBP_WINDOW_MAX)
			break;
		if (reaches_over(other, site->vaddr - other->vaddr))
			return is_reached;
	}
	return NULL;
}
