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
 * without us, so that it is known which of the two came first. A note tells of which file it
 * is, too: where that is mapped no more, other memory of the program may be.
 */

#include "engine/plant/semaphore.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/space/part.h"
#include "engine/space/probe_list.h"
#include "engine/space/semaphore_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/undo.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL

/* The first @n of @notes, which may differ from what there is from then on. */
static int note(const struct plant_space *ps, const struct space *space, pid_t tid,
		const struct guard_semaphore *notes, size_t n)
{
	uint64_t at = guard_data(ps) + offsetof(struct guard_data, semaphores);
	uint64_t count = n < UBP_GUARD_SEMAPHORES ? n : UBP_GUARD_SEMAPHORES;
	int rc = 0;

	if (!guard_data(ps))
		return 0;
	if (count)
		rc = mem_write(&space->mem, tid, at, notes, count * sizeof(*notes));
	return rc == 0 ? mem_write(&space->mem, tid,
				   guard_data(ps) + offsetof(struct guard_data, n_semaphores),
				   &count, sizeof(count))
		       : rc;
}

void semaphore_note_none(const struct plant_space *ps, const struct space *space, pid_t tid)
{
	(void)note(ps, space, tid, NULL, 0);
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

/* What guard_semaphore.place tells of @vaddr; 0: no semaphore can be there. */
static uint32_t place_of(const struct maps *maps, uint64_t vaddr)
{
	const struct mapping *m = maps_at(maps, vaddr);
	uint64_t hash;

	if (!m || !m->write || m->shared)
		return 0;
	while (is_bss(m) && m > maps->v && m[-1].end == m->start)
		m--;
	if (!m->ino || !m->write || m->shared)
		return 0;
	hash = (m->dev * HASH_FACTOR ^ m->ino) * HASH_FACTOR ^ (vaddr - m->start + m->foffset);
	return (uint32_t)(hash * HASH_FACTOR >> 32) | 1;
}

static bool is_there_yet(const struct maps *maps, const struct guard_semaphore *s)
{
	return place_of(maps, s->vaddr) == s->place;
}

/* Those of libraries that were closed: opened again, they start anew. */
static void forget_unmapped(struct plant_space *ps, const struct maps *maps)
{
	size_t kept = 0;

	for (size_t i = 0; i < ps->semaphore->n; i++)
		if (is_there_yet(maps, &ps->semaphore->v[i]))
			ps->semaphore->v[kept++] = ps->semaphore->v[i];
	ps->semaphore->n = kept;
}

/* --- up ------------------------------------------------------------------------------- */

static bool is_counted(const struct plant_space *ps, uint64_t vaddr)
{
	for (size_t i = 0; i < ps->semaphore->n; i++)
		if (ps->semaphore->v[i].vaddr == vaddr)
			return true;
	return false;
}

static int append(struct plant_space *ps, uint64_t vaddr, uint32_t place)
{
	if (VEC_FIT(ps->semaphore->v, ps->semaphore->n + 1) < 0)
		return -ENOMEM;
	ps->semaphore->v[ps->semaphore->n++] = (struct guard_semaphore){ vaddr, place, 0, 0 };
	return 0;
}

/* Those that are mapped and not counted yet go to the end of the list. */
static int find_new(const struct plant *plant, struct plant_space *ps, const struct maps *maps)
{
	const struct probe_list *list = probe_list(plant);
	int rc = 0;

	for (size_t p = 0; p < list->n && list->has_refs; p++) {
		if (!list->v[p]->ref)
			continue;
		for (size_t i = 0; i < maps->n && rc == 0; i++) {
			uint64_t vaddr = place_by(maps, i, list->v[p]);

			if (vaddr && !is_counted(ps, vaddr))
				rc = append(ps, vaddr, place_of(maps, vaddr));
		}
	}
	return rc;
}

static struct guard_semaphore *notes_of(const struct plant_space *ps)
{
	struct guard_semaphore *notes = calloc(ps->semaphore->n + 1, sizeof(*notes));

	if (notes && ps->semaphore->n)
		memcpy(notes, ps->semaphore->v, ps->semaphore->n * sizeof(*notes));
	return notes;
}

/* Increment those from number @from on; if one can't be, it and the rest are none of ours. */
static int raise_new(struct space *space, pid_t tid, size_t from)
{
	struct plant_space *ps = space->plant;
	size_t n = ps->semaphore->n, done;
	struct guard_semaphore *notes = notes_of(ps);
	int rc = notes ? 0 : -ENOMEM;

	for (size_t i = from; i < n && rc == 0; i++) {
		notes[i].changing = 1;
		if (!get(space, notes[i].vaddr, &notes[i].without))
			rc = -EFAULT;
	}
	if (rc == 0)
		rc = note(ps, space, tid, notes, n);
	for (done = from; done < n && rc == 0; done++)
		rc = put(space, tid, notes[done].vaddr, (uint16_t)(notes[done].without + 1));
	if (rc < 0)
		ps->semaphore->n = done > from ? done - 1 : from;
	(void)note(ps, space, tid, ps->semaphore->v, ps->semaphore->n);
	free(notes);
	return rc;
}

int semaphore_update(const struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps)
{
	struct plant_space *ps = space->plant;
	size_t before = ps->semaphore->n, known;
	int rc;

	forget_unmapped(ps, maps);
	known = ps->semaphore->n;
	rc = find_new(plant, ps, maps);
	if (rc < 0)
		ps->semaphore->n = known;
	else if (ps->semaphore->n > known)
		rc = raise_new(space, tid, known);
	else if (known != before)
		(void)note(ps, space, tid, ps->semaphore->v, known);
	return rc;
}

/* --- down ----------------------------------------------------------------------------- */

/*
 * What it is without us, in a copy of the memory of @owner, too. @maps: NULL, not known.
 * 1: it has to be lowered; 0: it has not; -errno: it can't be told.
 */
static int look(struct plant_space *owner, const struct space *space, const struct maps *maps,
		size_t i, uint16_t *ret_without)
{
	const struct guard_semaphore *s = &owner->semaphore->v[i];
	bool is_own = space->plant == owner, is_there = !maps || is_there_yet(maps, s);
	uint16_t now = 0;

	if (is_there && !get(space, s->vaddr, &now))
		return maps || !mem_is_gone(&space->mem) ? -EFAULT : 0;
	if (is_own && owner->semaphore->lowered)
		owner->semaphore->lowered[i] = (uint16_t)(now ? now - 1 : 0);
	/* A child born behind that has it from its parent. */
	if (now && !is_own && owner->semaphore->lowered && now <= owner->semaphore->lowered[i])
		return 0;
	*ret_without = (uint16_t)(now ? now - 1 : 0);
	return now != 0;
}

/* Those that can't be lowered stay noted: returns how many, the first of @notes then. */
static size_t lower(const struct plant_space *owner, const struct space *space, pid_t tid,
		    struct guard_semaphore *notes, size_t n, struct plant_left *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		int rc = notes[i].changing ? put(space, tid, notes[i].vaddr, notes[i].without)
					   : -EFAULT;

		if (rc == 0)
			continue;
		plant_left_note(left, "a reference counter", notes[i].vaddr, rc);
		notes[kept++] = notes[i];
	}
	(void)note(owner, space, tid, notes, kept);
	return kept;
}

/* Without memory for notes: as many at a time as fit here, and the others unnoted meanwhile. */
#define FEW 16

void semaphores_leave(struct part_left *l)
{
	struct plant_space *owner = l->ps;
	const struct space *space = l->undo.space;
	size_t n = owner->semaphore->n, n_up = 0, max = n;
	struct guard_semaphore few[FEW], *notes, *to;
	struct maps maps;
	bool is_known;

	if (n == 0)
		return;
	if (space->plant == owner && !owner->semaphore->lowered)
		owner->semaphore->lowered = calloc(n + 1, sizeof(*owner->semaphore->lowered));
	notes = calloc(n, sizeof(*notes));
	if (!notes)
		max = FEW;
	to = notes ? notes : few;
	is_known = undo_read_maps(owner, l->undo.pid, &maps);
	for (size_t i = 0; i < n; i++) {
		int rc;

		to[n_up] = owner->semaphore->v[i];
		rc = look(owner, space, is_known ? &maps : NULL, i, &to[n_up].without);
		to[n_up].changing = rc > 0;
		n_up += rc != 0;
		if (n_up < max && i < n - 1)
			continue;
		(void)note(owner, space, l->tid, to, n_up);
		n_up = lower(owner, space, l->tid, to, n_up, l->undo.left);
		if (n_up == max)
			break; /* none can be */
	}
	maps_free(&maps);
	free(notes);
}

static bool is_wanted(const struct probe_list *list, const struct maps *maps, uint64_t vaddr)
{
	for (size_t p = 0; p < list->n; p++)
		for (size_t i = 0; list->v[p]->ref && i < maps->n; i++)
			if (place_by(maps, i, list->v[p]) == vaddr)
				return true;
	return false;
}

/* Into @notes, those that are not wanted behind all others, as being changed; returns the first of them. */
static size_t sort_out(const struct plant *plant, const struct space *space,
		       const struct maps *maps, struct guard_semaphore *notes)
{
	const struct plant_space *ps = space->plant;
	size_t kept = 0, end = ps->semaphore->n;

	for (size_t i = 0; i < ps->semaphore->n; i++) {
		struct guard_semaphore s = ps->semaphore->v[i];
		uint16_t now = 0;

		if (is_wanted(probe_list(plant), maps, s.vaddr) || !get(space, s.vaddr, &now) ||
		    !now) {
			notes[kept++] = s;
		} else {
			s.changing = 1;
			s.without = (uint16_t)(now - 1);
			notes[--end] = s;
		}
	}
	return kept;
}

void semaphore_retire(const struct plant *plant, struct space *space, pid_t pid)
{
	struct plant_space *ps = space->plant;
	struct guard_semaphore *notes;
	struct ubp_err ignored;
	struct maps maps = { 0 };
	size_t n = ps->semaphore->n, first, kept;
	bool is_noted;

	notes = n ? notes_of(ps) : NULL;
	if (!notes || maps_read(pid, &maps, &ignored) < 0) {
		free(notes);
		return;
	}
	first = kept = sort_out(plant, space, &maps, notes);
	is_noted = first < n && note(ps, space, 0, notes, n) == 0;
	/* What can't be lowered now is at the end. */
	for (size_t i = first; i < n; i++)
		if (!is_noted || put(space, 0, notes[i].vaddr, notes[i].without) < 0)
			notes[kept++] = (struct guard_semaphore){ notes[i].vaddr,
								  notes[i].place, 0, 0 };
	memcpy(ps->semaphore->v, notes, kept * sizeof(*notes));
	ps->semaphore->n = kept;
	if (first < n) {
		(void)note(ps, space, 0, ps->semaphore->v, kept);
		/* A child that was born before it has them as they were. */
		area_note_change(space, 0);
	}
	maps_free(&maps);
	free(notes);
}

bool semaphore_drop(const struct space *space, const struct maps *maps, pid_t tid,
		    const struct guard_semaphore *noted)
{
	uint16_t now;

	if (!noted->place || !is_there_yet(maps, noted) || !get(space, noted->vaddr, &now) ||
	    now == 0)
		return false;
	/* Not incremented yet, or no more. */
	if (noted->changing && now == noted->without)
		return false;
	return put(space, tid, noted->vaddr, (uint16_t)(now - 1)) == 0;
}

int semaphores_copy(const struct part_copied *c)
{
	const struct space_semaphores *from = c->from->semaphore;
	struct space_semaphores *to = c->to->semaphore;

	to->v = malloc((from->n + 1) * sizeof(*to->v));
	if (!to->v)
		return -ENOMEM;
	if (from->n)
		memcpy(to->v, from->v, from->n * sizeof(*to->v));
	to->n = from->n;
	return 0;
}

void semaphores_forget(struct plant_space *ps)
{
	free(ps->semaphore->v);
	free(ps->semaphore->lowered);
}
