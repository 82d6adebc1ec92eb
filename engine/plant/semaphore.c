/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Reference counters, REF_CTR of a definition: 16-bit words in the data of the
 * program that count who traces a probe. The kernel finds them in private,
 * writable mappings of the file (valid_ref_ctr_vma); so do we, and also in what
 * is mapped behind them for .bss.
 *
 * Those that we incremented are noted in the target (struct guard_data): if we are killed,
 * the next one decrements them. While one is being changed its note tells what it is
 * without us, so that it is known which of the two came first.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "arch/guard.h"
#include "engine/object/maps.h"
#include "engine/plant/plant.h"

/* A note of one that is being changed; the address is even. */
#define CHANGING     1ULL
#define BEFORE_SHIFT 48

static uint64_t changing(uint64_t vaddr, uint16_t before)
{
	return vaddr | CHANGING | (uint64_t)before << BEFORE_SHIFT;
}

/* The first @n of @notes, which may differ from what there is from then on. */
static void note(const struct plant_space *ps, const struct space *space, pid_t tid,
		 const uint64_t *notes, size_t n)
{
	uint64_t at = ps->data + offsetof(struct guard_data, semaphores);
	uint64_t count = n < UBP_GUARD_SEMAPHORES ? n : UBP_GUARD_SEMAPHORES;

	if (!ps->data)
		return;
	if (count)
		(void)mem_write(&space->mem, tid, at, notes, count * sizeof(*notes));
	(void)mem_write(&space->mem, tid, ps->data + offsetof(struct guard_data, n_semaphores),
			&count, sizeof(count));
}

void semaphore_note_none(const struct plant_space *ps, const struct space *space, pid_t tid)
{
	note(ps, space, tid, NULL, 0);
}

static bool get(const struct space *space, uint64_t vaddr, uint16_t *ret_count)
{
	return mem_peek(&space->mem, vaddr, ret_count, sizeof(*ret_count)) ==
	       sizeof(*ret_count);
}

static int put(const struct space *space, pid_t tid, uint64_t vaddr, uint16_t count)
{
	return mem_write(&space->mem, tid, vaddr, &count, sizeof(count));
}

/* --- where they are ------------------------------------------------------------------ */

/* Memory that begins with zeros: .bss, if it follows a mapping of the file. */
static bool is_bss(const struct mapping *m)
{
	return !m->ino && m->write && !m->shared && !m->path[0];
}

/* Where the semaphore of @probe is, by mapping @i; 0: not there. */
static uint64_t place_by(const struct maps *maps, size_t i, const struct uprobe *probe)
{
	const struct mapping *m = &maps->v[i];
	uint64_t vaddr = m->start + (probe->ref - m->foffset);

	if (!m->write || m->shared || m->ino != probe->ino || m->dev != probe->dev ||
	    probe->ref < m->foffset || vaddr < m->start)
		return 0;
	if (vaddr < m->end)
		return vaddr;
	while (probe->ref_in_bss && ++i < maps->n && is_bss(&maps->v[i]) &&
	       maps->v[i].start == maps->v[i - 1].end)
		if (vaddr < maps->v[i].end)
			return vaddr;
	return 0;
}

/* Is there a semaphore at @vaddr? */
static bool is_mapped(const struct plant *plant, const struct maps *maps, uint64_t vaddr)
{
	for (size_t i = 0; i < maps->n; i++)
		for (size_t p = 0; p < plant->n_probes && maps->v[i].write; p++)
			if (plant->probes[p]->ref &&
			    place_by(maps, i, plant->probes[p]) == vaddr)
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

/* --- up ------------------------------------------------------------------------------- */

static bool is_counted(const struct plant_space *ps, uint64_t vaddr)
{
	for (size_t i = 0; i < ps->n_semaphores; i++)
		if (ps->semaphores[i] == vaddr)
			return true;
	return false;
}

static int append(struct plant_space *ps, uint64_t vaddr)
{
	uint64_t *bigger = realloc(ps->semaphores, (ps->n_semaphores + 1) * sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	ps->semaphores = bigger;
	ps->semaphores[ps->n_semaphores++] = vaddr;
	return 0;
}

/* Those that are mapped and not counted yet go to the end of the list. */
static int find_new(const struct plant *plant, struct plant_space *ps, const struct maps *maps)
{
	int rc = 0;

	for (size_t p = 0; p < plant->n_probes; p++) {
		if (!plant->probes[p]->ref)
			continue;
		for (size_t i = 0; i < maps->n && rc == 0; i++) {
			uint64_t vaddr = place_by(maps, i, plant->probes[p]);

			if (vaddr && !is_counted(ps, vaddr))
				rc = append(ps, vaddr);
		}
	}
	return rc;
}

/* Increment those from number @from on; if one can't be, it and the rest are none of ours. */
static int raise_new(struct space *space, pid_t tid, size_t from)
{
	struct plant_space *ps = space->plant;
	size_t n = ps->n_semaphores, done;
	uint64_t *notes = calloc(n, sizeof(*notes));
	int rc = notes ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && rc == 0; i++) {
		uint16_t count = 0;

		notes[i] = ps->semaphores[i];
		if (i >= from && !get(space, ps->semaphores[i], &count))
			rc = -EFAULT;
		if (i >= from)
			notes[i] = changing(ps->semaphores[i], count);
	}
	if (rc == 0)
		note(ps, space, tid, notes, n);
	for (done = from; done < n && rc == 0; done++)
		rc = put(space, tid, ps->semaphores[done],
			 (uint16_t)((notes[done] >> BEFORE_SHIFT) + 1));
	if (rc < 0)
		ps->n_semaphores = done > from ? done - 1 : from;
	note(ps, space, tid, ps->semaphores, ps->n_semaphores);
	free(notes);
	return rc;
}

int semaphore_update(const struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps)
{
	struct plant_space *ps = space->plant;
	size_t before = ps->n_semaphores, known;
	int rc;

	forget_unmapped(plant, ps, maps);
	known = ps->n_semaphores;
	rc = find_new(plant, ps, maps);
	if (rc < 0)
		ps->n_semaphores = known;
	else if (ps->n_semaphores > known)
		rc = raise_new(space, tid, known);
	else if (known != before)
		note(ps, space, tid, ps->semaphores, known);
	return rc;
}

/* --- down ----------------------------------------------------------------------------- */

void semaphore_remove(struct plant_space *owner, struct space *space, pid_t tid)
{
	bool is_own = space->plant == owner;
	size_t n = owner->n_semaphores;
	uint64_t *notes = calloc(n + 1, sizeof(*notes));
	uint16_t now;

	if (n == 0 || !notes) {
		free(notes);
		return;
	}
	if (is_own && !owner->left)
		owner->left = calloc(n + 1, sizeof(*owner->left));
	for (size_t i = 0; i < n; i++) {
		uint64_t vaddr = owner->semaphores[i];
		bool is_there = get(space, vaddr, &now) && now;

		if (is_own && owner->left)
			owner->left[i] = (uint16_t)(is_there ? now - 1 : 0);
		/* A child born behind that has it from its parent. */
		if (is_there && !is_own && owner->left && now <= owner->left[i])
			is_there = false;
		notes[i] = changing(vaddr, (uint16_t)(is_there ? now - 1 : UINT16_MAX));
	}
	note(owner, space, tid, notes, n);
	for (size_t i = 0; i < n; i++) {
		uint16_t without = (uint16_t)(notes[i] >> BEFORE_SHIFT);

		if (without != UINT16_MAX)
			(void)put(space, tid, owner->semaphores[i], without);
	}
	semaphore_note_none(owner, space, tid);
	free(notes);
}

bool semaphore_drop(const struct space *space, const struct maps *maps, pid_t tid,
		    uint64_t noted)
{
	uint64_t vaddr =
		noted & CHANGING ? noted & ((1ULL << BEFORE_SHIFT) - 1) & ~CHANGING : noted;
	const struct mapping *m = maps_at(maps, vaddr);
	uint16_t now;

	if (!m || !m->write || m->shared || (!m->ino && !is_bss(m)) ||
	    !get(space, vaddr, &now) || now == 0)
		return false;
	/* Not incremented yet, or no more. */
	if (noted & CHANGING && now == (uint16_t)(noted >> BEFORE_SHIFT))
		return false;
	return put(space, tid, vaddr, (uint16_t)(now - 1)) == 0;
}
