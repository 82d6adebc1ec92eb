/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/spare.h"

#include <stdlib.h>

#include "arch/guard.h"
#include "engine/base/vec.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"

#define LARGE (SPARE_SLOTS_MAX - 1) /* so many slots, or more */

struct spare {
	uint32_t at;  /* offset in the area */
	uint32_t len; /* bytes */
};

struct spares {
	struct spare_kind {
		struct spare *v;
		size_t n;
	} kinds[SPARE_SLOTS_MAX]; /* by whole slots */
	size_t n;
};

/* Of a block: as many as it has whole. */
static size_t kind_of(size_t len)
{
	size_t slots = len / UBP_SLOT_SIZE;

	return slots < LARGE ? slots : LARGE;
}

/* The first kind all of whose blocks have room, but for the large ones. */
static size_t kind_for(size_t len)
{
	return kind_of(len + UBP_SLOT_SIZE - 1);
}

void spare_add(struct area *area, uint64_t block, size_t len)
{
	struct spare_kind *kind;

	if (!area->spares)
		area->spares = calloc(1, sizeof(*area->spares));
	if (!area->spares)
		return;
	kind = &area->spares->kinds[kind_of(len)];
	if (VEC_DOUBLE(kind->v, kind->n) < 0)
		return;
	kind->v[kind->n++] = (struct spare){ (uint32_t)(block - area->vaddr), (uint32_t)len };
	area->spares->n++;
}

void spare_add_jump(const struct plant_space *ps, const struct site_jump *jump)
{
	struct area *area = area_of(ps, jump->copy);

	if (area)
		spare_add(area, jump->copy - UBP_SLOT_SIZE, jump->room + UBP_SLOT_SIZE);
}

uint64_t spare_take(struct area *area, size_t len, size_t *ret_len)
{
	struct spares *spares = area->spares;

	if (!spares || !spares->n)
		return 0;
	for (size_t k = kind_for(len); k < SPARE_SLOTS_MAX; k++) {
		struct spare_kind *kind = &spares->kinds[k];

		for (size_t i = kind->n; i-- > 0;) {
			struct spare found = kind->v[i];

			if (found.len < len)
				continue;
			kind->v[i] = kind->v[--kind->n];
			spares->n--;
			*ret_len = found.len;
			return area->vaddr + found.at;
		}
	}
	return 0;
}

void spare_count(const struct area *area, struct spare_counts *counts)
{
	for (size_t k = 0; area->spares && k < SPARE_SLOTS_MAX; k++)
		counts->of[k] += area->spares->kinds[k].n;
}

bool spare_cover(struct spare_counts *counts, size_t len)
{
	/* How long each of the large ones is was not counted. */
	if (len > LARGE * UBP_SLOT_SIZE)
		return false;
	for (size_t k = kind_for(len); k < SPARE_SLOTS_MAX; k++)
		if (counts->of[k]) {
			counts->of[k]--;
			return true;
		}
	return false;
}

void spare_free_all(struct area *area)
{
	for (size_t k = 0; area->spares && k < SPARE_SLOTS_MAX; k++)
		free(area->spares->kinds[k].v);
	free(area->spares);
	area->spares = NULL;
}
