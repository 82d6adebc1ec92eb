/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/space.h"

#include <stdlib.h>

#include "engine/trace/process.h"

struct plant_space *plant_space_get(struct space *space)
{
	if (!space->plant)
		space->plant = calloc(1, sizeof(struct plant_space));
	return space->plant;
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
