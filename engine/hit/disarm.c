/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/disarm.h"

#include <string.h>

#include "engine/hit/disarm_link.h"
#include "engine/hit/return.h"
#include "engine/hit/word.h"
#include "engine/plant/jump.h"

/* No frame is as large as this. */
#define OTHER_STACK 0x100000

/* Of a stack, looked through at once, bytes. */
#define STACK_CHUNK 0x2000

/* --- into the unwinder ---------------------------------------------------------- */

static void disarm_one(struct tracee *t, struct return_instance *ri, uint64_t sp,
		       struct return_list *list)
{
	if (write_word(t, ri->slot_vaddr, ri->real) < 0)
		return;
	returns_unlink(ri);
	returns_link(list, ri);
	ri->disarm_sp = sp;
}

/*
 * All that are on this stack, also those that others entered: a coroutine's that has
 * moved here from another thread, or that seemed to be left behind. They are found
 * by what stands in the stack.
 */
static void disarm_stack(struct tracee *t, uint64_t sp, struct return_list *list)
{
	const struct plant_space *ps = t->process->space->plant;
	size_t size = t->process->space->arch->addr_size;
	uint8_t words[STACK_CHUNK];

	for (uint64_t at = sp; at - sp < OTHER_STACK; at += sizeof(words)) {
		size_t got =
			mem_read(&t->process->space->mem, t->tid, at, words, sizeof(words));

		for (size_t i = 0; i + size <= got; i += size) {
			struct return_instance *ri;

			if (memcmp(words + i, &ps->ret.trampoline, size) != 0)
				continue;
			ri = map_get(&ps->ret.by_slot, at + i);
			if (ri && !ri->disarm_sp)
				disarm_one(t, ri, sp, list);
		}
		if (got < sizeof(words))
			return;
	}
}

/*
 * The thread's own. Some may be on other stacks, by large steps: the unwinder gets
 * there from the alternate stack of a signal handler.
 */
static void disarm_own(struct tracee *t, uint64_t sp, struct return_list *here,
		       struct return_list *far)
{
	const struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri, *older;
	uint64_t last = sp;

	for (ri = t->probes->returns.newest; ri; ri = older) {
		bool is_here = ri->slot_vaddr >= last && ri->slot_vaddr - last < OTHER_STACK;
		uint64_t now = 0;

		older = ri->older;
		/* Below, on this very stack: left behind. */
		if (ri->slot_vaddr < sp && sp - ri->slot_vaddr < OTHER_STACK)
			continue;
		if (is_here)
			last = ri->slot_vaddr;
		if (read_word(t, ri->slot_vaddr, &now) == 0 && now == ps->ret.trampoline)
			disarm_one(t, ri, sp, is_here ? here : far);
	}
}

/* Note that it is entered. Those that it seems to have replaced were never left. */
static struct unwinder *enter(struct tracee *t, uint64_t sp, bool lands)
{
	struct unwinder *u, replaced = { 0 };

	while (t->probes->n_unwinders) {
		u = &t->probes->unwinders[t->probes->n_unwinders - 1];
		if (u->sp > sp || sp - u->sp >= OTHER_STACK)
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
static void note_disarmed(struct tracee *t, uint64_t sp, unsigned watches,
			  struct return_list *here, struct return_list *far)
{
	struct return_instance *ri;
	struct unwinder *u;

	if (!here->n && !far->n && !t->probes->n_unwinders)
		return;
	u = enter(t, sp, watches & WATCH_LANDS);
	u->has_far = u->has_far || far->n;
	watch_wake_ends(t->process->space, t->tid);
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
}

void return_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches)
{
	const struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t sp = regs->r[arch->reg.sp];
	struct return_list here = { 0 }, far = { 0 };

	if (arch_has_link(arch)) {
		disarm_links(t, regs, &here);
		note_disarmed(t, sp, watches, &here, &far);
		return;
	}
	/* What is resumed has come by here before. */
	if (ps->hijack.code_vaddr && !(watches & WATCH_RESUME))
		hijack_take_stacks(t, sp);
	if (!(watches & WATCH_RESUME) &&
	    ps->ret.by_slot.n > t->probes->returns.n + t->probes->disarmed.n)
		disarm_stack(t, sp, &here);
	disarm_own(t, sp, &here, &far);
	note_disarmed(t, sp, watches, &here, &far);
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
	bool has_link = arch_has_link(t->process->space->arch);
	uint64_t at = has_link ? ri->word_vaddr : ri->slot_vaddr;
	uint64_t was = has_link ? ri->word_was : ps->ret.trampoline;
	uint64_t is = has_link ? ri->word_is : ri->real, now = 0;

	returns_unlink(ri);
	ri->disarm_sp = 0;
	ri->far = false;
	/* All are being put back, for good. */
	ri->uncounted = ri->uncounted || ps->closing;
	if (ps->closing || !at || read_word(t, at, &now) < 0 || now != is ||
	    write_word(t, at, was) < 0) {
		return_forget(ps, ri);
		return;
	}
	ri->tid = t->tid;
	returns_uncount(ri);
	link_by_age(&t->probes->returns, ri);
}

static struct return_instance *disarmed_at(const struct tracee *t, uint64_t slot_vaddr)
{
	const struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri = slot_vaddr ? map_get(&ps->ret.by_slot, slot_vaddr) : NULL;

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
	/* A register's stack word is that of the caller. */
	return ri->slot_vaddr < sp ||
	       (arch_has_link(t->process->space->arch) && ri->slot_vaddr == sp);
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
		if (is_left(t, ri, sp) && sp - ri->slot_vaddr < OTHER_STACK)
			return_forget(t->process->space->plant, ri);
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
		return_forget(t->process->space->plant, ri);
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
	    sp < t->probes->unwinders[t->probes->n_unwinders - 1].sp ||
	    (sp == t->probes->unwinders[t->probes->n_unwinders - 1].sp &&
	     !arch_has_link(t->process->space->arch)))
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
	    (sp <= u->top || sp - u->top < OTHER_STACK))
		return_landed(t, sp);
}
