/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What an earlier ubp has left beside its areas: the guard's data, tables of return addresses, reference counters. */

#include "engine/plant/leftover_parts.h"
#include "arch/detour.h"
#include "arch/guard_hijack.h"
#include "engine/plant/claims.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/detour.h"
#include "engine/base/map.h"
#include "engine/base/page.h"
#include "engine/base/ring.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/rings.h"
#include "engine/plant/semaphore.h"
#include "engine/plant/watch.h"
#include "engine/returns/hijack.h"
#include "engine/returns/returns.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/mem.h"

/* What we write to is memory that the target has to itself. */
static bool is_private(const struct maps *maps, uint64_t vaddr)
{
	const struct mapping *m = maps_at(maps, vaddr);

	return m && m->write && !m->exec && !m->shared && !m->ino;
}

int leftover_guard(struct adoption *a)
{
	struct plant_space *ps = a->space->plant;
	uint64_t vaddr = a->head.data;

	if (!is_private(a->maps, vaddr) || !is_private(a->maps, vaddr + UBP_GUARD_GATE) ||
	    vaddr != ps->areas->vaddr + ps->areas->len ||
	    mem_peek(&a->space->mem, vaddr, &a->data, sizeof(a->data)) != sizeof(a->data))
		return 0;
	a->has_data = true;
	guard_set_data(ps, vaddr);
	guard_take_over(ps, !a->data.retired);
	return 0;
}

int leftover_rings(struct adoption *a)
{
	struct plant_space *ps = a->space->plant;
	uint64_t code = a->data.claim_code;
	struct area *area = a->has_data ? area_of(ps, code) : NULL;

	if (a->has_data)
		(void)rings_set_gate(a->space, a->space, a->tid, RING_GATE_OFF);
	if (area && area_holds(area, code, UBP_CLAIM_CODE_MAX)) {
		leftover_keep_room(area, code - area->vaddr, UBP_CLAIM_CODE_MAX);
		claims_keep_room(ps, code);
	}
	return 0;
}

/* A table of return addresses: whole, in memory that the target has to itself, of a size that we make. */
static bool is_table(const struct maps *maps, uint64_t vaddr, uint64_t mask, size_t entry_len,
		     uint64_t most)
{
	const struct mapping *m = vaddr ? maps_at(maps, vaddr) : NULL;
	uint64_t n = mask + 1;

	return m && m->write && !m->exec && !m->shared && !m->ino && vaddr % PAGE == 0 &&
	       n >= UBP_RETURNS_LEAST && n <= most && (n & mask) == 0 &&
	       n * entry_len <= m->end - vaddr;
}

/* The table of return addresses that detours replaced, and the code for them. */
static void adopt_hijacks(struct plant_space *ps, const struct maps *maps,
			  const struct guard_data *data)
{
	struct area *area = area_of(ps, data->return_vaddr);

	if (!area || !area_holds(area, data->return_vaddr, UBP_RETURN_CODE_MAX))
		return;
	/* The code is in no table of the area, and its tracer may have been killed before it told that
	 * the room is taken. */
	leftover_keep_room(area, data->return_vaddr - area->vaddr, UBP_RETURN_CODE_MAX);
	if (!data->hijacks)
		hijack_set_room(ps, data->return_vaddr);
	if (!is_table(maps, data->hijacks, data->hijacks_mask, sizeof(struct guard_hijack),
		      UBP_HIJACKS_MOST))
		return;
	hijack_set_place(ps, (struct hijack_place){ data->hijacks, data->hijacks_mask,
						    data->return_vaddr });
}

int leftover_hijacks(struct adoption *a)
{
	if (a->has_data)
		adopt_hijacks(a->space->plant, a->maps, &a->data);
	return 0;
}

/*
 * Frames whose return address is still hijacked: they will come by our trampoline,
 * and are nobody's probe any more. So may those whose stack word holds something else: the stack was
 * copied away, and comes back.
 */
static int adopt_return(struct adoption *a, const struct guard_return *entry, uint64_t index)
{
	const struct space *space = a->space;
	size_t size = space->arch->addr_size;
	uint64_t now = 0;

	if (entry->word < PAGE || !entry->real ||
	    mem_peek(&space->mem, entry->word, &now, size) != size)
		return 0;
	return leftover_noted(a, returns_adopt(space->plant, entry, index, LEFTOVER_KEY_LOOKS));
}

int leftover_returns(struct adoption *a)
{
	const struct guard_head *head = &a->head;
	const struct space *space = a->space;
	struct plant_space *ps = space->plant;
	uint64_t n = head->returns_mask + 1;
	struct guard_return *some;
	int rc = 0;

	if (!is_table(a->maps, head->returns, head->returns_mask, sizeof(*some),
		      UBP_RETURNS_MOST))
		return 0;
	some = malloc(LEFTOVER_CHUNK * sizeof(*some));
	if (!some)
		return -ENOMEM;
	for (uint64_t at = 0; at < n && rc == 0; at += LEFTOVER_CHUNK) {
		size_t k = n - at < LEFTOVER_CHUNK ? n - at : LEFTOVER_CHUNK,
		       len = k * sizeof(*some);

		if (mem_peek(&space->mem, head->returns + at * sizeof(*some), some, len) != len)
			break;
		for (size_t i = 0; i < k && rc == 0; i++)
			rc = adopt_return(a, &some[i], at + i);
	}
	free(some);
	returns_sweep_later(ps);
	returns_set_place(ps, (struct return_place){ head->returns, head->returns_mask });
	return rc;
}

int leftover_watch(struct adoption *a)
{
	struct plant_space *ps = a->space->plant;

	watch_begin(ps, returns_n(ps) || hijack_place(ps).table);
	return 0;
}

int leftover_semaphores(struct adoption *a)
{
	struct plant_space *ps = a->space->plant;
	struct guard_found found = { 0 };

	if (!a->has_data)
		return 0;
	for (uint64_t i = 0; i < a->data.n_semaphores && i < UBP_GUARD_SEMAPHORES; i++)
		found.n_raised +=
			semaphore_drop(a->space, a->maps, a->tid, &a->data.semaphores[i]);
	guard_note_found(ps, found);
	semaphore_note_none(ps, a->space, a->tid);
	return 0;
}
