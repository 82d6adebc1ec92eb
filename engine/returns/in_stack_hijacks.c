/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/in_stack_hijacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard_hijack.h"
#include "arch/host.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/returns/hijack_open.h"
#include "engine/returns/limits.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/undo.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define CHUNK       1024   /* entries of the table that are read at once */
#define CHUNK_FEW   64     /* without memory for more */
#define STACK_FIRST 0x1000 /* of a stack, looked through at once, bytes */
#define STACK_CHUNK 0x8000

/* Is @word, which stands at @vaddr, what a detour has put there for a frame that is not over? */
static bool is_open(const struct space *space, uint64_t vaddr, uint64_t word)
{
	struct guard_hijack entry;
	uint64_t at;

	if (!hijack_may_be(space->plant, word))
		return false;
	entry = hijack_find(space, vaddr, &at);
	return entry.real && hijack_is_ours(space->plant, &entry, word);
}

/* Up to @end: a C library has what belongs to a thread behind its stack. 0: not known. */
static void take_stack(struct tracee *t, uint64_t sp, uint64_t end)
{
	size_t size = t->process->space->arch->addr_size, len;
	uint8_t words[STACK_CHUNK];
	uint64_t first = sp & ~7ULL, last = first;

	if (end - first >= THREAD_STACK_MAX)
		end = UINT64_MAX;
	/* Behind the stack may be other memory that can be read: a program's that has our address all
	 * over it, too. What is entered for a word bounds how far one goes. */
	for (uint64_t at = first; at < end && at - last < FRAME_MAX + STACK_CHUNK; at += len) {
		size_t got;

		len = at == first ? STACK_FIRST : STACK_CHUNK;
		len = len < end - at ? len : end - at;
		got = mem_read(&t->process->space->mem, t->tid, at, words, len);
		for (size_t i = 0; i + size <= got; i += size) {
			uint64_t word = 0;

			memcpy(&word, words + i, size);
			if (is_open(t->process->space, at + i, word) && hijack_take(t, at + i))
				last = at + i;
		}
		if (got < len)
			return;
	}
}

static void take_interrupted(struct tracee *t, uint64_t sp)
{
	for (unsigned i = 0; i < STACKS_MAX; i++)
		if (t->probes->interrupted_sp[i] &&
		    !is_same_stack(t->probes->interrupted_sp[i], sp))
			take_stack(t, t->probes->interrupted_sp[i], 0);
}

void in_stack_take_own(struct tracee *t)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	uint64_t pointer = 0;
	struct ubp_regs regs;

	if (!ps->hijack->table || ubp_host_get_regs(t->tid, &regs) < 0)
		return;
	(void)ubp_host_get_thread_pointer(space->arch, t->tid, &regs, &pointer);
	take_stack(t, regs.r[space->arch->reg.sp], pointer);
	take_interrupted(t, regs.r[space->arch->reg.sp]);
}

void in_stack_take_stacks(struct tracee *t, uint64_t sp)
{
	take_stack(t, sp, 0);
	take_interrupted(t, sp);
}

uint64_t in_stack_find_returned_by(const struct space *space, uint64_t sp, uint64_t *ret_real)
{
	const struct plant_space *ps = space->plant;
	size_t size = space->arch->addr_size;

	/* Right below the stack pointer, unless the callee popped its arguments. */
	for (uint64_t down = size; down <= RET_POPS_MAX; down += size) {
		struct guard_hijack entry;
		uint64_t word = 0, at = 0;

		if (mem_peek(&space->mem, sp - down, &word, size) != size)
			return 0;
		if (!hijack_may_be(ps, word))
			continue;
		entry = hijack_find(space, sp - down, &at);
		if (!hijack_is_ours(ps, &entry, word))
			continue;
		*ret_real = entry.real;
		if (entry.word && entry.real)
			return at;
	}
	return 0;
}

void in_stack_save_returning(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;
	struct tracee *t = NULL;

	/* What has it replaces words by stores: no pc is that of a call. */
	if (!arch->trampoline.leave || !ps->hijack->code_vaddr)
		return;
	while ((t = space_next(space, t))) {
		struct ubp_regs regs;
		uint64_t entry, real;

		if (!t->held || t->remote.called || hold_get_regs(t, &regs) < 0 ||
		    regs.r[arch->reg.pc] != ps->hijack->code_vaddr)
			continue;
		entry = in_stack_find_returned_by(space, regs.r[arch->reg.sp], &real);
		if (!entry ||
		    mem_write(&space->mem, t->tid, regs.r[arch->reg.sp] - arch->addr_size,
			      &real, arch->addr_size) < 0)
			continue;
		regs.r[arch->reg.pc] = ps->ret->trampoline + arch->swbp.len;
		arch->trampoline.leave(&regs);
		if (ubp_host_set_regs(t->tid, &regs) == 0)
			hijack_set_free(space, t->tid, entry);
	}
}

/* 1: its stack word holds our address; 0: it does not; -errno. */
static int holds_ours(const struct plant_space *owner, const struct space *space,
		      const struct guard_hijack *entry)
{
	size_t size = space->arch->addr_size;
	uint64_t now = 0;

	if (mem_peek(&space->mem, entry->word, &now, size) != size)
		return -EFAULT;
	return hijack_is_ours(owner, entry, now);
}

/* 1: its frame was there still, and is put back; 0: it was not; -errno. */
static int put_back_one(const struct plant_space *owner, const struct space *space, pid_t tid,
			const struct guard_hijack *entry, uint64_t at)
{
	size_t size = space->arch->addr_size;
	struct hijack_chain chain;
	int rc = holds_ours(owner, space, entry);

	/* Skipped by a longjmp(), it may be somebody else's data by now. */
	if (rc <= 0)
		return rc;
	hijack_read_chain(owner, space, entry, &chain);
	hijack_end_chain(space, tid, &chain, space->plant == owner);
	/* Who returns from a function of the chain has it in the word by now, or will not put it there any more. */
	rc = holds_ours(owner, space, entry);
	if (rc <= 0)
		return rc;
	rc = mem_write(&space->mem, tid, entry->word, &entry->real, size);
	if (rc < 0)
		return rc;
	/* Who is on the way back already goes by the word, if the entry is over. */
	hijack_set_given_back(space, tid, at, entry->real);
	return 1;
}

/* It stays: by the code of its detour, which stays, too, the thread comes home. */
static void leave_hijack(struct undo *undo, const struct guard_hijack *entry, int rc)
{
	if (undo_is_gone(undo, entry->word, 0, 0))
		return;
	hijack_note_block(undo->space, entry->back);
	plant_left_live(undo->left, "a return address", entry->word, rc);
}

/*
 * One of a chain, as it was read a while ago. By now it is over with its word's, or that one stays, and it with that; or it was
 * left behind alone. As put_back_one().
 */
static int put_back_level(const struct plant_space *owner, const struct space *space, pid_t tid,
			  uint64_t word, uint64_t at)
{
	const uint64_t most = UBP_CHAIN_MOST(space->arch->addr_size);
	struct guard_hijack now, first;
	uint64_t first_at;

	if (mem_peek(&space->mem, at, &now, sizeof(now)) != sizeof(now))
		return -EFAULT;
	if (now.word != word || !now.real)
		return 1;
	first = hijack_find_in(owner, space, word & ~most, &first_at);
	if (!first.word || !first.real)
		hijack_set_free(space, tid, at);
	else if (space->plant == owner)
		hijack_note_block(space, now.back);
	return 0;
}

static int put_back_any(const struct plant_space *owner, const struct space *space, pid_t tid,
			const struct guard_hijack *entry, uint64_t at)
{
	if (!entry->word || !entry->real)
		return 1;
	return hijack_is_level(space, entry->word)
		       ? put_back_level(owner, space, tid, entry->word, at)
		       : put_back_one(owner, space, tid, entry, at);
}

static void put_back_some(struct plant_space *owner, struct undo *undo, pid_t tid,
			  const struct guard_hijack *some, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++, vaddr += sizeof(*some)) {
		int rc = put_back_any(owner, undo->space, tid, &some[i], vaddr);

		if (rc < 0)
			leave_hijack(undo, &some[i], rc);
		else if (rc == 0 && undo->space->plant == owner)
			hijack_count(undo->space, &some[i], MISSED_SKIPPED);
	}
}

void in_stack_put_back(struct plant_space *owner, const struct space *space, pid_t tid,
		       struct plant_left *left)
{
	struct undo undo = { .space = space, .pid = space->mem.file.pid, .left = left };
	struct guard_hijack few[CHUNK_FEW], *some;
	size_t n;

	if (!owner->hijack->table)
		return;
	some = malloc(CHUNK * sizeof(*some));
	n = some ? CHUNK : CHUNK_FEW;
	for (uint64_t at = 0; at <= owner->hijack->mask; at += n) {
		uint64_t vaddr = owner->hijack->table + at * sizeof(*some);
		struct guard_hijack *to = some ? some : few;

		if (mem_peek(&space->mem, vaddr, to, n * sizeof(*to)) == n * sizeof(*to)) {
			put_back_some(owner, &undo, tid, to, n, vaddr);
		} else if (!undo_is_gone(&undo, vaddr, 0, 0)) {
			jump_forget_users(owner, false);
			plant_left_live(left, "return addresses", vaddr, -EFAULT);
		}
	}
	undo_end(&undo);
	free(some);
}
