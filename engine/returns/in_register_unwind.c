/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Unwinders on machines where a call leaves the return address in a register. The functions have
 * put what we gave them somewhere into their frames, some of them signed. So the stack is looked
 * through for it; whose it is tells the frame record that it is in, if that ends at the stack
 * pointer of an entry, else the nearest of those further up, which may be of a frame that was left
 * by longjmp(). Copies that were left on the stack are put back, too, but not made ours again. A
 * signed one was signed with that stack pointer, by one of two keys: the thread itself tries, in the
 * stub.
 */

#include "engine/returns/in_register_unwind.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/returns/limits.h"
#include "engine/returns/returns.h"
#include "engine/returns/word.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"

/* Of a stack, looked through at once, bytes. */
#define STACK_CHUNK 0x2000

/* Those that are hijacked, by their stack words. */
struct hijacked {
	struct return_instance **v;
	size_t n;
};

struct search {
	struct tracee *t;
	struct hijacked all;
	struct return_list *here;
	uint64_t sp;
	bool with_detours;
};

/* A word of the stack that leads to us, and whose it is. */
struct found {
	uint64_t at, word;
	struct return_instance *owner; /* NULL: nobody's */
	bool is_sure;                  /* by its frame record */
	bool is_detours;
};

static int compare(const void *pa, const void *pb)
{
	const struct return_instance *a = *(struct return_instance *const *)pa;
	const struct return_instance *b = *(struct return_instance *const *)pb;

	return (a->slot_vaddr > b->slot_vaddr) - (a->slot_vaddr < b->slot_vaddr);
}

static void collect(const struct plant_space *ps, struct hijacked *all)
{
	size_t pos = 0;
	void *value;

	all->n = 0;
	all->v = malloc((ps->ret->by_slot.n + 1) * sizeof(struct return_instance *));
	while (all->v && map_next(&ps->ret->by_slot, &pos, NULL, &value))
		if (!((struct return_instance *)value)->disarm_sp)
			all->v[all->n++] = value;
	if (all->n)
		qsort(all->v, all->n, sizeof(all->v[0]), compare);
}

/* The first at or above @vaddr: an index. */
static size_t first_at(const struct hijacked *all, uint64_t vaddr)
{
	size_t lo = 0, hi = all->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (all->v[mid]->slot_vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* How far up there are some, without a gap that no frame has. */
static uint64_t end_of(const struct hijacked *all, uint64_t sp)
{
	uint64_t last = sp;

	for (size_t i = first_at(all, sp); i < all->n; i++) {
		if (all->v[i]->slot_vaddr - last >= FRAME_MAX)
			break;
		last = all->v[i]->slot_vaddr;
	}
	return last;
}

/* Entered with the stack pointer @key, and not over: or NULL. A detour's becomes one of ours. */
static struct return_instance *entered_at(const struct search *s, uint64_t key, bool is_detours)
{
	const struct plant_space *ps = s->t->process->space->plant;
	struct return_instance *ri = map_get(&ps->ret->by_slot, key);

	if (ri && ri->disarm_sp)
		return ri->disarm_sp == s->sp ? ri : NULL;
	return is_detours ? hijack_take(s->t, key) : ri;
}

/*
 * By the frame record (AAPCS64): the word before is the caller's frame pointer. If the record is the
 * lowest of its frame, that is where the caller's stack ended; if it is the highest, that is right
 * behind it. If both are known one was left: the older.
 */
static bool find_by_record(const struct search *s, struct found *f)
{
	struct return_instance *behind = NULL;
	uint64_t fp = 0;

	if (read_word(s->t, f->at - sizeof(uint64_t), &fp) == 0 && fp > f->at &&
	    fp - f->at < FRAME_MAX)
		f->owner = entered_at(s, fp, f->is_detours);
	/* Which of two is older tells no detour. */
	if (!f->owner || !f->is_detours)
		behind = entered_at(s, f->at + sizeof(uint64_t), f->is_detours);
	if (behind && (!f->owner || behind->serial > f->owner->serial))
		f->owner = behind;
	return f->owner;
}

/* The nearest of those that were put back for this unwinder already: a copy of what one had. */
static struct return_instance *nearest_here(const struct search *s, uint64_t at)
{
	struct return_instance *best = NULL;

	for (struct return_instance *ri = s->here->newest; ri; ri = ri->older)
		if (ri->slot_vaddr > at && (!best || ri->slot_vaddr < best->slot_vaddr))
			best = ri;
	return best;
}

static void find_nearest(const struct search *s, struct found *f)
{
	const struct space *space = s->t->process->space;
	struct return_instance *copied;
	size_t i = first_at(&s->all, f->at + 1);
	uint64_t key;

	if (!f->is_detours) {
		if (i < s->all.n && s->all.v[i]->slot_vaddr - f->at < FRAME_MAX)
			f->owner = s->all.v[i];
		return;
	}
	key = hijack_nearest(space, f->at);
	copied = nearest_here(s, f->at);
	if (copied && (!key || copied->slot_vaddr < key))
		f->owner = copied;
	else
		f->owner = key ? hijack_take(s->t, key) : NULL;
}

static void note(const struct search *s, const struct found *f)
{
	const struct plant_space *ps = s->t->process->space->plant;
	struct return_instance *ri = f->owner;
	bool is_signed = f->word & ~UBP_ADDRESS_MASK;

	if (!is_signed && write_word(s->t, f->at, ri->real) < 0)
		return;
	/* A copy of one that was found: only one is hijacked again. */
	if (ri->disarm_sp && (ri->is_sure || !f->is_sure))
		return;
	ri->is_sure = f->is_sure;
	ri->word_vaddr = f->at;
	ri->word_was = is_signed ? f->word : ps->ret->trampoline;
	ri->word_is = is_signed ? 0 : ri->real;
	returns_unlink(ri);
	returns_link(s->here, ri);
	ri->disarm_sp = s->sp;
}

static void look_at(const struct search *s, uint64_t at, uint64_t word)
{
	const struct plant_space *ps = s->t->process->space->plant;
	uint64_t address = word & UBP_ADDRESS_MASK;
	struct found f = { .at = at, .word = word };

	f.is_detours = ps->hijack->code_vaddr && address == ps->hijack->code_vaddr;
	if (address != ps->ret->trampoline && !f.is_detours)
		return;
	f.is_sure = find_by_record(s, &f);
	if (!f.is_sure)
		find_nearest(s, &f);
	if (f.owner)
		note(s, &f);
}

static void look_through(const struct search *s, uint64_t from)
{
	uint64_t words[STACK_CHUNK / sizeof(uint64_t)];
	uint64_t end = end_of(&s->all, from);

	if (s->with_detours)
		end = end > from + FRAME_MAX ? end : from + FRAME_MAX;
	for (uint64_t at = from & ~7ULL; at < end; at += sizeof(words)) {
		size_t got = mem_read(&s->t->process->space->mem, s->t->tid, at, words,
				      sizeof(words));

		for (size_t i = 0; i < got / sizeof(words[0]); i++)
			look_at(s, at + i * sizeof(words[0]), words[i]);
		if (got < sizeof(words))
			return;
	}
}

/* Not saved yet: of the unwinder itself, or it was jumped to. */
static void look_at_register(struct search *s, struct ubp_regs *regs)
{
	const struct plant_space *ps = s->t->process->space->plant;
	uint64_t *link = &regs->r[s->t->process->space->arch->reg.link];
	struct return_instance *ri = NULL;

	if (*link == ps->ret->trampoline)
		ri = map_get(&ps->ret->by_slot, s->sp);
	else if (ps->hijack->code_vaddr && *link == ps->hijack->code_vaddr)
		ri = hijack_take(s->t, s->sp);
	if (!ri || ri->disarm_sp)
		return;
	*link = ri->real;
	ri->is_sure = true;
	ri->word_vaddr = 0;
	returns_unlink(ri);
	returns_link(s->here, ri);
	ri->disarm_sp = s->sp;
}

void in_register_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches,
			struct return_list *here, struct return_list *far)
{
	const struct plant_space *ps = t->process->space->plant;
	struct search s = { .t = t,
			    .here = here,
			    .sp = regs->r[t->process->space->arch->reg.sp],
			    .with_detours = ps->hijack->code_vaddr };

	(void)watches, (void)far;
	if (!ps->ret->by_slot.n && !s.with_detours)
		return;
	look_at_register(&s, regs);
	collect(ps, &s.all);
	look_through(&s, s.sp);
	/* A signal handler's stack: what it interrupted is elsewhere. */
	for (unsigned i = 0; i < STACKS_MAX; i++) {
		uint64_t at = t->probes->interrupted_sp[i];

		if (at && !is_same_stack(at, s.sp))
			look_through(&s, at);
	}
	free(s.all.v);
}

/* The signed form of the real address, if one of the two keys makes of ours what stands there. */
static void sign_one(struct remote *remote, const struct plant_space *ps,
		     struct return_instance *ri)
{
	uint64_t ours = 0, real, address = ri->word_was & UBP_ADDRESS_MASK;
	struct ubp_err ignored;
	int key = 0;

	while (key < 2 &&
	       (remote_sign(remote, address, ri->slot_vaddr, key, &ours, &ignored) < 0 ||
		ours != ri->word_was))
		key++;
	if (key == 2 || remote_sign(remote, ri->real, ri->slot_vaddr, key, &real, &ignored) < 0)
		return;
	if (address != ps->ret->trampoline &&
	    remote_sign(remote, ps->ret->trampoline, ri->slot_vaddr, key, &ours, &ignored) < 0)
		return;
	if (write_word(remote->t, ri->word_vaddr, real) < 0)
		return;
	ri->word_was = ours;
	ri->word_is = real;
}

/* Found, and not put back yet. */
static bool is_pending(const struct return_instance *ri)
{
	return ri->word_vaddr && !ri->word_is;
}

bool in_register_disarm_signed(const struct held *held)
{
	struct tracee *t = held->t;
	const struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri = t->probes->disarmed.newest;
	struct remote remote;
	struct ubp_err err;

	while (ri && !is_pending(ri))
		ri = ri->older;
	if (!ri)
		return true;
	if (remote_begin(&remote, held, ps->stub, &err) < 0)
		return held_lasts(held);
	/* Only its own stops can end a thread that is held, and nobody takes one from its list. */
	for (; ri && remote.t; ri = ri->older)
		if (is_pending(ri))
			sign_one(&remote, ps, ri);
	if (!held_lasts(held))
		return false;
	remote_end(&remote);
	held_keep(held, false);
	return true;
}
