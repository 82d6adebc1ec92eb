/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/areas.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "arch/guard.h"
#include "engine/base/map.h"
#include "engine/plant/spare.h"
#include "engine/space/part.h"
#include "engine/space/space.h"

static size_t keys_len(const struct area *area, bool has_keys)
{
	return has_keys ? (area->table_mask + 1) * sizeof(*area->keys) : 0;
}

static size_t tables_len(const struct area *area, bool has_keys)
{
	return keys_len(area, has_keys) + area->len / UBP_SLOT_SIZE * sizeof(*area->owners);
}

struct area *area_new(uint64_t vaddr, const struct guard_head *head)
{
	struct area *area = calloc(1, sizeof(*area));

	if (!area)
		return NULL;
	area->vaddr = vaddr;
	area->len = head->len;
	area->used = head->used;
	area->fresh = head->len;
	area->table_mask = head->table_mask;
	if (area_make_tables(area, true) == 0)
		return area;
	free(area);
	return NULL;
}

int area_make_tables(struct area *area, bool has_keys)
{
	char *at;

	/* Of a heap all would be written to; of a mapping only what is in use takes memory. */
	at = mmap(NULL, tables_len(area, has_keys), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	area->keys = has_keys ? (uint64_t *)at : NULL;
	area->owners = (struct site **)(at + keys_len(area, has_keys));
	return 0;
}

static void free_tables(struct area *area)
{
	void *at = area->keys ? (void *)area->keys : (void *)area->owners;

	if (at)
		munmap(at, tables_len(area, area->keys != NULL));
}

void area_free_all(struct area *area)
{
	while (area) {
		struct area *next = area->next;

		free_tables(area);
		spare_free_all(area);
		free(area);
		area = next;
	}
}

static int copy_tables(const struct area *a, struct area *copy, const struct map *sites)
{
	size_t n = a->len / UBP_SLOT_SIZE;

	if (area_make_tables(copy, a->keys != NULL) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; a->keys && i <= a->table_mask; i++)
		if (a->keys[i])
			copy->keys[i] = a->keys[i];
	for (size_t i = 0; i < n; i++)
		if (a->owners[i])
			copy->owners[i] = map_get(sites, a->owners[i]->vaddr);
	return 0;
}

int areas_copy(const struct part_copied *c)
{
	struct area **tail = &c->to->areas;

	c->child->frames = c->parent->frames;
	c->child->batch = c->parent->batch;
	for (const struct area *a = c->from->areas; a; a = a->next) {
		struct area *copy = malloc(sizeof(*copy));

		if (!copy)
			return -ENOMEM;
		*copy = *a;
		copy->next = NULL;
		copy->owners = NULL;
		copy->keys = NULL;
		copy->spares = NULL;
		*tail = copy;
		tail = &copy->next;
		if (copy_tables(a, copy, &c->to->sites) < 0)
			return -ENOMEM;
	}
	c->to->stub = c->from->stub;
	return 0;
}

void areas_forget(struct plant_space *ps)
{
	area_free_all(ps->areas);
	ps->areas = NULL;
}
