/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return addresses that detours have replaced by themselves (struct guard_hijack). They
 * are in a table in the target's memory, by the stack word they stood in, and the code that
 * stands in for them finds its way there without us. We look at them when an unwinder is about to
 * read the stack, when a function is entered by a jump from one of them, and at the end.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/object/maps.h"
#include "engine/plant/jump.h"
#include "engine/trace/hold.h"

#define LOOKS_AT_ONCE 32
#define CHUNK         1024
#define CHUNK_FEW     64 /* without memory for more */
#define NEAREST_CHUNK 256ULL
/* How far above its word a callee may leave the stack pointer ("ret 16"). */
#define RET_POPS_MAX 4096
#define STACK_FIRST  0x1000 /* of a stack, looked through at once, bytes */
#define STACK_CHUNK  0x8000
/* No frame is as large as this; nor is a thread's stack. */
#define FRAME_MAX        0x100000ULL
#define THREAD_STACK_MAX 0x10000000ULL

/* Its entry, looked for as far as detours go; .word is 0 where there is none. */
static struct guard_hijack find(const struct space *space, uint64_t slot_vaddr,
				uint64_t *ret_vaddr)
{
	const struct plant_space *ps = space->plant;
	struct guard_hijack some[LOOKS_AT_ONCE];
	uint64_t index = (slot_vaddr >> 3) & ps->hijack.mask;

	for (size_t i = 0, n; ps->hijack.table && i < UBP_HIJACK_LOOKS; i += n) {
		uint64_t at = ps->hijack.table + index * sizeof(some[0]);

		/* The first one mostly is it. */
		n = i ? LOOKS_AT_ONCE : 1;
		if (n > ps->hijack.mask + 1 - index)
			n = ps->hijack.mask + 1 - index;
		if (mem_peek(&space->mem, at, some, n * sizeof(some[0])) != n * sizeof(some[0]))
			break;
		for (size_t k = 0; k < n; k++) {
			*ret_vaddr = at + k * sizeof(some[0]);
			if (some[k].word == slot_vaddr || !some[k].word)
				return some[k];
		}
		index = (index + n) & ps->hijack.mask;
	}
	return (struct guard_hijack){ 0 };
}

/* The ticks of a detour as nanoseconds of CLOCK_KIND_MONO. */
static uint64_t time_of(const struct plant_space *ps, uint64_t ticks)
{
	uint64_t now_ns = event_clock_now(CLOCK_KIND_MONO), now = ubp_host_ticks();

	return ticks < now ? now_ns - detour_ns(now - ticks, ps->hijack.ns_factor) : now_ns;
}

uint64_t hijack_real(const struct space *space, uint64_t slot_vaddr, uint64_t word)
{
	const struct plant_space *ps = space->plant;
	struct guard_hijack entry;
	uint64_t at;

	if (!ps->hijack.code_vaddr || word != ps->hijack.code_vaddr)
		return word;
	entry = find(space, slot_vaddr, &at);
	return entry.word && entry.real ? entry.real : word;
}

void hijack_set_free(const struct space *space, pid_t tid, uint64_t entry)
{
	const uint64_t none = 0;

	(void)mem_write(&space->mem, tid, entry + offsetof(struct guard_hijack, real), &none,
			sizeof(none));
}

/* Its word was given another address; who has just returned by it finds that. */
static void set_given_back(const struct space *space, pid_t tid, uint64_t entry,
			   uint64_t address)
{
	const uint64_t given = address ^ UBP_GIVEN_BACK;

	(void)mem_write(&space->mem, tid, entry + offsetof(struct guard_hijack, time), &given,
			sizeof(given));
	hijack_set_free(space, tid, entry);
}

bool hijack_has(const struct space *space, uint64_t slot_vaddr, const struct site **ret_site)
{
	uint64_t at = 0;
	struct guard_hijack entry = find(space, slot_vaddr, &at);

	*ret_site = entry.word && entry.real ? plant_site_of_slot(space, entry.back) : NULL;
	return entry.word && entry.real;
}

const struct site *hijack_drop(const struct space *space, pid_t tid, uint64_t slot_vaddr)
{
	uint64_t at = 0;
	struct guard_hijack entry = find(space, slot_vaddr, &at);

	if (!entry.word || !entry.real)
		return NULL;
	hijack_set_free(space, tid, at);
	return plant_site_of_slot(space, entry.back);
}

struct return_instance *hijack_take(struct tracee *t, uint64_t slot_vaddr)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t at = 0, real;
	struct guard_hijack entry = find(space, slot_vaddr, &at);
	struct site *site =
		entry.word && entry.real ? plant_site_of_slot(space, entry.back) : NULL;
	struct return_instance *ri = site ? map_get(&ps->ret.by_slot, slot_vaddr) : NULL;

	if (!site)
		return NULL;
	real = entry.real;
	/* One of ours that was left here long ago. */
	if (ri) {
		returns_count(ri, MISSED_SKIPPED);
		returns_unlink(ri);
		ri->n_entries = 0;
		ri->missed = MISSED_N;
		ri->disarm_sp = ri->outer = 0;
	} else {
		ri = returns_new(ps, slot_vaddr);
	}
	if (!ri || returns_add_entry(ri, site, time_of(ps, entry.time)) < 0)
		return NULL; /* it stays what it is: its detour brings it home */
	ri->real = real;
	ri->tid = t->tid;
	ri->serial = ++ps->ret.n_ever;
	if (returns_arm(space, ri, t->tid) < 0) {
		returns_forget(ps, ri);
		map_remove(&ps->ret.by_slot, slot_vaddr);
		returns_free_one(ri);
		return NULL;
	}
	set_given_back(space, t->tid, at, ps->ret.trampoline);
	returns_link_in_place(&t->probes->returns, ri);
	return ri;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return a - b < FRAME_MAX || b - a < FRAME_MAX;
}

void hijack_note_stack(struct tracee *t, uint64_t sp)
{
	unsigned i = 0;

	while (i < STACKS_MAX && !is_near(t->probes->interrupted_sp[i], sp))
		i++;
	if (i == STACKS_MAX)
		i = ++t->probes->last_interrupted % STACKS_MAX;
	t->probes->interrupted_sp[i] = sp;
}

uint64_t hijack_nearest(const struct space *space, uint64_t vaddr)
{
	const struct plant_space *ps = space->plant;
	struct guard_hijack some[NEAREST_CHUNK];
	uint64_t best = UINT64_MAX, first = (vaddr >> 3) + 1;

	if (!ps->hijack.table)
		return 0;
	/* In the table they are in the order of their words, or soon behind their place. */
	for (uint64_t i = 0; i < FRAME_MAX / 8 && best - vaddr > i * 8; i += NEAREST_CHUNK) {
		uint64_t index = (first + i) & ps->hijack.mask & ~(NEAREST_CHUNK - 1);

		if (mem_peek(&space->mem, ps->hijack.table + index * sizeof(some[0]), some,
			     sizeof(some)) != sizeof(some))
			break;
		for (size_t k = 0; k < NEAREST_CHUNK; k++)
			if (some[k].real && some[k].word > vaddr &&
			    some[k].word - vaddr < FRAME_MAX && some[k].word < best)
				best = some[k].word;
	}
	return best == UINT64_MAX ? 0 : best;
}

/* Up to @end: a C library has what belongs to a thread behind its stack. 0: not known. */
static void take_stack(struct tracee *t, uint64_t sp, uint64_t end)
{
	const struct plant_space *ps = t->process->space->plant;
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
		for (size_t i = 0; i + size <= got; i += size)
			if (memcmp(words + i, &ps->hijack.code_vaddr, size) == 0 &&
			    hijack_take(t, at + i))
				last = at + i;
		if (got < len)
			return;
	}
}

uint64_t hijack_duration(const struct space *space, uint64_t sp, uint64_t back)
{
	size_t word = space->arch->addr_size;

	/* Right below the stack pointer, unless the callee popped its arguments; or at it. */
	for (uint64_t down = arch_has_link(space->arch) ? 0 : word; down <= RET_POPS_MAX;
	     down += word) {
		uint64_t at;
		struct guard_hijack entry = find(space, sp - down, &at);

		if (entry.word && !entry.real && entry.back == back)
			return entry.time;
	}
	return 0;
}

static void take_interrupted(struct tracee *t, uint64_t sp)
{
	for (unsigned i = 0; i < STACKS_MAX; i++)
		if (t->probes->interrupted_sp[i] && !is_near(t->probes->interrupted_sp[i], sp))
			take_stack(t, t->probes->interrupted_sp[i], 0);
}

void hijack_take_own(struct tracee *t)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	uint64_t pointer = 0;
	struct ubp_regs regs;

	if (!ps->hijack.table || arch_has_link(space->arch) ||
	    ubp_host_get_regs(t->tid, &regs) < 0)
		return;
	(void)ubp_host_get_thread_pointer(space->arch, t->tid, &regs, &pointer);
	take_stack(t, regs.r[space->arch->reg.sp], pointer);
	take_interrupted(t, regs.r[space->arch->reg.sp]);
}

void hijack_take_stacks(struct tracee *t, uint64_t sp)
{
	take_stack(t, sp, 0);
	take_interrupted(t, sp);
}

/* The entry in use of the word that somebody has just returned by, 0: there is none. */
static uint64_t find_returned_by(const struct space *space, uint64_t sp, uint64_t *ret_real)
{
	const struct plant_space *ps = space->plant;
	size_t size = space->arch->addr_size;

	/* Right below the stack pointer, unless the callee popped its arguments. */
	for (uint64_t down = size; down <= RET_POPS_MAX; down += size) {
		struct guard_hijack entry;
		uint64_t word = 0, at = 0;

		if (mem_peek(&space->mem, sp - down, &word, size) != size)
			return 0;
		if (word != ps->hijack.code_vaddr)
			continue;
		entry = find(space, sp - down, &at);
		*ret_real = entry.real;
		if (entry.word && entry.real)
			return at;
	}
	return 0;
}

void hijack_save_returning(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;
	struct tracee *t = NULL;

	if (arch_has_link(arch) || !arch->trampoline.leave)
		return;
	while ((t = space_next(space, t))) {
		struct ubp_regs regs;
		uint64_t entry, real;

		if (!t->held || t->remote.called || hold_get_regs(t, &regs) < 0 ||
		    regs.r[arch->reg.pc] != ps->hijack.code_vaddr)
			continue;
		entry = find_returned_by(space, regs.r[arch->reg.sp], &real);
		if (!entry ||
		    mem_write(&space->mem, t->tid, regs.r[arch->reg.sp] - arch->addr_size,
			      &real, arch->addr_size) < 0)
			continue;
		regs.r[arch->reg.pc] = ps->ret.trampoline + arch->swbp.len;
		arch->trampoline.leave(&regs);
		if (ubp_host_set_regs(t->tid, &regs) == 0)
			hijack_set_free(space, t->tid, entry);
	}
}

/* 1: its frame was there still, and is put back; 0: it was not; -errno. */
static int put_back_one(const struct plant_space *owner, const struct space *space, pid_t tid,
			const struct guard_hijack *entry, uint64_t at)
{
	size_t size = space->arch->addr_size;
	uint64_t now = 0;
	int rc;

	if (mem_peek(&space->mem, entry->word, &now, size) != size)
		return -EFAULT;
	/* Skipped by a longjmp(), it may be somebody else's data by now. */
	if (now != owner->hijack.code_vaddr)
		return 0;
	rc = mem_write(&space->mem, tid, entry->word, &entry->real, size);
	if (rc < 0)
		return rc;
	/* Who is on the way back already goes by the word, if the entry is over. */
	set_given_back(space, tid, at, entry->real);
	return 1;
}

bool hijack_waits(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	size_t len = CHUNK * sizeof(struct guard_hijack);
	struct guard_hijack *some = ps->hijack.table ? malloc(len) : NULL;
	bool waits = ps->hijack.table && !some;

	for (uint64_t at = 0; some && at <= ps->hijack.mask && !waits; at += CHUNK) {
		uint64_t vaddr = ps->hijack.table + at * sizeof(*some);

		waits = mem_peek(&space->mem, vaddr, some, len) != len;
		for (size_t i = 0; i < CHUNK && !waits; i++)
			waits = some[i].word && some[i].real;
	}
	free(some);
	return waits;
}

/* It stays: by the code of its detour, which stays, too, the thread comes home. */
static void leave_hijack(struct undo *undo, const struct guard_hijack *entry, int rc)
{
	const struct site *site = plant_site_of_slot(undo->space, entry->back);

	if (undo_is_gone(undo, entry->word, 0, 0))
		return;
	if (site && site->jump)
		site->jump->in_use = true;
	plant_left_live(undo->left, "a return address", entry->word, rc);
}

static void put_back_some(struct plant_space *owner, struct undo *undo, pid_t tid,
			  const struct guard_hijack *some, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++, vaddr += sizeof(*some)) {
		int rc = some[i].word && some[i].real
				 ? put_back_one(owner, undo->space, tid, &some[i], vaddr)
				 : 1;

		if (rc < 0)
			leave_hijack(undo, &some[i], rc);
		else if (rc == 0 && undo->space->plant == owner)
			hijack_count(undo->space, &some[i], MISSED_SKIPPED);
	}
}

void hijack_put_back(struct plant_space *owner, const struct space *space, pid_t tid,
		     struct plant_left *left)
{
	struct undo undo = { .space = space, .pid = space->mem.pid, .left = left };
	struct guard_hijack few[CHUNK_FEW], *some;
	size_t n;

	/* From a register they have gone anywhere; their code does not need us. */
	if (!owner->hijack.table || arch_has_link(space->arch))
		return;
	some = malloc(CHUNK * sizeof(*some));
	n = some ? CHUNK : CHUNK_FEW;
	for (uint64_t at = 0; at <= owner->hijack.mask; at += n) {
		uint64_t vaddr = owner->hijack.table + at * sizeof(*some);
		struct guard_hijack *to = some ? some : few;

		if (mem_peek(&space->mem, vaddr, to, n * sizeof(*to)) == n * sizeof(*to)) {
			put_back_some(owner, &undo, tid, to, n, vaddr);
		} else if (!undo_is_gone(&undo, vaddr, 0, 0)) {
			jump_keep_blocks(owner);
			plant_left_live(left, "return addresses", vaddr, -EFAULT);
		}
	}
	undo_end(&undo);
	free(some);
}

void hijack_note_blocks(const struct space *space)
{
	struct plant_space *ps = space->plant;
	size_t len = CHUNK * sizeof(struct guard_hijack);
	struct guard_hijack *some;

	if (!ps->hijack.table || !arch_has_link(space->arch))
		return;
	some = malloc(len);
	for (uint64_t at = 0; at <= ps->hijack.mask; at += CHUNK) {
		uint64_t vaddr = ps->hijack.table + at * sizeof(*some);
		bool known = some && mem_peek(&space->mem, vaddr, some, len) == len;

		if (!known) {
			jump_keep_blocks(ps);
			break;
		}
		for (size_t i = 0; i < CHUNK; i++) {
			struct site *site = some[i].word && some[i].real
						    ? plant_site_of_slot(space, some[i].back)
						    : NULL;

			if (site && site->jump)
				site->jump->in_use = true;
		}
	}
	free(some);
}

/* The table lies where the rings are, far from everything: nobody has to reach it. */
static int map_table(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		     const struct maps *maps, uint64_t n, uint64_t *ret_vaddr,
		     struct ubp_err *err)
{
	const struct plant_space *ps = t->process->space->plant;
	uint64_t len = n * sizeof(struct guard_hijack), hint;

	hint = rings_find_room(t->process->space->arch, maps, ps->areas->vaddr, len);
	if (!hint)
		return ubp_fail(err, ENOMEM, "no room for a table");
	return area_map(tracer, t, at, ps->guard.stub, hint, len, PROT_READ | PROT_WRITE,
			ret_vaddr, err);
}

/* Where it was before, or in the first area with room for it: any is as good. */
static int write_code(const struct space *space, pid_t tid, uint64_t table, uint64_t mask,
		      uint64_t *ret_vaddr, struct ubp_err *err)
{
	struct plant_space *ps = space->plant;
	uint8_t code[UBP_RETURN_CODE_MAX];
	size_t len = 0;
	int rc = space->arch->detour.build_return_code(table, mask, ps->ret.trampoline, code,
						       sizeof(code), &len, err);

	if (rc < 0)
		return rc;
	*ret_vaddr = ps->hijack.room;
	if (*ret_vaddr)
		return mem_write(&space->mem, tid, *ret_vaddr, code, len);
	for (struct area *a = ps->areas; a; a = a->next) {
		*ret_vaddr = a->vaddr + a->used;
		if (a->keys && area_take_block(a, len, NULL))
			return mem_write(&space->mem, tid, *ret_vaddr, code, len);
	}
	return ubp_fail(err, ENOSPC, "no room for code");
}

int hijack_provide(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		   const struct maps *maps, struct ubp_err *err)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t n =
		rings_fit_table(t->process->pid, UBP_HIJACKS_MOST, sizeof(struct guard_hijack));
	uint64_t place[3] = { 0, n - 1, 0 }; /* as in struct guard_data */
	int rc;

	if (ps->hijack.table)
		return 0;
	if (!space->arch->detour.build_return_code)
		return ubp_fail(err, ENOTSUP, "no code for returns");
	rc = map_table(tracer, t, at, maps, n, &place[0], err);
	if (rc == 0)
		rc = write_code(space, t->tid, place[0], place[1], &place[2], err);
	if (rc == 0)
		rc = mem_write(&space->mem, t->tid,
			       ps->guard.data + offsetof(struct guard_data, hijacks), place,
			       sizeof(place));
	if (rc < 0)
		return rc;
	ps->hijack.table = place[0];
	ps->hijack.mask = place[1];
	ps->hijack.code_vaddr = place[2];
	return 0;
}
