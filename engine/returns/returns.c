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

#include "engine/returns/returns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/returns/ops.h"
#include "engine/space/part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/space/undo.h"
#include "engine/trace/process.h"

/* A look at each word is dear: not before there are so many, then seldom enough
 * that it costs little beside the hits that made them. */
#define SWEEP_FIRST 16384
#define SWEEP_GROWS 4

/* So many functions may be entered with one stack pointer, by a link register kept elsewhere; or
 * one of them, again and again left by longjmp(). */
#define UNDER_MAX 4

uint64_t returns_trampoline(const struct plant_space *ps)
{
	return ps->ret->trampoline;
}

bool returns_at_trampoline(const struct plant_space *ps, uint64_t vaddr)
{
	return vaddr && vaddr == ps->ret->trampoline;
}

void returns_set_trampoline(const struct plant_space *ps, uint64_t vaddr)
{
	ps->ret->trampoline = vaddr;
}

struct return_place return_place(const struct plant_space *ps)
{
	return (struct return_place){ ps->ret->table, ps->ret->mask };
}

void returns_set_place(const struct plant_space *ps, struct return_place place)
{
	ps->ret->table = place.table;
	ps->ret->mask = place.mask;
}

size_t returns_n(const struct plant_space *ps)
{
	return ps->ret->by_slot.n;
}

uint64_t returns_n_ever(const struct plant_space *ps)
{
	return ps->ret->n_ever;
}

bool returns_may_come_back(const struct plant_space *ps)
{
	return ps->ret->wait;
}

int returns_adopt(struct plant_space *ps, const struct guard_return *entry, uint64_t index,
		  unsigned looks)
{
	struct return_instance *ri;
	int rc;

	if (map_get(&ps->ret->by_slot, entry->word))
		return 0;
	ri = calloc(1, sizeof(*ri));
	if (!ri)
		return -ENOMEM;
	ri->slot_vaddr = entry->word;
	ri->real = entry->real;
	ri->index = index + 1;
	ri->missed = MISSED_N;
	returns_link(&ps->ret->lost, ri);
	rc = map_put_within(&ps->ret->by_slot, ri->slot_vaddr, ri, looks);
	if (rc == 0 && map_put(&ps->ret->indexes, ri->index, ri) == 0)
		return 0;
	map_remove(&ps->ret->by_slot, ri->slot_vaddr);
	returns_unlink(ri);
	free(ri);
	return rc < 0 ? rc : -ENOMEM;
}

const struct uprobe *plant_lost_returns(const struct space *space, size_t *ret_more)
{
	struct plant_space *ps = space->plant;
	const struct uprobe *first = NULL;
	size_t pos = 0, n = 0;
	void *value;

	if (ps->ret->trampoline || ps->ret->has_told)
		return NULL;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		for (size_t i = 0; i < site->n_probes; i++) {
			const struct uprobe *u = site->probes[i];

			if (!site->planted || site->run_up || u->kind != PROBE_RETURN)
				continue;
			if (!first || u->number < first->number)
				first = u;
			n++;
		}
	}
	ps->ret->has_told = first != NULL;
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

	if (!ri || map_put(&ps->ret->by_slot, slot_vaddr, ri) < 0) {
		free(ri);
		return NULL;
	}
	ri->slot_vaddr = slot_vaddr;
	ri->missed = MISSED_N;
	return ri;
}

/* NULL, as where nothing is known, too, if memory is short. */
static struct return_kept *clone_kept(const struct return_kept *kept)
{
	size_t size = kept ? sizeof(*kept) + kept->n * sizeof(kept->v[0]) : 0;
	struct return_kept *clone = kept ? malloc(size) : NULL;

	return clone ? memcpy(clone, kept, size) : NULL;
}

int returns_add_entry(struct return_instance *ri, const struct return_entry *entry)
{
	if (ri->n_entries == ri->cap) {
		uint32_t cap = ri->cap ? ri->cap * 2 : 2;
		struct return_entry *bigger = realloc(ri->entries, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		ri->entries = bigger;
		ri->cap = cap;
	}
	ri->entries[ri->n_entries] = *entry;
	ri->entries[ri->n_entries++].kept = clone_kept(entry->kept);
	return 0;
}

void returns_clear_entries(struct return_instance *ri)
{
	for (uint32_t i = 0; i < ri->n_entries; i++)
		free(ri->entries[i].kept);
	ri->n_entries = 0;
}

void returns_link_in_place(struct return_list *list, struct return_instance *ri)
{
	struct return_instance *newer = NULL;

	for (struct return_instance *at = list->newest; at && at->slot_vaddr < ri->slot_vaddr;
	     at = at->older)
		newer = at;
	returns_link_behind(list, newer, ri);
}

uint64_t returns_real(const struct space *space, uint64_t at, uint64_t sp, uint64_t word)
{
	return return_ops(space)->real(space, at, sp, word);
}

void returns_free_one(struct return_instance *ri)
{
	while (ri) {
		struct return_instance *under = ri->under;

		returns_clear_entries(ri);
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

			if (site->probes[p]->kind != PROBE_RETURN)
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

void returns_count_site(const struct site *site, enum missed_why why)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->kind == PROBE_RETURN && uprobe_is_on(site->probes[i]))
			uprobe_count(&site->probes[i]->stats.missed[why]);
}

void returns_count_all(struct return_instance *ri, enum missed_why why)
{
	for (; ri; ri = ri->under)
		returns_count(ri, why);
}

void returns_uncount(struct return_instance *ri)
{
	if (ri->missed != MISSED_N)
		count(ri, ri->missed, false);
	ri->missed = MISSED_N;
}

void returns_drop(struct plant_space *ps, struct return_instance *ri)
{
	returns_count_all(ri, MISSED_SKIPPED);
	returns_unlink(ri);
	returns_forget(ps, ri);
	map_remove(&ps->ret->by_slot, ri->slot_vaddr);
	returns_free_one(ri);
}

void returns_drop_oldest(struct return_instance *ri)
{
	for (int n = 1; ri->under && n < UNDER_MAX; n++)
		ri = ri->under;
	returns_count_all(ri->under, MISSED_SKIPPED);
	returns_free_one(ri->under);
	ri->under = NULL;
}

void returns_sweep_later(struct plant_space *ps)
{
	ps->ret->sweep_at = ps->ret->by_slot.n * SWEEP_GROWS;
	if (ps->ret->sweep_at < SWEEP_FIRST)
		ps->ret->sweep_at = SWEEP_FIRST;
}

struct return_instance *returns_clone(const struct return_instance *ri)
{
	struct return_instance *clone = malloc(sizeof(*clone));

	if (!clone)
		return NULL;
	*clone = *ri;
	clone->list = NULL;
	clone->under = NULL;
	clone->entries = malloc((ri->cap + 1) * sizeof(*clone->entries));
	if (!clone->entries) {
		free(clone);
		return NULL;
	}
	clone->n_entries = 0;
	for (; clone->n_entries < ri->n_entries; clone->n_entries++) {
		struct return_entry *entry = &clone->entries[clone->n_entries];

		*entry = ri->entries[clone->n_entries];
		entry->kept = clone_kept(entry->kept);
	}
	return clone;
}

/* The copy's sites stand at the same addresses. */
static struct return_instance *copy_one(const struct return_instance *ri,
					const struct plant_space *to)
{
	struct return_instance *copy = returns_clone(ri);
	uint32_t n = 0;

	for (uint32_t i = 0; copy && i < ri->n_entries; i++) {
		struct return_entry entry = copy->entries[i];

		entry.site = map_get(&to->sites, entry.site->vaddr);
		if (entry.site)
			copy->entries[n++] = entry;
		else
			free(entry.kept);
	}
	if (copy)
		copy->n_entries = n;
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
		returns_link(&to->ret->lost, ri);
	} else if (ri->disarm_sp) {
		returns_link(&first->probes->disarmed, ri);
	} else {
		returns_link(&first->probes->returns, ri);
	}
}

int returns_copy(const struct part_copied *c)
{
	const struct plant_space *from = c->from;
	struct plant_space *to = c->to;
	struct return_instance **copies;
	size_t pos = 0, n = 0;
	void *value;
	int rc = 0;

	to->ret->trampoline = from->ret->trampoline;
	to->ret->table = from->ret->table;
	to->ret->mask = from->ret->mask;
	to->ret->has_told = from->ret->has_told;
	copies = malloc((from->ret->by_slot.n + 1) * sizeof(struct return_instance *));
	if (!copies)
		return -ENOMEM;
	while (rc == 0 && map_next(&from->ret->by_slot, &pos, NULL, &value)) {
		struct return_instance *copy = copy_one(value, to);

		if (!copy || map_put(&to->ret->by_slot, copy->slot_vaddr, copy) < 0 ||
		    (copy->index && map_put(&to->ret->indexes, copy->index, copy) < 0)) {
			map_remove(&to->ret->by_slot,
				   ((struct return_instance *)value)->slot_vaddr);
			returns_free_one(copy);
			rc = -ENOMEM;
		} else {
			copies[n++] = copy;
		}
	}
	qsort(copies, n, sizeof(struct return_instance *), compare_serials);
	for (size_t i = 0; i < n; i++)
		adopt(copies[i], to, c->first);
	free(copies);
	to->ret->n_ever = from->ret->n_ever;
	return rc;
}

void returns_free(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	/* Lists of threads are empty by now, or end with them. */
	while (map_next(&ps->ret->by_slot, &pos, NULL, &value))
		returns_free_one(value);
	map_free(&ps->ret->by_slot);
	map_free(&ps->ret->indexes);
	map_free(&ps->ret->pages);
	ps->ret->lost = (struct return_list){ 0 };
}

/*
 * A thread may be at the trampoline already, perhaps in a signal handler that will return there; or come there later, by
 * a stack that was copied away. With the real address in its stack word, or in the table, the code there is all it needs.
 * Without that it needs the guard.
 */
static void send_home(struct part_left *l)
{
	const struct plant_space *ps = l->ps;
	const struct space *space = l->undo.space;
	const struct ubp_arch *arch = space->arch;
	int rc;

	if (!ps->ret->trampoline)
		return;
	rc = mem_write(&space->mem, l->tid, ps->ret->trampoline,
		       ps->stub ? arch->trampoline.way_home : arch->swbp.nop, arch->swbp.len);
	if (rc < 0 && !undo_is_gone(&l->undo, ps->ret->trampoline, 0, 0))
		plant_left_live(l->undo.left, "a breakpoint", ps->ret->trampoline, rc);
}

void returns_leave(struct part_left *l)
{
	const struct plant_left *left = l->undo.left;
	unsigned n_before = left->n;

	/* While the sites stand: no unwinder is to come by where its breakpoint was and meet one. */
	return_ops(l->undo.space)->put_back(l->ps, &l->undo, l->tid);
	if (left->n == n_before && !left->is_live)
		send_home(l);
	if (l->owner == l->undo.space)
		l->ps->ret->wait |= l->undo.is_away;
}
