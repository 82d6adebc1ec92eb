/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return addresses in the stack: a call pushes it, and it stays in that word until the function returns. So what is replaced
 * can be found, looked at and put back at any time.
 */

#include <errno.h>
#include <stddef.h>
#include <sys/uio.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/returns/in_stack_hijacks.h"
#include "engine/returns/in_stack_unwind.h"
#include "engine/returns/kernel.h"
#include "engine/returns/limits.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/returns/word.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/undo.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* --- a function is entered ------------------------------------------------------------ */

static bool read_address(const struct tracee *t, const struct ubp_regs *regs,
			 uint64_t *ret_address)
{
	return read_word(t, regs->r[t->process->space->arch->reg.sp], ret_address) == 0;
}

static void overtake(struct tracee *t, uint64_t sp)
{
	const struct site *over = hijack_drop(t->process->space, t->tid, sp);

	if (over)
		returns_count_site(over, MISSED_SKIPPED);
}

/* They would have the same word. */
static bool may_lie_under(const struct return_instance *ri, pid_t tid)
{
	(void)ri, (void)tid;
	return false;
}

static int write_trampoline(const struct space *space, const struct return_instance *ri,
			    pid_t tid)
{
	const struct plant_space *ps = space->plant;

	return mem_write(&space->mem, tid, ri->slot_vaddr, &ps->ret->trampoline,
			 space->arch->addr_size);
}

/* In this order: whoever dies in between, no word is without its entry. */
static int write_entry(const struct space *space, const struct return_instance *ri, pid_t tid,
		       uint64_t entry)
{
	struct plant_space *ps = space->plant;
	struct guard_return words = { ri->slot_vaddr, ri->real };
	const struct iovec from[2] = { { &words, sizeof(words) },
				       { &ps->ret->trampoline, space->arch->addr_size } };
	const struct iovec to[2] = { { (void *)(uintptr_t)entry, sizeof(words) },
				     { (void *)(uintptr_t)ri->slot_vaddr,
				       space->arch->addr_size } };
	int rc;

	if (!entry)
		return write_trampoline(space, ri, tid);
	if (mem_is_sure(&space->mem, tid) &&
	    process_vm_writev(tid, from, 2, to, 2, 0) ==
		    (ssize_t)(sizeof(words) + space->arch->addr_size))
		return 0;
	rc = mem_write(&space->mem, tid, entry, &words, sizeof(words));
	return rc < 0 ? rc : write_trampoline(space, ri, tid);
}

/* .write() has done so. */
static void replace(const struct space *space, struct ubp_regs *regs)
{
	(void)space, (void)regs;
}

static void copy(const struct ubp_arch *arch, struct ubp_regs *regs,
		 const struct ubp_regs *from)
{
	(void)arch, (void)regs, (void)from;
}

static void write_regs(struct tracee *t, const struct ubp_regs *regs, uint64_t pc)
{
	(void)t, (void)regs, (void)pc;
}

static bool leave(const struct tracee *t, struct ubp_regs *regs, uint64_t *ret_to)
{
	const struct ubp_arch *arch = t->process->space->arch;

	if (read_word(t, regs->r[arch->reg.sp], ret_to) < 0)
		return false;
	regs->r[arch->reg.sp] += arch->addr_size;
	return true;
}

/* --- it returns ----------------------------------------------------------------------- */

static uint64_t real(const struct space *space, uint64_t at, uint64_t sp, uint64_t word)
{
	const struct plant_space *ps = space->plant;
	const struct return_instance *ri;

	(void)sp;
	if (!ps)
		return word;
	if (!ps->ret->trampoline || word != ps->ret->trampoline)
		return hijack_real(space, at, word);
	ri = map_get(&ps->ret->by_slot, at);
	return ri ? ri->real : word;
}

static uint64_t word_below(const struct ubp_arch *arch)
{
	return arch->addr_size;
}

/* A callee that pops its arguments returns with the stack pointer further up. */
static struct return_instance *find_returned(const struct space *space, uint64_t sp)
{
	const struct plant_space *ps = space->plant;
	size_t word = space->arch->addr_size;

	for (uint64_t down = word; down <= RET_POPS_MAX; down += word) {
		struct return_instance *ri = map_get(&ps->ret->by_slot, sp - down);

		if (ri)
			return ri;
	}
	return NULL;
}

/* Right below the stack pointer, wherever it was pushed. */
static uint64_t popped(const struct tracee *t, const struct ubp_regs *regs)
{
	const struct ubp_arch *arch = t->process->space->arch;

	return regs->r[arch->reg.sp] - arch->addr_size;
}

static bool put_real(const struct tracee *t, struct ubp_regs *regs, uint64_t real_address)
{
	return write_word(t, popped(t, regs), real_address) == 0;
}

static bool read_returned(const struct tracee *t, const struct ubp_regs *regs,
			  uint64_t *ret_real)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	uint64_t at = popped(t, regs), real_address;

	if (read_word(t, at, ret_real) < 0)
		return false;
	/* Of a function that was entered by a jump, the way home is by the return code once more. */
	*ret_real = real(space, at, 0, *ret_real);
	if (ps->hijack->code_vaddr && *ret_real == ps->hijack->code_vaddr &&
	    in_stack_find_returned_by(space, regs->r[space->arch->reg.sp], &real_address))
		*ret_real = real_address;
	return true;
}

static void send_on(struct tracee *t, const struct ubp_regs *regs)
{
	if (t->process->space->arch->trampoline.leave)
		(void)ubp_host_set_regs(t->tid, regs);
}

/* --- an unwinder looks ---------------------------------------------------------------- */

/* Nothing is signed. */
static bool disarm_signed(const struct held *held)
{
	(void)held;
	return true;
}

static struct return_word word_of(const struct plant_space *ps,
				  const struct return_instance *ri)
{
	return (struct return_word){ ri->slot_vaddr, ps->ret->trampoline, ri->real };
}

static bool is_left(uint64_t entry_sp, uint64_t sp)
{
	return entry_sp < sp;
}

static bool wants_stacks(const struct plant_space *ps)
{
	return ps->hijack->code_vaddr;
}

/* --- a thread, or the tracing, ends --------------------------------------------------- */

static bool stands_there(const struct plant_space *ps, const struct space *space,
			 const struct return_instance *ri)
{
	size_t size = space->arch->addr_size;
	uint64_t now = 0;

	return mem_peek(&space->mem, ri->slot_vaddr, &now, size) == size &&
	       now == (ri->disarm_sp ? ri->real : ps->ret->trampoline);
}

static void sweep(struct space *space)
{
	struct plant_space *ps = space->plant;
	struct return_list gone = { 0 };
	size_t pos = 0;
	void *value;

	while (map_next(&ps->ret->by_slot, &pos, NULL, &value)) {
		struct return_instance *ri = value;

		/* The newest of a thread may be on its way: popped, not yet jumped to. */
		if ((!ri->newer && ri->tid) || stands_there(ps, space, ri))
			continue;
		returns_unlink(ri);
		returns_link(&gone, ri);
	}
	while (gone.newest)
		returns_drop(ps, gone.newest);
	returns_sweep_later(ps);
}

/* 0: nothing of ours is there. */
static int put_back_one(struct plant_space *owner, struct undo *undo, pid_t tid,
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
	if (now == owner->ret->trampoline)
		return mem_write(&space->mem, tid, ri->slot_vaddr, &ri->real, size);
	/* Skipped by a longjmp(), it may be somebody else's data by now. Or its stack was copied
	 * away, and will come back with our address. */
	undo->is_away |= now != ri->real;
	return 0;
}

static void put_back(struct plant_space *owner, struct undo *undo, pid_t tid)
{
	size_t pos = 0;
	void *value;

	while (map_next(&owner->ret->by_slot, &pos, NULL, &value)) {
		const struct return_instance *ri = value;
		int rc = ri->disarm_sp ? 0 : put_back_one(owner, undo, tid, ri);

		if (rc < 0 && !undo_is_gone(undo, ri->slot_vaddr, 0, 0))
			plant_left_live(undo->left, "a return address", ri->slot_vaddr, rc);
	}
}

/* All are put back by then, or the stack that one was on may come back: space_returns.wait. */
static bool needs_table(const struct plant_space *ps)
{
	(void)ps;
	return false;
}

/* .take_own() has taken them over. */
static void look_at_own(struct tracee *t, enum with_open what)
{
	(void)t, (void)what;
}

/* .put_back_hijacks() has noted those that stay. */
static void note_blocks(const struct space *space)
{
	(void)space;
}

static bool keeps_hijacks(const struct plant_space *ps)
{
	(void)ps;
	return false;
}

const struct return_ops return_in_stack = {
	.find = read_address,
	.read = read_address,
	.take_over = hijack_take,
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
	.disarm = in_stack_disarm,
	.disarm_signed = disarm_signed,
	.word = word_of,
	.is_left = is_left,
	.wants_stacks = wants_stacks,
	.sweep = sweep,
	.put_back = put_back,
	.needs_table = needs_table,
	.take_own = in_stack_take_own,
	.look_at_own = look_at_own,
	.save_returning = in_stack_save_returning,
	.put_back_hijacks = in_stack_put_back,
	.note_blocks = note_blocks,
	.keeps_hijacks = keeps_hijacks,
};
