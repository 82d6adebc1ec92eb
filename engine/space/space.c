/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/space.h"

#include <stdlib.h>

#include "engine/space/guard_part.h"
#include "engine/space/hijack_part.h"
#include "engine/space/jump_part.h"
#include "engine/space/mapped_part.h"
#include "engine/space/return_part.h"
#include "engine/space/ring_part.h"
#include "engine/space/semaphore_part.h"
#include "engine/space/watch_part.h"
#include "engine/trace/process.h"

/* In one piece: no part is ever missing. */
struct whole {
	struct plant_space ps; /* space->plant */
	struct space_guard guard;
	struct space_returns ret;
	struct space_hijacks hijack;
	struct space_watch watch;
	struct space_jumps jump;
	struct space_rings ring;
	struct space_semaphores semaphore;
	struct space_mapped mapped;
};

struct plant_space *plant_space_get(struct space *space)
{
	struct whole *whole;

	if (space->plant)
		return space->plant;
	whole = calloc(1, sizeof(*whole));
	if (!whole)
		return NULL;
	whole->ps.guard = &whole->guard;
	whole->ps.ret = &whole->ret;
	whole->ps.hijack = &whole->hijack;
	whole->ps.watch = &whole->watch;
	whole->ps.jump = &whole->jump;
	whole->ps.ring = &whole->ring;
	whole->ps.semaphore = &whole->semaphore;
	whole->ps.mapped = &whole->mapped;
	return space->plant = &whole->ps;
}

void plant_space_free(struct space *space)
{
	free(space->plant);
	space->plant = NULL;
}

struct area *area_of(const struct plant_space *ps, uint64_t vaddr)
{
	struct area *a = ps ? ps->areas : NULL;

	while (a && (vaddr < a->vaddr || vaddr - a->vaddr >= a->len))
		a = a->next;
	return a;
}

struct site *plant_site_of_slot(const struct space *space, uint64_t vaddr)
{
	const struct area *a = area_of(space->plant, vaddr);

	return a ? a->owners[(vaddr - a->vaddr) / UBP_SLOT_SIZE] : NULL;
}
