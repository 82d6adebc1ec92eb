/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hijacked return addresses. They are kept by the address of the stack word, not
 * as a stack: coroutines return in any order, longjmp() skips some, threads hand
 * their stacks on.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plant/plant.h"

void returns_put_back(const struct plant_space *owner, const struct space *space, pid_t tid)
{
	size_t size = space->arch->addr_size, pos = 0;
	void *value;

	while (map_next(&owner->returns, &pos, NULL, &value)) {
		const struct return_instance *ri = value;
		uint64_t now = 0;

		/* Skipped by a longjmp(), it may be somebody else's data by now. */
		if (mem_peek(&space->mem, ri->slot_vaddr, &now, size) == size &&
		    now == owner->trampoline)
			(void)mem_write(&space->mem, tid, ri->slot_vaddr, &ri->real, size);
	}
}

int returns_copy(const struct plant_space *from, struct plant_space *to,
		 const struct tracee *first)
{
	size_t pos = 0;
	void *value;

	while (map_next(&from->returns, &pos, NULL, &value)) {
		const struct return_instance *ri = value;
		struct return_instance *copy = malloc(sizeof(*copy));

		if (!copy)
			return -ENOMEM;
		*copy = *ri;
		/* What its parent entered, the child will leave. Other threads are not
		 * in the copy. */
		copy->tid = ri->tid && ri->tid == first->process->born_of ? first->tid : 0;
		copy->entries = malloc((ri->cap + 1) * sizeof(struct site *));
		if (!copy->entries || map_put(&to->returns, ri->slot_vaddr, copy) < 0 ||
		    (copy->index && map_put(&to->indexes, copy->index, copy) < 0)) {
			map_remove(&to->returns, ri->slot_vaddr);
			free(copy->entries);
			free(copy);
			return -ENOMEM;
		}
		/* The copy's sites stand at the same addresses. */
		copy->n_entries = 0;
		for (uint32_t i = 0; i < ri->n_entries; i++) {
			struct site *site = map_get(&to->sites, ri->entries[i]->vaddr);

			if (site)
				copy->entries[copy->n_entries++] = site;
		}
	}
	return 0;
}

void returns_free(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->returns, &pos, NULL, &value)) {
		free(((struct return_instance *)value)->entries);
		free(value);
	}
	map_free(&ps->returns);
	map_free(&ps->indexes);
}
