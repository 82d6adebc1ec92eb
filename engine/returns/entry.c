/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/entry.h"

#include "arch/guard_hijack.h"
#include "engine/returns/disarm.h"
#include "engine/returns/hijack.h"
#include "engine/returns/kernel.h"
#include "engine/returns/limits.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/process.h"

/*
 * Where the return address is in a register, another function that was entered with this
 * stack pointer may still be to return. Or it was left by longjmp(): a few are kept.
 */
static struct return_instance *instance_over(struct space *space, uint64_t sp,
					     struct return_instance *old)
{
	struct plant_space *ps = space->plant;
	struct return_instance *ri;

	returns_drop_oldest(old);
	ri = returns_new(ps, sp);
	if (!ri) {
		(void)map_put(&ps->ret->by_slot, sp, old);
		return NULL;
	}
	returns_unlink(old);
	ri->under = old;
	ri->index = old->index;
	if (ri->index)
		(void)map_put(&ps->ret->indexes, ri->index, ri);
	return ri;
}

/* An instance for the word at @sp, empty; one left by a longjmp() is reused. */
static struct return_instance *instance_at(struct space *space, pid_t tid, uint64_t sp)
{
	struct plant_space *ps = space->plant;
	struct return_instance *ri = map_get(&ps->ret->by_slot, sp);

	if (ri && return_ops(space)->may_lie_under(ri, tid))
		return instance_over(space, sp, ri);
	if (ri) {
		returns_count_all(ri->under, MISSED_SKIPPED);
		returns_free_one(ri->under);
		ri->under = NULL;
		/* Another thread has this stack now: its end was overtaken. */
		returns_count(ri, ri->tid == tid ? MISSED_SKIPPED : MISSED_THREAD);
		returns_unlink(ri);
		returns_clear_entries(ri);
	} else {
		if (ps->ret->by_slot.n >= ps->ret->sweep_at)
			return_ops(space)->sweep(space);
		return returns_new(ps, sp);
	}
	ri->missed = MISSED_N;
	ri->uncounted = false;
	ri->disarm_sp = ri->outer = 0;
	return ri;
}

/*
 * The thread is at @sp: its newest frames that are further down seem to have been
 * left by a longjmp(). Or they are a coroutine's and will go on, so they stay
 * known, and are no longer missed then.
 */
static void set_aside_below(struct tracee *t, uint64_t sp)
{
	struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri;

	while ((ri = t->probes->returns.newest) && ri->slot_vaddr < sp &&
	       sp - ri->slot_vaddr < FRAME_MAX) {
		returns_count_all(ri, MISSED_SKIPPED);
		returns_unlink(ri);
		returns_link(&ps->ret->lost, ri);
	}
}

/* May a function that was entered with this stack pointer, and returns by us, have jumped here? */
static bool may_be_tail_call(const struct plant *plant, const struct space *space, uint64_t sp)
{
	const struct plant_space *ps = space->plant;
	const struct return_instance *ri = map_get(&ps->ret->by_slot, sp);
	const struct site *site;

	for (uint32_t i = 0; ri && i < ri->n_entries; i++)
		if (kernel_may_be_misled(plant, ri->entries[i].site))
			return true;
	return hijack_has(space, sp, &site) && (!site || kernel_may_be_misled(plant, site));
}

/* Is @real, where the function at @site is to return to, the kernel's, and has to stay there? */
static bool is_for_kernel(const struct plant *plant, const struct tracee *t,
			  const struct site *site, uint64_t sp, uint64_t real)
{
	struct space *space = t->process->space;

	return kernel_returns_by(space->plant, t->tid, real) &&
	       (kernel_may_be_misled(plant, site) || may_be_tail_call(plant, space, sp));
}

/* @address is what stands for where the function that was entered with @sp returns to. */
static bool is_ours(const struct space *space, uint64_t sp, uint64_t address)
{
	const struct plant_space *ps = space->plant;
	struct guard_hijack entry;
	uint64_t at;

	if (address == ps->ret->trampoline ||
	    (ps->hijack->code_vaddr && address == ps->hijack->code_vaddr))
		return true;
	if (!hijack_may_be(ps, address))
		return false;
	entry = hijack_find(space, sp, &at);
	return entry.real && hijack_is_ours(ps, &entry, address);
}

void return_hijack(const struct plant *plant, struct tracee *t,
		   const struct return_entry *entry, struct ubp_regs *regs)
{
	struct site *site = entry->site;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	const struct return_ops *ops = return_ops(space);
	uint64_t sp = regs->r[space->arch->reg.sp], real = 0;
	struct return_instance *ri;

	if (!ps->ret->trampoline || !ops->find(t, regs, &real)) {
		returns_count_site(site, MISSED_NO_ROOM);
		return;
	}
	set_aside_below(t, sp);
	if (is_for_kernel(plant, t, site, sp, real)) {
		returns_count_site(site, MISSED_KERNEL);
		return;
	}
	if (is_ours(space, sp, real)) {
		ri = real == ps->ret->trampoline ? map_get(&ps->ret->by_slot, sp)
						 : ops->take_over(t, sp);
		if (!ri || returns_add_entry(ri, entry) < 0)
			returns_count_site(site, MISSED_NO_ROOM);
		if (ri)
			ops->replace(space, regs);
		return;
	}
	ops->overtake(t, sp);
	ri = instance_at(space, t->tid, sp);
	if (!ri || returns_add_entry(ri, entry) < 0) {
		returns_count_site(site, MISSED_NO_ROOM);
		if (ri)
			returns_drop(ps, ri); /* nobody's yet */
		return;
	}
	ri->real = real;
	ri->tid = t->tid;
	ri->serial = ++ps->ret->n_ever;
	if (plant->wake_unwinders(space, t->tid) < 0 || returns_arm(space, ri, t->tid) < 0) {
		returns_count(ri, MISSED_NO_ROOM);
		returns_drop(ps, ri);
		return;
	}
	returns_link(&t->probes->returns, ri);
	ops->replace(space, regs);
}

/* The one that is over, with the real address where the trampoline's jump takes it from. */
static struct return_instance *find_over(struct tracee *t, struct ubp_regs *regs)
{
	const struct space *space = t->process->space;
	const struct return_ops *ops = return_ops(space);
	struct return_instance *ri = ops->find_returned(space, regs->r[space->arch->reg.sp]);

	/* The function took its return address from the stack and jumped there by itself. */
	if (!ri)
		ri = t->probes->returns.newest;
	return ri && ops->put_real(t, regs, ri->real) ? ri : NULL;
}

/* Who was entered before with the same stack pointer is next. */
static void uncover(struct tracee *t, struct return_instance *ri)
{
	struct plant_space *ps = t->process->space->plant;
	struct return_instance *under = ri->under;

	ri->under = NULL;
	if (!under)
		return;
	under->index = 0;
	if (map_put(&ps->ret->by_slot, under->slot_vaddr, under) < 0 ||
	    returns_arm(t->process->space, under, t->tid) < 0) {
		returns_drop(ps, under);
		return;
	}
	under->tid = t->tid;
	returns_link(&t->probes->returns, under);
}

struct return_instance *return_take(struct tracee *t, struct ubp_regs *regs)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t sp = regs->r[space->arch->reg.sp], index;
	struct return_instance *ri = find_over(t, regs);

	if (!ri)
		return NULL;
	/*
	 * A vfork() child that returns from the function its parent entered: the
	 * parent, which has the trampoline's address in a register, will too.
	 */
	if (space_is_shared(space) && ri->tid != t->tid) {
		ri = returns_clone(ri);
		if (ri)
			ri->index = 0; /* that stays the other's */
		return ri;
	}
	returns_uncount(ri);
	returns_unlink(ri);
	map_remove(&ps->ret->by_slot, ri->slot_vaddr);
	index = ri->index;
	returns_forget(ps, ri);
	ri->index = index; /* for returns_over() */
	if (ri->outer)
		return_rearm_at(t, ri->outer);
	set_aside_below(t, sp);
	uncover(t, ri);
	return ri;
}

bool return_address(const struct tracee *t, const struct ubp_regs *regs, uint64_t *ret_address)
{
	const struct plant_space *ps = t->process->space->plant;
	uint64_t sp = regs->r[t->process->space->arch->reg.sp];
	const struct return_instance *ri;

	if (!return_ops(t->process->space)->read(t, regs, ret_address))
		return false;
	if (ps->ret->trampoline && *ret_address == ps->ret->trampoline) {
		ri = map_get(&ps->ret->by_slot, sp);
		*ret_address = ri ? ri->real : *ret_address;
	} else {
		*ret_address = hijack_real(t->process->space, sp, *ret_address);
	}
	return true;
}
