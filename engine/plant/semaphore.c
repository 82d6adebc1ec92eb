/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Reference counters, REF_CTR of a definition: 16-bit words in the data of the
 * program that count who traces a probe. The kernel finds them in private,
 * writable mappings of the file (valid_ref_ctr_vma); so do we.
 */

#include <errno.h>
#include <stdlib.h>

#include "engine/object/maps.h"
#include "engine/plant/plant.h"

static bool is_counted(const struct plant_space *ps, uint64_t vaddr)
{
	for (size_t i = 0; i < ps->n_semaphores; i++)
		if (ps->semaphores[i] == vaddr)
			return true;
	return false;
}

static int add(const struct space *space, pid_t tid, uint64_t vaddr, int by)
{
	uint16_t count;

	if (mem_peek(&space->mem, vaddr, &count, sizeof(count)) != sizeof(count))
		return -EFAULT;
	if (by < 0 && count == 0)
		return 0;
	count = (uint16_t)(count + by);
	return mem_write(&space->mem, tid, vaddr, &count, sizeof(count));
}

static int count_at(struct space *space, pid_t tid, uint64_t vaddr)
{
	struct plant_space *ps = space->plant;
	uint64_t *bigger;
	int rc;

	if (is_counted(ps, vaddr))
		return 0;
	bigger = realloc(ps->semaphores, (ps->n_semaphores + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	ps->semaphores = bigger;
	rc = add(space, tid, vaddr, 1);
	if (rc < 0)
		return rc;
	ps->semaphores[ps->n_semaphores++] = vaddr;
	guard_note_semaphores(space, tid);
	return 0;
}

/* Does @m hold the semaphore of @probe, privately and writable? */
static bool holds(const struct mapping *m, const struct uprobe *probe)
{
	return m->write && !m->shared && m->ino == probe->ino && m->dev == probe->dev &&
	       probe->ref >= m->foffset && probe->ref - m->foffset < m->end - m->start;
}

/* Is there a semaphore at @vaddr? */
static bool is_mapped(const struct plant *plant, const struct maps *maps, uint64_t vaddr)
{
	const struct mapping *m = maps_at(maps, vaddr);

	for (size_t p = 0; m && p < plant->n_probes; p++)
		if (plant->probes[p]->ref && holds(m, plant->probes[p]) &&
		    m->start + (plant->probes[p]->ref - m->foffset) == vaddr)
			return true;
	return false;
}

/* Those of libraries that were closed: opened again, they start anew. */
static void forget_unmapped(const struct plant *plant, struct plant_space *ps,
			    const struct maps *maps)
{
	size_t kept = 0;

	for (size_t i = 0; i < ps->n_semaphores; i++)
		if (is_mapped(plant, maps, ps->semaphores[i]))
			ps->semaphores[kept++] = ps->semaphores[i];
	ps->n_semaphores = kept;
}

int semaphore_update(const struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps)
{
	forget_unmapped(plant, space->plant, maps);
	for (size_t p = 0; p < plant->n_probes; p++) {
		const struct uprobe *probe = plant->probes[p];

		if (!probe->ref)
			continue;
		for (size_t i = 0; i < maps->n; i++) {
			const struct mapping *m = &maps->v[i];
			int rc = 0;

			if (holds(m, probe))
				rc = count_at(space, tid, m->start + (probe->ref - m->foffset));
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

void semaphore_remove(struct plant_space *owner, struct space *space, pid_t tid)
{
	bool is_own = space->plant == owner;
	uint16_t now;

	if (is_own && !owner->left)
		owner->left = calloc(owner->n_semaphores + 1, sizeof(*owner->left));
	for (size_t i = 0; i < owner->n_semaphores; i++) {
		uint64_t vaddr = owner->semaphores[i];

		if (mem_peek(&space->mem, vaddr, &now, sizeof(now)) != sizeof(now))
			continue;
		/* A child born behind that has it from its parent. */
		if (!is_own && owner->left && now <= owner->left[i])
			continue;
		(void)add(space, tid, vaddr, -1);
		if (is_own && owner->left)
			owner->left[i] = (uint16_t)(now ? now - 1 : 0);
	}
}

void semaphore_drop(const struct space *space, const struct maps *maps, pid_t tid,
		    uint64_t vaddr)
{
	const struct mapping *m = maps_at(maps, vaddr);

	if (m && m->write && !m->shared && m->ino)
		(void)add(space, tid, vaddr, -1);
}
