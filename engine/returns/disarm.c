/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/disarm.h"

#include <string.h>

#include "engine/returns/limits.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/returns/word.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* --- into the unwinder ---------------------------------------------------------- */

/* Note that it is entered. Those that it seems to have replaced were never left. */
static struct unwinder *enter(struct tracee *t, uint64_t sp, bool lands)
{
	struct unwinder *u, replaced = { 0 };

	while (t->probes->n_unwinders) {
		u = &t->probes->unwinders[t->probes->n_unwinders - 1];
		if (u->sp > sp || sp - u->sp >= FRAME_MAX)
			break;
		/* A jump from one to the next: the same frames. */
		replaced = u->sp == sp ? *u : (struct unwinder){ 0 };
		t->probes->n_unwinders--;
	}
	if (t->probes->n_unwinders == UNWINDERS_MAX)
		memmove(t->probes->unwinders, t->probes->unwinders + 1,
			--t->probes->n_unwinders * sizeof(t->probes->unwinders[0]));
	u = &t->probes->unwinders[t->probes->n_unwinders++];
	*u = replaced;
	u->sp = sp;
	u->interrupts = t->probes->interrupts;
	u->lands = lands;
	return u;
}

/* All that were put back, the outermost of this stack first: into the list of those. */
static bool note_disarmed(struct tracee *t, uint64_t sp, unsigned watches,
			  struct return_list *here, struct return_list *far)
{
	struct return_instance *ri;
	struct unwinder *u;

	if (!here->n && !far->n && !t->probes->n_unwinders)
		return false;
	u = enter(t, sp, watches & WATCH_LANDS);
	u->has_far = u->has_far || far->n;
	while ((ri = far->newest)) {
		ri->far = true;
		returns_unlink(ri);
		returns_link(&t->probes->disarmed, ri);
	}
	/* The outermost comes first: the innermost will be the newest again. It keeps
	 * what it knows of those that are put back already. */
	if (here->n)
		u->top = here->newest->slot_vaddr;
	for (uint64_t outer = 0; (ri = here->newest); outer = ri->slot_vaddr) {
		ri->outer = outer ? outer : ri->outer;
		u->head = ri->slot_vaddr;
		returns_unlink(ri);
		returns_link(&t->probes->disarmed, ri);
	}
	return true;
}

bool return_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches)
{
	const struct space *space = t->process->space;
	struct return_list here = { 0 }, far = { 0 };

	return_ops(space)->disarm(t, regs, watches, &here, &far);
	return note_disarmed(t, regs->r[space->arch->reg.sp], watches, &here, &far);
}

/* --- and out again ---------------------------------------------------------------- */

/* Where it belongs among those that are hijacked: inner frames are newer. */
static void link_by_age(struct return_list *list, struct return_instance *ri)
{
	struct return_instance *newer = NULL;

	for (struct return_instance *at = list->newest; at && at->serial > ri->serial;
	     at = at->older)
		newer = at;
	returns_link_behind(list, newer, ri);
}

/* Hijack one again that was put back, or forget it: its frame is gone. */
static void rearm(struct tracee *t, struct return_instance *ri)
{
	struct plant_space *ps = t->process->space->plant;
	struct return_word word = return_ops(t->process->space)->word(ps, ri);
	uint64_t now = 0;

	returns_unlink(ri);
	ri->disarm_sp = 0;
	ri->far = false;
	/* All are being put back, for good. */
	ri->uncounted = ri->uncounted || ps->closing;
	if (ps->closing || !word.at || read_word(t, word.at, &now) < 0 || now != word.is ||
	    write_word(t, word.at, word.was) < 0) {
		returns_drop(ps, ri);
		return;
	}
	ri->tid = t->tid;
	returns_uncount(ri);
	link_by_age(&t->probes->returns, ri);
}

static struct return_instance *disarmed_at(const struct tracee *t, uint64_t slot_vaddr)
{
	const struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri = slot_vaddr ? map_get(&ps->ret->by_slot, slot_vaddr) : NULL;

	return ri && ri->disarm_sp ? ri : NULL;
}

void return_rearm_at(struct tracee *t, uint64_t slot_vaddr)
{
	struct return_instance *ri = disarmed_at(t, slot_vaddr);

	/* Whichever thread it was disarmed by: the stack may have moved. */
	if (ri)
		rearm(t, ri);
}

/* Is its frame gone, for a thread that is at @sp? */
static bool is_left(const struct tracee *t, const struct return_instance *ri, uint64_t sp)
{
	return return_ops(t->process->space)->is_left(ri->slot_vaddr, sp);
}

/* Those of other stacks: nothing tells which of them returns next. */
static void rearm_far(struct tracee *t, const struct unwinder *u, uint64_t sp)
{
	struct return_instance *ri, *older;

	/* They are behind the frames of the unwinder's stack that are still there. */
	for (ri = t->probes->disarmed.newest; ri; ri = older) {
		older = ri->older;
		if (!ri->far || ri->disarm_sp != u->sp)
			continue;
		if (is_left(t, ri, sp) && sp - ri->slot_vaddr < FRAME_MAX)
			returns_drop(t->process->space->plant, ri);
		else
			rearm(t, ri);
	}
}

static void leave(struct tracee *t, const struct unwinder *u, uint64_t sp)
{
	struct return_instance *ri;
	uint64_t at = u->head;

	if (u->has_far)
		rearm_far(t, u, sp);
	while ((ri = disarmed_at(t, at)) && is_left(t, ri, sp)) {
		at = ri->outer;
		returns_drop(t->process->space->plant, ri);
	}
	if (ri)
		rearm(t, ri);
}

void return_landed(struct tracee *t, uint64_t sp)
{
	unsigned interrupts;
	bool is_first = true;

	/* Else it is but a jump inside of it. */
	if (!t->probes->n_unwinders ||
	    !return_ops(t->process->space)
		     ->is_left(t->probes->unwinders[t->probes->n_unwinders - 1].sp, sp))
		return;
	interrupts = t->probes->unwinders[t->probes->n_unwinders - 1].interrupts;
	/*
	 * The one that was entered last, and with it those that called it. But if a
	 * signal came between them, that was its handler's, perhaps on another stack.
	 */
	while (t->probes->n_unwinders) {
		struct unwinder u = t->probes->unwinders[t->probes->n_unwinders - 1];

		if (!is_first && (u.sp >= sp || u.interrupts != interrupts))
			return;
		is_first = false;
		t->probes->n_unwinders--;
		leave(t, &u, sp);
	}
}

void return_look_landed(struct tracee *t, uint64_t sp)
{
	const struct unwinder *u = &t->probes->unwinders[t->probes->n_unwinders - 1];

	/* Far above: another stack, of a signal handler that interrupted it. */
	if (t->probes->n_unwinders && !u->lands && sp > u->sp &&
	    (sp <= u->top || sp - u->top < FRAME_MAX))
		return_landed(t, sp);
}
