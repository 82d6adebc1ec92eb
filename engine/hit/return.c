/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/return.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hit/disarm.h"
#include "engine/hit/word.h"
#include "engine/plant/jump.h"

/* How far above its word a callee may leave the stack pointer ("ret 16"). */
#define RET_POPS_MAX 4096

/* No frame is as large as this. */
#define OTHER_STACK 0x100000

static void count_missed(const struct site *site, enum missed_why why)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->is_return)
			uprobe_count(&site->probes[i]->stats.missed[why]);
}

void return_forget(struct plant_space *ps, struct return_instance *ri)
{
	returns_count(ri, MISSED_SKIPPED);
	returns_unlink(ri);
	returns_forget(ps, ri);
	map_remove(&ps->returns, ri->slot_vaddr);
	returns_free_one(ri);
}

/* An instance for the word at @sp, empty; one left by a longjmp() is reused. */
static struct return_instance *instance_at(struct space *space, pid_t tid, uint64_t sp)
{
	struct plant_space *ps = space->plant;
	struct return_instance *ri = map_get(&ps->returns, sp);

	if (ri) {
		/* Another thread has this stack now: its end was overtaken. */
		returns_count(ri, ri->tid == tid ? MISSED_SKIPPED : MISSED_THREAD);
		returns_unlink(ri);
		ri->n_entries = 0;
	} else {
		if (ps->returns.n >= ps->sweep_at)
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

	while ((ri = t->returns.newest) && ri->slot_vaddr < sp &&
	       sp - ri->slot_vaddr < OTHER_STACK) {
		returns_count(ri, MISSED_SKIPPED);
		returns_unlink(ri);
		returns_link(&ps->lost, ri);
	}
}

void return_hijack(struct tracee *t, struct site *site, uint64_t sp, uint64_t now_ns)
{
	struct plant_space *ps = t->process->space->plant;
	const struct site *over;
	struct return_instance *ri;
	uint64_t real = 0;

	if (!ps->trampoline || read_word(t, sp, &real) < 0) {
		count_missed(site, MISSED_NO_ROOM);
		return;
	}
	set_aside_below(t, sp);
	if (real == ps->trampoline || (ps->return_vaddr && real == ps->return_vaddr)) {
		ri = real == ps->trampoline ? map_get(&ps->returns, sp) : hijack_take(t, sp);
		if (!ri || returns_add_entry(ri, site, now_ns) < 0)
			count_missed(site, MISSED_NO_ROOM);
		return;
	}
	over = hijack_drop(t->process->space, t->tid, sp);
	if (over)
		count_missed(over, MISSED_SKIPPED);
	ri = instance_at(t->process->space, t->tid, sp);
	if (!ri || returns_add_entry(ri, site, now_ns) < 0) {
		count_missed(site, MISSED_NO_ROOM);
		if (ri)
			return_forget(ps, ri); /* nobody's yet */
		return;
	}
	ri->real = real;
	ri->tid = t->tid;
	ri->serial = ++ps->n_returns;
	if (returns_arm(t->process->space, ri, t->tid) < 0) {
		returns_count(ri, MISSED_NO_ROOM);
		return_forget(ps, ri);
		return;
	}
	returns_link(&t->returns, ri);
}

/* A callee that pops its arguments returns with the stack pointer further up. */
static struct return_instance *find_popped(struct plant_space *ps, uint64_t sp, size_t word)
{
	for (uint64_t down = 2 * word; down <= RET_POPS_MAX; down += word) {
		struct return_instance *ri = map_get(&ps->returns, sp - down);

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
	copy->index = 0;
	copy->was_index = 0; /* the entry stays its parent's */
	copy->entries = malloc((ri->cap + 1) * sizeof(*copy->entries));
	if (!copy->entries) {
		free(copy);
		return NULL;
	}
	if (ri->n_entries)
		memcpy(copy->entries, ri->entries, ri->n_entries * sizeof(*copy->entries));
	return copy;
}

struct return_instance *return_take(struct tracee *t, uint64_t sp)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	size_t word = space->arch->addr_size;
	struct return_instance *ri = map_get(&ps->returns, sp - word);

	if (!ri)
		ri = find_popped(ps, sp, word);
	/* The function took its return address from the stack and jumped there by itself. */
	if (!ri)
		ri = t->returns.newest;
	if (!ri || write_word(t, sp - word, ri->real) < 0)
		return NULL;
	/*
	 * A vfork() child that returns from the function its parent entered: the
	 * parent, which has the trampoline's address in a register, will too.
	 */
	if (space->refs > 1 && ri->tid != t->tid)
		return copy_instance(ri);
	returns_uncount(ri);
	returns_unlink(ri);
	map_remove(&ps->returns, ri->slot_vaddr);
	ri->was_index = ri->index;
	returns_forget(ps, ri);
	if (ri->outer)
		return_rearm_at(t, ri->outer);
	set_aside_below(t, sp);
	return ri;
}

bool return_address(const struct tracee *t, const struct ubp_regs *regs, uint64_t *ret_address)
{
	const struct plant_space *ps = t->process->space->plant;
	uint64_t sp = regs->r[t->process->space->arch->sp];
	const struct return_instance *ri;

	if (read_word(t, sp, ret_address) < 0)
		return false;
	if (ps->trampoline && *ret_address == ps->trampoline) {
		ri = map_get(&ps->returns, sp);
		*ret_address = ri ? ri->real : *ret_address;
	} else {
		*ret_address = hijack_real(t->process->space, sp, *ret_address);
	}
	return true;
}

/* --- the end ------------------------------------------------------------------ */

void return_thread_ended(struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	enum missed_why why = MISSED_THREAD;
	struct return_instance *ri;

	t->n_unwinders = 0;
	if (!ps)
		return;
	if (t->process->execing || t->process->n_tracees == 1)
		why = MISSED_EXITED;
	/*
	 * The entries stay known: a coroutine that this thread left may go on in
	 * another. They only count as missed, once. Where it is the tracing that has
	 * ended, they do not: they can still return.
	 */
	while ((ri = t->returns.newest)) {
		if (!ps->closing)
			returns_count(ri, why);
		ri->tid = 0;
		returns_unlink(ri);
		returns_link(&ps->lost, ri);
	}
	while ((ri = t->disarmed.newest)) {
		if (!ps->closing)
			returns_count(ri, why);
		ri->uncounted = ps->closing;
		return_forget(ps, ri);
	}
}
