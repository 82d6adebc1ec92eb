/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return addresses in a register: the function puts it anywhere, perhaps signed, and nobody can tell where. So it is replaced
 * in the registers that the thread goes on with, and known by the end of its caller's frame; and at the end nothing is put back: by
 * the guard's table, or the code of its detour, everybody comes home.
 */

#include <stddef.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/returns/hijack_open.h"
#include "engine/returns/in_register_unwind.h"
#include "engine/returns/limits.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/site_jump.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* --- a function is entered ------------------------------------------------------------ */

/* Planted by force where it is signed already, with who knows what, it is not replaced. */
static bool find(const struct tracee *t, const struct ubp_regs *regs, uint64_t *ret_address)
{
	*ret_address = regs->r[t->process->space->arch->reg.link];
	return !(*ret_address & ~UBP_ADDRESS_MASK);
}

static bool read_address(const struct tracee *t, const struct ubp_regs *regs,
			 uint64_t *ret_address)
{
	*ret_address = regs->r[t->process->space->arch->reg.link] & UBP_ADDRESS_MASK;
	return true;
}

/* One of ours that waits with this stack pointer, too, comes to lie under what was the detour's. */
static struct return_instance *take_over(struct tracee *t, uint64_t sp)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	struct return_instance *old = map_get(&ps->ret->by_slot, sp), *ri;

	if (!old || old->tid != t->tid || old->disarm_sp ||
	    hijack_real(space, sp, ps->hijack->code_vaddr) == ps->hijack->code_vaddr)
		return hijack_take(t, sp);
	returns_drop_oldest(old);
	returns_forget(ps, old);
	map_remove(&ps->ret->by_slot, sp);
	ri = hijack_take(t, sp);
	if (!ri) {
		(void)map_put(&ps->ret->by_slot, sp, old);
		(void)returns_arm(space, old, t->tid);
		return NULL;
	}
	returns_unlink(old);
	ri->under = old;
	return ri;
}

/* It may be on its way still: then it lies under the new one. */
static void overtake(struct tracee *t, uint64_t sp)
{
	(void)take_over(t, sp);
}

static bool may_lie_under(const struct return_instance *ri, pid_t tid)
{
	return ri->tid == tid && !ri->disarm_sp;
}

/* The address itself is written later, with all registers. */
static int write_entry(const struct space *space, const struct return_instance *ri, pid_t tid,
		       uint64_t entry)
{
	const struct guard_return words = { ri->slot_vaddr, ri->real };

	return entry ? mem_write(&space->mem, tid, entry, &words, sizeof(words)) : 0;
}

static void replace(const struct space *space, struct ubp_regs *regs)
{
	const struct plant_space *ps = space->plant;

	regs->r[space->arch->reg.link] = ps->ret->trampoline;
}

static void copy(const struct ubp_arch *arch, struct ubp_regs *regs,
		 const struct ubp_regs *from)
{
	regs->r[arch->reg.link] = from->r[arch->reg.link];
}

static void write_regs(struct tracee *t, const struct ubp_regs *regs, uint64_t pc)
{
	(void)ubp_host_move(t->tid, regs, pc);
}

static bool leave(const struct tracee *t, struct ubp_regs *regs, uint64_t *ret_to)
{
	*ret_to = regs->r[t->process->space->arch->reg.link];
	return true;
}

/* --- it returns ----------------------------------------------------------------------- */

/* The one of the frame that @vaddr is in, or further up. */
static const struct return_instance *nearest(const struct plant_space *ps, uint64_t vaddr)
{
	const struct return_instance *best = NULL;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->ret->by_slot, &pos, NULL, &value)) {
		const struct return_instance *ri = value;

		if (ri->slot_vaddr > vaddr && ri->slot_vaddr - vaddr < FRAME_MAX &&
		    (!best || ri->slot_vaddr < best->slot_vaddr))
			best = ri;
	}
	return best;
}

static uint64_t real(const struct space *space, uint64_t at, uint64_t sp, uint64_t word)
{
	const struct plant_space *ps = space->plant;
	const struct return_instance *ri;

	word &= UBP_ADDRESS_MASK;
	if (!ps)
		return word;
	if (ps->hijack->code_vaddr && word == ps->hijack->code_vaddr)
		return hijack_real(space, sp ? sp : hijack_nearest(space, at), word);
	if (!ps->ret->trampoline || word != ps->ret->trampoline)
		return word;
	ri = sp ? map_get(&ps->ret->by_slot, sp) : nearest(ps, at);
	return ri ? ri->real : word;
}

static uint64_t word_below(const struct ubp_arch *arch)
{
	(void)arch;
	return 0;
}

static struct return_instance *find_returned(const struct space *space, uint64_t sp)
{
	const struct plant_space *ps = space->plant;

	return map_get(&ps->ret->by_slot, sp);
}

static bool put_real(const struct tracee *t, struct ubp_regs *regs, uint64_t real_address)
{
	regs->r[t->process->space->arch->reg.link] = real_address;
	return true;
}

static bool read_returned(const struct tracee *t, const struct ubp_regs *regs,
			  uint64_t *ret_real)
{
	*ret_real = regs->r[t->process->space->arch->reg.link];
	return true;
}

static void send_on(struct tracee *t, const struct ubp_regs *regs)
{
	(void)ubp_host_move(t->tid, regs, regs->r[t->process->space->arch->reg.pc]);
}

/* --- an unwinder looks ---------------------------------------------------------------- */

static struct return_word word_of(const struct plant_space *ps,
				  const struct return_instance *ri)
{
	(void)ps;
	return (struct return_word){ ri->word_vaddr, ri->word_was, ri->word_is };
}

/* The stack pointer at entry is that of the caller, too. */
static bool is_left(uint64_t entry_sp, uint64_t sp)
{
	return entry_sp <= sp;
}

static bool wants_stacks(const struct plant_space *ps)
{
	return ps->hijack->code_vaddr || ps->ret->by_slot.n;
}

/* --- a thread, or the tracing, ends --------------------------------------------------- */

/* Where they are, nobody knows; but there is one for a stack word at most. */
static void sweep(struct space *space)
{
	struct plant_space *ps = space->plant;

	ps->ret->sweep_at = UINT32_MAX;
}

/* The guard's code behind the trampoline does the rest. */
static void put_back(struct plant_space *owner, struct undo *undo, pid_t tid)
{
	(void)owner, (void)undo, (void)tid;
}

static bool needs_table(const struct plant_space *ps)
{
	return ps->ret->by_slot.n;
}

/* Nothing tells where they are: .look_at_own(). */
static void take_own(struct tracee *t)
{
	(void)t;
}

static void save_returning(const struct space *space)
{
	(void)space;
}

/* They have gone anywhere; their code does not need us. */
static void put_back_hijacks(struct plant_space *owner, const struct space *space, pid_t tid,
			     struct plant_left *left)
{
	(void)owner, (void)space, (void)tid, (void)left;
}

static void note_blocks(const struct space *space)
{
	if (!hijack_note_blocks(space))
		jump_forget_users(space->plant, false);
}

static bool keeps_hijacks(const struct plant_space *ps)
{
	return ps->hijack->table;
}

const struct return_ops return_in_register = {
	.find = find,
	.read = read_address,
	.take_over = take_over,
	.overtake = overtake,
	.may_lie_under = may_lie_under,
	.write = write_entry,
	.replace = replace,
	.copy = copy,
	.write_regs = write_regs,
	.leave = leave,
	.real = real,
	.word_below = word_below,
	.find_returned = find_returned,
	.put_real = put_real,
	.read_returned = read_returned,
	.send_on = send_on,
	.disarm = in_register_disarm,
	.disarm_signed = in_register_disarm_signed,
	.word = word_of,
	.is_left = is_left,
	.wants_stacks = wants_stacks,
	.sweep = sweep,
	.put_back = put_back,
	.needs_table = needs_table,
	.take_own = take_own,
	.look_at_own = hijack_look_at_own,
	.save_returning = save_returning,
	.put_back_hijacks = put_back_hijacks,
	.note_blocks = note_blocks,
	.keeps_hijacks = keeps_hijacks,
};
