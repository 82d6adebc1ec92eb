/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Functions that were entered by detours and never return: their thread ends, or executes a program. The
 * table of what was replaced (struct guard_hijack) goes with the memory that it is in, so they are
 * counted before. Where return addresses stand in the stack, those of a thread are taken over, and
 * count as the tracer's own do. Where they come in link registers nothing tells where they are by
 * now; but the table has the stack pointer at entry, and that tells whose they are.
 */

#include "engine/returns/hijack_open.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard_hijack.h"
#include "arch/host.h"
#include "engine/base/vec.h"
#include "engine/returns/hijack.h"
#include "engine/returns/limits.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define CHUNK 256

/* A walk over entries that are in use. */
struct walk {
	const struct space *space;
	uint64_t index, left; /* of the table: what was not read yet */
	uint64_t from, to;    /* words; 0: all */
	struct guard_hijack some[CHUNK];
	size_t i, n;
	uint64_t vaddr; /* of some[0] */
};

static bool read_more(struct walk *w)
{
	const struct plant_space *ps = w->space->plant;
	uint64_t n = CHUNK;

	if (n > ps->hijack->mask + 1 - w->index)
		n = ps->hijack->mask + 1 - w->index;
	if (n > w->left)
		n = w->left;
	w->vaddr = ps->hijack->table + w->index * sizeof(w->some[0]);
	if (!n || mem_peek(&w->space->mem, w->vaddr, w->some, n * sizeof(w->some[0])) !=
			  n * sizeof(w->some[0]))
		return false;
	w->index = (w->index + n) & ps->hijack->mask;
	w->left -= n;
	w->n = n;
	w->i = 0;
	return true;
}

/* NULL: there are no more. */
static const struct guard_hijack *next_in_use(struct walk *w, uint64_t *ret_vaddr)
{
	for (;; w->i++) {
		const struct guard_hijack *entry;

		if (w->i >= w->n && !read_more(w))
			return NULL;
		entry = &w->some[w->i];
		if (!entry->word || !entry->real || entry->word < w->from ||
		    (w->to && entry->word >= w->to))
			continue;
		*ret_vaddr = w->vaddr + w->i * sizeof(*entry);
		w->i++;
		return entry;
	}
}

static void walk_all(struct walk *w, const struct space *space)
{
	w->space = space;
	w->index = w->from = w->to = w->i = w->n = 0;
	w->left = space->plant->hijack->mask + 1;
}

/* Those of functions that were entered on this stack of @t, at @sp by now. */
static void walk_stack(struct walk *w, struct tracee *t, const struct ubp_regs *regs,
		       uint64_t sp)
{
	const struct space *space = t->process->space;
	uint64_t end = 0, looks;

	walk_all(w, space);
	/* A C library has what belongs to a thread behind its stack. */
	(void)ubp_host_get_thread_pointer(space->arch, t->tid, regs, &end);
	w->from = sp;
	w->to = end - sp < THREAD_STACK_MAX ? end : sp + THREAD_STACK_MAX;
	w->index = UBP_HIJACK_INDEX(sp, space->arch->addr_size) & space->plant->hijack->mask;
	looks = UBP_HIJACK_SPAN(w->to - sp, space->arch->addr_size) + UBP_HIJACK_LOOKS;
	w->left = looks < w->left ? looks : w->left;
}

void hijack_count(const struct space *space, const struct guard_hijack *entry,
		  enum missed_why why)
{
	const struct site *site = plant_site_of_slot(space, entry->back);
	uint64_t at;
	const struct site_jump *jump = site ? jump_at(site, entry->back, &at) : NULL;

	for (size_t i = 0; jump && i < jump->n_probes; i++)
		if (jump->probes[i]->kind == PROBE_RETURN)
			uprobe_count(&jump->probes[i]->stats.missed[why]);
}

/* What tells an entry from one that another call has made at the same place later. */
static void *mark_of(const struct guard_hijack *entry)
{
	return (void *)(uintptr_t)((entry->back ^ entry->real << 1) | 1);
}

static bool is_inherited(const struct space *space, const struct guard_hijack *entry)
{
	return map_get(&space->plant->hijack->inherited, entry->word) == mark_of(entry);
}

static void note(struct plant_space *ps, const struct guard_hijack *entry)
{
	if (VEC_DOUBLE(ps->hijack->open_at_exec, ps->hijack->n_open_at_exec) == 0)
		ps->hijack->open_at_exec[ps->hijack->n_open_at_exec++] = *entry;
}

static void deal_with(struct tracee *t, const struct guard_hijack *entry, uint64_t vaddr,
		      enum with_open what)
{
	struct space *space = t->process->space;

	if (what == LEAVE_UNCOUNTED) {
		(void)map_put(&space->plant->hijack->inherited, entry->word, mark_of(entry));
		return;
	}
	if (is_inherited(space, entry))
		return;
	if (what == NOTE) {
		note(space->plant, entry);
		return;
	}
	hijack_count(space, entry, what == COUNT_AS_EXITED ? MISSED_EXITED : MISSED_THREAD);
	hijack_set_free(space, t->tid, vaddr);
}

/* Bounded by what is entered, as behind a stack may be others. */
static void look_through(struct tracee *t, const struct ubp_regs *regs, uint64_t sp,
			 enum with_open what)
{
	const struct guard_hijack *entry;
	uint64_t last = sp, vaddr;
	struct walk w;

	walk_stack(&w, t, regs, sp);
	while ((entry = next_in_use(&w, &vaddr))) {
		if (entry->word > last && entry->word - last > FRAME_MAX)
			break;
		last = entry->word > last ? entry->word : last;
		deal_with(t, entry, vaddr, what);
	}
}

void hijack_look_at_own(struct tracee *t, enum with_open what)
{
	const struct space *space = t->process->space;
	struct ubp_regs regs;
	uint64_t sp;

	if (!space->plant->hijack->table || ubp_host_get_regs(t->tid, &regs) < 0)
		return;
	sp = regs.r[space->arch->reg.sp];
	look_through(t, &regs, sp, what);
	for (unsigned i = 0; i < STACKS_MAX; i++) {
		uint64_t other = t->probes->interrupted_sp[i];

		if (other && !is_same_stack(other, sp))
			look_through(t, &regs, other, what);
	}
}

static void count_all(const struct space *space)
{
	const struct guard_hijack *entry;
	uint64_t vaddr;
	struct walk w;

	if (space->plant->hijack->is_copy)
		return; /* they may be its parent's */
	walk_all(&w, space);
	while ((entry = next_in_use(&w, &vaddr)))
		hijack_count(space, entry, MISSED_EXITED);
}

void hijack_thread_ends(struct tracee *t, bool is_last)
{
	const struct space *space = t->process->space;

	return_ops(space)->take_own(t);
	return_ops(space)->look_at_own(t, is_last ? COUNT_AS_EXITED : COUNT_AS_THREADS);
	if (is_last)
		count_all(space);
}

void hijack_note_exec(struct tracee *t, bool is_alone, bool is_in_it)
{
	const struct space *space = t->process->space;
	const struct guard_hijack *entry;
	uint64_t vaddr;
	struct walk w;

	return_ops(space)->take_own(t);
	/* Where it is in the exec already nothing tells where its stack is: what was noted stays. */
	if (space->plant->hijack->is_copy && is_in_it)
		return;
	space->plant->hijack->n_open_at_exec = 0;
	if (!is_alone || space->plant->hijack->is_copy) {
		return_ops(space)->look_at_own(t, NOTE);
		return;
	}
	walk_all(&w, space);
	while ((entry = next_in_use(&w, &vaddr)))
		note(space->plant, entry);
}

void hijack_count_exec(struct space *space)
{
	struct plant_space *ps = space->plant;

	for (size_t i = 0; i < ps->hijack->n_open_at_exec; i++)
		hijack_count(space, &ps->hijack->open_at_exec[i], MISSED_EXITED);
	ps->hijack->n_open_at_exec = 0;
}

void hijack_adopt(struct tracee *first)
{
	const struct return_ops *ops = return_ops(first->process->space);

	ops->look_at_own(first, LEAVE_UNCOUNTED);
	ops->take_own(first);
	for (struct return_instance *ri = first->probes->returns.newest; ri; ri = ri->older)
		ri->uncounted = true;
}
