/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hijacked return addresses. They are found by the address of the stack word, not
 * as a stack: coroutines return in any order, longjmp() skips some, threads hand
 * their stacks on.
 *
 * Each is also in one list: of the thread that entered, or of those that seem to
 * be left behind. Nobody can tell a frame that a longjmp() skipped from one of a
 * coroutine that will go on, so nothing is forgotten before its stack word holds
 * something else: what comes back after all finds its way.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plant/jump.h"
#include "engine/plant/kernel.h"
#include "engine/plant/plant.h"

/* A look at each word is dear: not before there are so many, then seldom enough
 * that it costs little beside the hits that made them. */
#define SWEEP_FIRST 16384
#define SWEEP_GROWS 4

const struct uprobe *plant_lost_returns(const struct space *space, size_t *ret_more)
{
	struct plant_space *ps = space->plant;
	const struct uprobe *first = NULL;
	size_t pos = 0, n = 0;
	void *value;

	if (!ps || ps->ret.trampoline || !ps->guard.no_room || ps->ret.has_told)
		return NULL;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		for (size_t i = 0; i < site->n_probes; i++) {
			const struct uprobe *u = site->probes[i];

			if (!site->planted || !u->is_return)
				continue;
			if (!first || u->number < first->number)
				first = u;
			n++;
		}
	}
	ps->ret.has_told = first != NULL;
	*ret_more = n ? n - 1 : 0;
	return first;
}

void returns_link_behind(struct return_list *list, struct return_instance *newer,
			 struct return_instance *ri)
{
	struct return_instance **at = newer ? &newer->older : &list->newest;

	ri->list = list;
	ri->newer = newer;
	ri->older = *at;
	if (ri->older)
		ri->older->newer = ri;
	*at = ri;
	list->n++;
}

void returns_link(struct return_list *list, struct return_instance *ri)
{
	returns_link_behind(list, NULL, ri);
}

void returns_unlink(struct return_instance *ri)
{
	if (!ri->list)
		return;
	if (ri->newer)
		ri->newer->older = ri->older;
	else
		ri->list->newest = ri->older;
	if (ri->older)
		ri->older->newer = ri->newer;
	ri->list->n--;
	ri->list = NULL;
}

struct return_instance *returns_new(struct plant_space *ps, uint64_t slot_vaddr)
{
	struct return_instance *ri = calloc(1, sizeof(*ri));

	if (!ri || map_put(&ps->ret.by_slot, slot_vaddr, ri) < 0) {
		free(ri);
		return NULL;
	}
	ri->slot_vaddr = slot_vaddr;
	ri->missed = MISSED_N;
	return ri;
}

int returns_add_entry(struct return_instance *ri, struct site *site, uint64_t entered_ns)
{
	if (ri->n_entries == ri->cap) {
		uint32_t cap = ri->cap ? ri->cap * 2 : 2;
		struct return_entry *bigger = realloc(ri->entries, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		ri->entries = bigger;
		ri->cap = cap;
	}
	ri->entries[ri->n_entries++] = (struct return_entry){ site, entered_ns };
	return 0;
}

void returns_link_in_place(struct return_list *list, struct return_instance *ri)
{
	struct return_instance *newer = NULL;

	for (struct return_instance *at = list->newest; at && at->slot_vaddr < ri->slot_vaddr;
	     at = at->older)
		newer = at;
	returns_link_behind(list, newer, ri);
}

/* No frame is as large as this. */
#define FRAME_MAX 0x100000

/* The one of the frame that @vaddr is in, or further up. */
static const struct return_instance *nearest(const struct plant_space *ps, uint64_t vaddr)
{
	const struct return_instance *best = NULL;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->ret.by_slot, &pos, NULL, &value)) {
		const struct return_instance *ri = value;

		if (ri->slot_vaddr > vaddr && ri->slot_vaddr - vaddr < FRAME_MAX &&
		    (!best || ri->slot_vaddr < best->slot_vaddr))
			best = ri;
	}
	return best;
}

static uint64_t real_of_register(const struct space *space, uint64_t at, uint64_t sp,
				 uint64_t word)
{
	const struct plant_space *ps = space->plant;
	const struct return_instance *ri = NULL;

	if (ps->hijack.code_vaddr && word == ps->hijack.code_vaddr)
		return hijack_real(space, sp ? sp : hijack_nearest(space, at), word);
	if (!ps->ret.trampoline || word != ps->ret.trampoline)
		return word;
	ri = sp ? map_get(&ps->ret.by_slot, sp) : nearest(ps, at);
	return ri ? ri->real : word;
}

uint64_t returns_real(const struct space *space, uint64_t at, uint64_t sp, uint64_t word)
{
	const struct plant_space *ps = space->plant;
	const struct return_instance *ri;

	if (arch_has_link(space->arch))
		word &= UBP_ADDRESS_MASK;
	if (!ps)
		return word;
	if (arch_has_link(space->arch))
		return real_of_register(space, at, sp, word);
	if (!ps->ret.trampoline || word != ps->ret.trampoline)
		return hijack_real(space, at, word);
	ri = map_get(&ps->ret.by_slot, at);
	return ri ? ri->real : word;
}

void returns_free_one(struct return_instance *ri)
{
	while (ri) {
		struct return_instance *under = ri->under;

		free(ri->entries);
		free(ri);
		ri = under;
	}
}

static void count(const struct return_instance *ri, enum missed_why why, bool up)
{
	for (uint32_t i = 0; i < ri->n_entries; i++) {
		const struct site *site = ri->entries[i].site;

		for (size_t p = 0; p < site->n_probes; p++) {
			uint64_t *counter = &site->probes[p]->stats.missed[why];

			if (!site->probes[p]->is_return)
				continue;
			if (up)
				uprobe_count(counter);
			else
				uprobe_uncount(counter);
		}
	}
}

void returns_count(struct return_instance *ri, enum missed_why why)
{
	if (ri->uncounted || ri->missed != MISSED_N)
		return;
	ri->missed = why;
	count(ri, why, true);
}

void returns_uncount(struct return_instance *ri)
{
	if (ri->missed != MISSED_N)
		count(ri, ri->missed, false);
	ri->missed = MISSED_N;
}

static bool stands_there(const struct plant_space *ps, const struct space *space,
			 const struct return_instance *ri)
{
	size_t size = space->arch->addr_size;
	uint64_t now = 0;

	return mem_peek(&space->mem, ri->slot_vaddr, &now, size) == size &&
	       now == (ri->disarm_sp ? ri->real : ps->ret.trampoline);
}

void returns_sweep_later(struct plant_space *ps)
{
	ps->ret.sweep_at = ps->ret.by_slot.n * SWEEP_GROWS;
	if (ps->ret.sweep_at < SWEEP_FIRST)
		ps->ret.sweep_at = SWEEP_FIRST;
}

void returns_sweep(struct space *space)
{
	struct plant_space *ps = space->plant;
	struct return_list gone = { 0 };
	struct return_instance *gone_one, *older;
	size_t pos = 0;
	void *value;

	/* Where they are, nobody knows; but there is one for a stack word at most. */
	if (arch_has_link(space->arch)) {
		ps->ret.sweep_at = UINT32_MAX;
		return;
	}
	while (map_next(&ps->ret.by_slot, &pos, NULL, &value)) {
		struct return_instance *ri = value;

		/* The newest of a thread may be on its way: popped, not yet jumped to. */
		if ((!ri->newer && ri->tid) || stands_there(ps, space, ri))
			continue;
		returns_unlink(ri);
		returns_link(&gone, ri);
	}
	for (gone_one = gone.newest; gone_one; gone_one = older) {
		older = gone_one->older;
		returns_count(gone_one, MISSED_SKIPPED);
		returns_forget(ps, gone_one);
		map_remove(&ps->ret.by_slot, gone_one->slot_vaddr);
		returns_free_one(gone_one);
	}
	returns_sweep_later(ps);
}

/* 0: nothing of ours is there. */
static int put_back(struct plant_space *owner, struct undo *undo, pid_t tid,
		    const struct return_instance *ri)
{
	const struct space *space = undo->space;
	size_t size = space->arch->addr_size;
	uint64_t now = 0;

	if (mem_peek(&space->mem, ri->slot_vaddr, &now, size) != size)
		return -EFAULT;
	/* The function jumped to another, with a uretprobe: the kernel has the trampoline's address
	 * and sends the thread there. The guard knows its way on. */
	if (kernel_returns_by(owner, undo->pid, now))
		undo->left->is_live = true;
	if (now == owner->ret.trampoline)
		return mem_write(&space->mem, tid, ri->slot_vaddr, &ri->real, size);
	/* Skipped by a longjmp(), it may be somebody else's data by now. Or its stack was copied
	 * away, and will come back with our address. */
	undo->is_away |= now != ri->real;
	return 0;
}

void returns_put_back(struct plant_space *owner, struct undo *undo, pid_t tid)
{
	const struct space *space = undo->space;
	size_t pos = 0;
	void *value;

	/* Where they are, nobody knows: the guard's code behind the trampoline does the rest. */
	if (arch_has_link(space->arch))
		return;
	while (map_next(&owner->ret.by_slot, &pos, NULL, &value)) {
		const struct return_instance *ri = value;

		int rc = ri->disarm_sp ? 0 : put_back(owner, undo, tid, ri);

		if (rc < 0 && !undo_is_gone(undo, ri->slot_vaddr, 0, 0))
			plant_left_live(undo->left, "a return address", ri->slot_vaddr, rc);
	}
}

static struct return_instance *copy_one(const struct return_instance *ri,
					const struct plant_space *to)
{
	struct return_instance *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *ri;
	copy->list = NULL;
	copy->under = NULL;
	copy->entries = malloc((ri->cap + 1) * sizeof(*copy->entries));
	if (!copy->entries) {
		free(copy);
		return NULL;
	}
	/* The copy's sites stand at the same addresses. */
	copy->n_entries = 0;
	for (uint32_t i = 0; i < ri->n_entries; i++) {
		struct return_entry entry = ri->entries[i];

		entry.site = map_get(&to->sites, entry.site->vaddr);
		if (entry.site)
			copy->entries[copy->n_entries++] = entry;
	}
	return copy;
}

static int compare_serials(const void *pa, const void *pb)
{
	const struct return_instance *a = *(struct return_instance *const *)pa;
	const struct return_instance *b = *(struct return_instance *const *)pb;

	return (a->serial > b->serial) - (a->serial < b->serial);
}

/* What its parent entered, the child will leave; if not, its parent will. Other
 * threads are not in the copy. */
static void adopt(struct return_instance *ri, struct plant_space *to, struct tracee *first)
{
	bool is_own = ri->tid && ri->tid == first->process->born_of;

	ri->tid = is_own ? first->tid : 0;
	ri->uncounted = true;
	if (!is_own) {
		/* In the parent an unwinder may be at work in another thread: not here. */
		ri->disarm_sp = 0;
		returns_link(&to->ret.lost, ri);
	} else if (ri->disarm_sp) {
		returns_link(&first->probes->disarmed, ri);
	} else {
		returns_link(&first->probes->returns, ri);
	}
}

int returns_copy(const struct plant_space *from, struct plant_space *to, struct tracee *first)
{
	struct return_instance **copies;
	size_t pos = 0, n = 0;
	void *value;
	int rc = 0;

	copies = malloc((from->ret.by_slot.n + 1) * sizeof(struct return_instance *));
	if (!copies)
		return -ENOMEM;
	while (rc == 0 && map_next(&from->ret.by_slot, &pos, NULL, &value)) {
		struct return_instance *copy = copy_one(value, to);

		if (!copy || map_put(&to->ret.by_slot, copy->slot_vaddr, copy) < 0 ||
		    (copy->index && map_put(&to->ret.indexes, copy->index, copy) < 0)) {
			map_remove(&to->ret.by_slot,
				   ((struct return_instance *)value)->slot_vaddr);
			returns_free_one(copy);
			rc = -ENOMEM;
		} else {
			copies[n++] = copy;
		}
	}
	qsort(copies, n, sizeof(struct return_instance *), compare_serials);
	for (size_t i = 0; i < n; i++)
		adopt(copies[i], to, first);
	free(copies);
	to->ret.n_ever = from->ret.n_ever;
	return rc;
}

void returns_free(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	/* Lists of threads are empty by now, or end with them. */
	while (map_next(&ps->ret.by_slot, &pos, NULL, &value))
		returns_free_one(value);
	map_free(&ps->ret.by_slot);
	map_free(&ps->ret.indexes);
	map_free(&ps->ret.pages);
	ps->ret.lost = (struct return_list){ 0 };
}
