/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/return.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hit/disarm.h"
#include "engine/hit/word.h"
#include "engine/plant/jump.h"
#include "engine/plant/kernel.h"

/* How far above its word a callee may leave the stack pointer ("ret 16"). */
#define RET_POPS_MAX 4096

/* So many functions may be entered with one stack pointer, by a link register kept elsewhere; or
 * one of them, again and again left by longjmp(). */
#define UNDER_MAX 4

/* No frame is as large as this. */
#define OTHER_STACK 0x100000

static void count_missed(const struct site *site, enum missed_why why)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->is_return)
			uprobe_count(&site->probes[i]->stats.missed[why]);
}

/* With those that were entered with the same stack pointer before. */
static void count_all(struct return_instance *ri, enum missed_why why)
{
	for (; ri; ri = ri->under)
		returns_count(ri, why);
}

void return_forget(struct plant_space *ps, struct return_instance *ri)
{
	count_all(ri, MISSED_SKIPPED);
	returns_unlink(ri);
	returns_forget(ps, ri);
	map_remove(&ps->ret.by_slot, ri->slot_vaddr);
	returns_free_one(ri);
}

static void drop_oldest(struct return_instance *ri)
{
	for (int n = 1; ri->under && n < UNDER_MAX; n++)
		ri = ri->under;
	count_all(ri->under, MISSED_SKIPPED);
	returns_free_one(ri->under);
	ri->under = NULL;
}

/*
 * Where the return address is in a register, another function that was entered with this
 * stack pointer may still be to return. Or it was left by longjmp(): a few are kept.
 */
static struct return_instance *instance_over(struct space *space, uint64_t sp,
					     struct return_instance *old)
{
	struct plant_space *ps = space->plant;
	struct return_instance *ri;

	drop_oldest(old);
	ri = returns_new(ps, sp);
	if (!ri) {
		(void)map_put(&ps->ret.by_slot, sp, old);
		return NULL;
	}
	returns_unlink(old);
	ri->under = old;
	ri->index = old->index;
	if (ri->index)
		(void)map_put(&ps->ret.indexes, ri->index, ri);
	return ri;
}

/* An instance for the word at @sp, empty; one left by a longjmp() is reused. */
static struct return_instance *instance_at(struct space *space, pid_t tid, uint64_t sp)
{
	struct plant_space *ps = space->plant;
	struct return_instance *ri = map_get(&ps->ret.by_slot, sp);

	if (ri && arch_has_link(space->arch) && ri->tid == tid && !ri->disarm_sp)
		return instance_over(space, sp, ri);
	if (ri) {
		count_all(ri->under, MISSED_SKIPPED);
		returns_free_one(ri->under);
		ri->under = NULL;
		/* Another thread has this stack now: its end was overtaken. */
		returns_count(ri, ri->tid == tid ? MISSED_SKIPPED : MISSED_THREAD);
		returns_unlink(ri);
		ri->n_entries = 0;
	} else {
		if (ps->ret.by_slot.n >= ps->ret.sweep_at)
			returns_sweep(space);
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
	       sp - ri->slot_vaddr < OTHER_STACK) {
		count_all(ri, MISSED_SKIPPED);
		returns_unlink(ri);
		returns_link(&ps->ret.lost, ri);
	}
}

/* Where the function is to return to. False: that can't be replaced. */
static bool find_return(struct tracee *t, const struct ubp_regs *regs, uint64_t *ret_real)
{
	const struct ubp_arch *arch = t->process->space->arch;

	if (!arch_has_link(arch))
		return read_word(t, regs->r[arch->reg.sp], ret_real) == 0;
	*ret_real = regs->r[arch->reg.link];
	/* Planted by force where it is signed already, with who knows what. */
	return !(*ret_real & ~UBP_ADDRESS_MASK);
}

/*
 * hijack_take() where the return address is in a register: one of ours that waits with this stack
 * pointer, too, comes to lie under what was the detour's.
 */
static struct return_instance *take_over(struct tracee *t, uint64_t sp)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	struct return_instance *old = map_get(&ps->ret.by_slot, sp), *ri;

	if (!old || old->tid != t->tid || old->disarm_sp ||
	    hijack_real(space, sp, ps->hijack.code_vaddr) == ps->hijack.code_vaddr)
		return hijack_take(t, sp);
	drop_oldest(old);
	returns_forget(ps, old);
	map_remove(&ps->ret.by_slot, sp);
	ri = hijack_take(t, sp);
	if (!ri) {
		(void)map_put(&ps->ret.by_slot, sp, old);
		(void)returns_arm(space, old, t->tid);
		return NULL;
	}
	returns_unlink(old);
	ri->under = old;
	return ri;
}

/* May a function that was entered with this stack pointer, and returns by us, have jumped here? */
static bool may_be_tail_call(const struct plant *plant, const struct space *space, uint64_t sp)
{
	const struct plant_space *ps = space->plant;
	const struct return_instance *ri = map_get(&ps->ret.by_slot, sp);
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

void return_hijack(const struct plant *plant, struct tracee *t, struct site *site,
		   struct ubp_regs *regs, uint64_t now_ns)
{
	struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t sp = regs->r[arch->reg.sp], real = 0;
	const struct site *over;
	struct return_instance *ri;

	if (!ps->ret.trampoline || !find_return(t, regs, &real)) {
		count_missed(site, MISSED_NO_ROOM);
		return;
	}
	set_aside_below(t, sp);
	if (is_for_kernel(plant, t, site, sp, real)) {
		count_missed(site, MISSED_KERNEL);
		return;
	}
	if (real == ps->ret.trampoline ||
	    (ps->hijack.code_vaddr && real == ps->hijack.code_vaddr)) {
		ri = real == ps->ret.trampoline ? map_get(&ps->ret.by_slot, sp)
		     : arch_has_link(arch)      ? take_over(t, sp)
						: hijack_take(t, sp);
		if (!ri || returns_add_entry(ri, site, now_ns) < 0)
			count_missed(site, MISSED_NO_ROOM);
		if (ri && arch_has_link(arch))
			regs->r[arch->reg.link] = ps->ret.trampoline;
		return;
	}
	/* A detour's. In a register it may be on its way still: then it lies under this one. */
	over = arch_has_link(arch) ? NULL : hijack_drop(t->process->space, t->tid, sp);
	if (over)
		count_missed(over, MISSED_SKIPPED);
	if (arch_has_link(arch))
		(void)take_over(t, sp);
	ri = instance_at(t->process->space, t->tid, sp);
	if (!ri || returns_add_entry(ri, site, now_ns) < 0) {
		count_missed(site, MISSED_NO_ROOM);
		if (ri)
			return_forget(ps, ri); /* nobody's yet */
		return;
	}
	ri->real = real;
	ri->tid = t->tid;
	ri->serial = ++ps->ret.n_ever;
	if (watch_wake_begins(t->process->space, t->tid) < 0 ||
	    returns_arm(t->process->space, ri, t->tid) < 0) {
		returns_count(ri, MISSED_NO_ROOM);
		return_forget(ps, ri);
		return;
	}
	returns_link(&t->probes->returns, ri);
	if (arch_has_link(arch))
		regs->r[arch->reg.link] = ps->ret.trampoline;
}

/* A callee that pops its arguments returns with the stack pointer further up. */
static struct return_instance *find_popped(struct plant_space *ps, uint64_t sp, size_t word)
{
	for (uint64_t down = 2 * word; down <= RET_POPS_MAX; down += word) {
		struct return_instance *ri = map_get(&ps->ret.by_slot, sp - down);

		if (ri)
			return ri;
	}
	return NULL;
}

static struct return_instance *copy_instance(const struct return_instance *ri)
{
	struct return_instance *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *ri;
	copy->list = NULL;
	copy->under = NULL;
	copy->index = 0;
	copy->entries = malloc((ri->cap + 1) * sizeof(*copy->entries));
	if (!copy->entries) {
		free(copy);
		return NULL;
	}
	if (ri->n_entries)
		memcpy(copy->entries, ri->entries, ri->n_entries * sizeof(*copy->entries));
	return copy;
}

static uint64_t bytes_below(const struct ubp_arch *arch)
{
	return arch_has_link(arch) ? 0 : arch->addr_size;
}

/* The one that is over, with the real address where the trampoline's jump takes it from. */
static struct return_instance *find_over(struct tracee *t, struct ubp_regs *regs)
{
	const struct ubp_arch *arch = t->process->space->arch;
	struct plant_space *ps = t->process->space->plant;
	uint64_t sp = regs->r[arch->reg.sp], down = bytes_below(arch);
	struct return_instance *ri = map_get(&ps->ret.by_slot, sp - down);

	if (!ri && down)
		ri = find_popped(ps, sp, down);
	/* The function took its return address from the stack and jumped there by itself. */
	if (!ri)
		ri = t->probes->returns.newest;
	if (!ri || (down && write_word(t, sp - down, ri->real) < 0))
		return NULL;
	if (!down)
		regs->r[arch->reg.link] = ri->real;
	return ri;
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
	if (map_put(&ps->ret.by_slot, under->slot_vaddr, under) < 0 ||
	    returns_arm(t->process->space, under, t->tid) < 0) {
		return_forget(ps, under);
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
	if (space->refs > 1 && ri->tid != t->tid)
		return copy_instance(ri);
	returns_uncount(ri);
	returns_unlink(ri);
	map_remove(&ps->ret.by_slot, ri->slot_vaddr);
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

	if (arch_has_link(t->process->space->arch))
		*ret_address = regs->r[t->process->space->arch->reg.link] & UBP_ADDRESS_MASK;
	else if (read_word(t, sp, ret_address) < 0)
		return false;
	if (ps->ret.trampoline && *ret_address == ps->ret.trampoline) {
		ri = map_get(&ps->ret.by_slot, sp);
		*ret_address = ri ? ri->real : *ret_address;
	} else {
		*ret_address = hijack_real(t->process->space, sp, *ret_address);
	}
	return true;
}

/* --- the end ------------------------------------------------------------------ */

/* How many of @p's threads do not end; *ret_one: one of those. */
static size_t n_that_run(const struct process *p, struct tracee **ret_one)
{
	size_t n = 0;

	for (struct tracee *t = p->tracees; t; t = t->next)
		if (!t->ends) {
			*ret_one = t;
			n++;
		}
	return n;
}

/* Are there entries of detours in @t's memory, and nobody else's? */
static bool has_hijacks(const struct tracee *t)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;

	return ps && ps->hijack.table && !ps->closing && !t->process->is_vforked;
}

void return_thread_ends(struct tracee *t)
{
	struct tracee *other = NULL;
	size_t n;

	if (!has_hijacks(t))
		return;
	n = n_that_run(t->process, &other);
	hijack_thread_ends(t, n == 0 && t->process->space->refs == 1);
	/* The others are killed before the exec goes on. */
	if (n == 1 && other->execs)
		hijack_note_exec(other, t->process->space->refs == 1, true);
}

void return_execs(struct tracee *t)
{
	struct tracee *other = NULL;

	if (!has_hijacks(t))
		return;
	t->execs = true;
	hijack_note_exec(t, n_that_run(t->process, &other) == 1 && t->process->space->refs == 1,
			 false);
}

void return_thread_ended(struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	enum missed_why why = MISSED_THREAD;
	struct return_instance *ri;

	t->probes->n_unwinders = 0;
	if (!ps)
		return;
	if (t->process->execing && t->execs)
		hijack_count_exec(t->process->space);
	t->execs = false;
	if (t->process->execing || t->process->n_tracees == 1)
		why = MISSED_EXITED;
	/*
	 * The entries stay known: a coroutine that this thread left may go on in
	 * another. They only count as missed, once. Where it is the tracing that has
	 * ended, they do not: they can still return.
	 */
	while ((ri = t->probes->returns.newest)) {
		if (!ps->closing)
			count_all(ri, why);
		ri->tid = 0;
		returns_unlink(ri);
		returns_link(&ps->ret.lost, ri);
	}
	while ((ri = t->probes->disarmed.newest)) {
		if (!ps->closing)
			count_all(ri, why);
		ri->uncounted = ps->closing;
		return_forget(ps, ri);
	}
}
