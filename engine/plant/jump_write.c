/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The step that all threads are held for: nobody is in a window, the jumps are written. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/base/search.h"
#include "engine/os/maps.h"
#include "engine/plant/jump.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/rings.h"
#include "engine/returns/stack_words.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* Sleepers may wake up while one looks at them. */
#define HOLD_TRIES 8

/* Before the next try: somebody was in the way; a thread could not be stopped. */
#define AGAIN_LEAST_NS 10000000ULL
#define AGAIN_MOST_NS  5000000000ULL
#define STUCK_LEAST_NS 300000000ULL
#define STUCK_MOST_NS  60000000000ULL

static const char why_in_it[] = "a thread was in the middle of it";
static const char why_not_stopped[] = "a thread could not be stopped";
static const char why_not_known[] = "the stack of a thread cannot be read";

/* Try @vaddr lies in the middle of: of its window, or of its slot. NULL: none. */
static struct jump_try *try_of(const struct jump_batch *batch, uint64_t vaddr)
{
	size_t low = search_at_least(batch->tries, batch->n, vaddr, vaddr);

	/* The last one that starts below. */
	for (; low > 0 && vaddr - batch->tries[low - 1].vaddr < UBP_WINDOW_MAX; low--) {
		struct jump_try *try = &batch->tries[low - 1];

		if (try->jump && vaddr - try->vaddr < try->jump->from[try->jump->n])
			return try;
	}
	return NULL;
}

static struct jump_try *try_of_slot(const struct space *space, const struct jump_batch *batch,
				    uint64_t vaddr)
{
	const struct site *site = plant_site_of_slot(space, vaddr);
	struct jump_try *try;

	if (!site || vaddr < site->slot || vaddr - site->slot >= UBP_SLOT_SIZE)
		return NULL;
	try = try_of(batch, site->vaddr + 1);
	if (try && try->site != site)
		return NULL;
	return try;
}

/* Its hop stands for an earlier jump, and is to lead elsewhere. */
static struct jump_try *try_of_hop(const struct space *space, const struct jump_batch *batch,
				   uint64_t vaddr)
{
	const struct plant_space *ps = space->plant;
	const struct site *site = ps->jump->hops.n ? map_get(&ps->jump->hops, vaddr) : NULL;
	struct jump_try *found;

	if (!site || !site->hop.stands)
		return NULL;
	found = try_of(batch, site->vaddr);
	if (found && found->site != site)
		return NULL;
	return found;
}

/* The one that a thread at @vaddr is in the way of. */
static struct jump_try *try_at(const struct space *space, const struct jump_batch *batch,
			       uint64_t vaddr)
{
	struct jump_try *found = try_of(batch, vaddr);

	if (!found)
		found = try_of_slot(space, batch, vaddr);
	if (!found)
		found = try_of_hop(space, batch, vaddr);
	return found;
}

void jump_put_off(struct plant_space *ps, struct jump_try *try, const char *why)
{
	if (!try->jump)
		return;
	jump_tell_why(try->site, why);
	jump_free(try->site->jump);
	try->site->jump = try->jump;
	try->jump = NULL;
	ps->jump->due = true;
}

/* Where in the copy a thread in the window, or in the slot, is to go on. 0: not known. */
static uint64_t in_copy(const struct jump_try *try, uint64_t pc)
{
	const struct site *site = try->site;
	const struct site_jump *jump = try->jump;

	if (pc == site->slot)
		return jump_instead(jump, 0);
	if (site->code.done_at < site->code.len && pc == site->slot + site->code.done_at)
		return jump->n > 1 || site->insn.leave == LEAVE_NOT ? jump_instead(jump, 1) : 0;
	for (size_t i = 1; i < jump->n; i++)
		if (pc == site->vaddr + jump->from[i])
			return jump_instead(jump, i);
	return 0;
}

/* A held thread must not be, nor come back to, where a jump will stand. */
static void clear_pc(const struct space *space, struct jump_batch *batch, struct tracee *t)
{
	struct jump_try *try;
	uint64_t pc, to;

	if (hold_get_pc(t, &pc) < 0)
		return;
	try = try_at(space, batch, pc);
	if (!try)
		return;
	to = in_copy(try, pc);
	if (!to || hold_set_pc(t, to) < 0)
		jump_put_off(space->plant, try, why_in_it);
}

struct clearing {
	const struct space *space;
	struct jump_batch *batch;
	uint64_t lo, hi; /* all windows */
	struct maps maps;
};

static struct clearing clearing_of(const struct space *space, struct jump_batch *batch)
{
	return (struct clearing){ .space = space,
				  .batch = batch,
				  .lo = batch->tries[0].vaddr,
				  .hi = batch->tries[batch->n - 1].vaddr + UBP_WINDOW_MAX };
}

/* The address behind a call at a window's end is not in it. */
static void clear_word(void *ctx, uint64_t word)
{
	const struct clearing *c = ctx;
	struct jump_try *try = word >= c->lo && word < c->hi
				       ? try_of(c->batch, word)
				       : try_of_slot(c->space, c->batch, word);

	if (!try)
		try = try_of_hop(c->space, c->batch, word);
	if (try)
		jump_put_off(c->space->plant, try, why_in_it);
}

static void put_all_off(struct plant_space *ps, struct jump_batch *batch, const char *why)
{
	for (size_t i = 0; i < batch->n; i++)
		jump_put_off(ps, &batch->tries[i], why);
}

/* One that is asleep, and was left alone: it must not be in the way, for nobody moves it. */
static void clear_sleeper(struct clearing *c, pid_t tid, uint64_t pc, uint64_t sp)
{
	struct jump_try *try = try_at(c->space, c->batch, pc);

	if (try)
		jump_put_off(c->space->plant, try, why_in_it);
	if (!stack_words(&c->maps, &c->space->mem, tid, sp, c->space->arch->addr_size,
			 clear_word, c))
		put_all_off(c->space->plant, c->batch, why_not_known);
}

/* hold_look_fn. Its stack may be younger than what was read of the mappings: then it has to wait for the hold. */
static bool look_at_sleeper(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp)
{
	struct clearing *c = ctx;

	if (!maps_at(&c->maps, sp))
		return false;
	clear_sleeper(c, t->tid, pc, sp);
	return true;
}

/*
 * While nobody stands still. A thread comes into a window, or into a slot, only by a breakpoint of ours, and out
 * of that stop only by the tracer, who lets it go on: from then on hold_look() does not hold for it. So who was not in
 * one is in none, however often it wakes up before the jumps are written.
 */
static void look_at_sleepers(struct tracer *tracer, struct space *space,
			     struct jump_batch *batch)
{
	struct clearing c = clearing_of(space, batch);
	const struct tracee *t = space_next(space, NULL);
	struct ubp_err err;

	if (t && maps_read(t->tid, &c.maps, &err) == 0)
		hold_look(tracer, space, look_at_sleeper, &c);
	maps_free(&c.maps);
}

static void clear_held(struct tracer *tracer, struct clearing *c, struct tracee *t)
{
	const struct ubp_arch *arch = c->space->arch;
	struct ubp_regs regs;
	struct held held;

	clear_pc(c->space, c->batch, t);
	if (hold_get_regs(t, &regs) < 0)
		return;
	if (!stack_words(&c->maps, &c->space->mem, t->tid, regs.r[arch->reg.sp],
			 arch->addr_size, clear_word, c))
		put_all_off(c->space->plant, c->batch, why_not_known);
	held = held_thread(tracer, t, &regs);
	rings_add_thread(&held);
}

/* False: one has woken up, and is anywhere. */
static bool clear_threads(struct tracer *tracer, struct space *space, struct jump_batch *batch)
{
	struct clearing c = clearing_of(space, batch);
	uint64_t pc, sp;
	struct ubp_err err;
	struct tracee *t = NULL;
	bool good = true;

	while (good && (t = space_next(space, t))) {
		if (t->left_alone == LEFT_LOOKED_AT)
			continue;
		good = c.maps.n || maps_read(t->tid, &c.maps, &err) == 0; /* or it has ended */
		if (good && t->held)
			clear_held(tracer, &c, t);
		else if (good && (good = task_asleep(t->tid, &pc, &sp)))
			clear_sleeper(&c, t->tid, pc, sp);
	}
	maps_free(&c.maps);
	return good;
}

/* Each stop costs the target time: what does not work soon is tried ever more seldom. */
static void wait_longer(struct plant_space *ps, uint64_t least, uint64_t most)
{
	ps->jump->wait_ns *= 2;
	if (!ps->jump->due)
		ps->jump->wait_ns = 0;
	else if (ps->jump->wait_ns < least)
		ps->jump->wait_ns = least;
	else if (ps->jump->wait_ns > most)
		ps->jump->wait_ns = most;
}

void jump_later(struct plant_space *ps)
{
	ps->jump->due = true;
	wait_longer(ps, AGAIN_LEAST_NS, AGAIN_MOST_NS);
}

void jump_put_back(struct space *space, struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;

	put_all_off(ps, batch, why_not_stopped);
	ps->jump->due = true;
	wait_longer(ps, STUCK_LEAST_NS, STUCK_MOST_NS);
	jump_batch_free(batch);
}

static bool has_any(const struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		if (batch->tries[i].jump)
			return true;
	return false;
}

/* False: it can't be had now. */
static bool hold_and_write(struct tracer *tracer, struct space *space, const struct held *keep,
			   struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	bool all = false;
	int tries = 0;

	for (; !all && tries < HOLD_TRIES; tries++) {
		/* Who woke up meanwhile is held beside the others. */
		all = hold_rest(tracer, space, JUMP_HOLD_MS);
		all = all && clear_threads(tracer, space, batch);
	}
	/* Else it is given up. */
	if (!ps->closing && all)
		jump_write_steps(space, batch);
	else if (!ps->closing)
		put_all_off(ps, batch, why_not_stopped);
	while (tries-- > 1)
		tracer_stop_end(tracer);
	hold_end(tracer, space, keep);
	jump_count_written(batch);
	return all && !ps->closing;
}

/*
 * So many at a time, in the order of their addresses: nobody stands still for all, or waits at a breakpoint
 * until all detours are made.
 */
#define PIECE 2048
/* Handled between two of them. */
#define STOPS_BETWEEN 64

static bool make_piece(struct plant *plant, struct tracer *tracer, struct space *space,
		       pid_t tid, const struct held *keep, struct jump_batch *piece)
{
	jump_build(plant, space, tid, piece);
	if (!has_any(piece))
		return true;
	jump_get_ready(space, piece);
	look_at_sleepers(tracer, space, piece);
	return hold_and_write(tracer, space, keep, piece);
}

void jump_make(struct plant *plant, struct tracer *tracer, struct space *space, pid_t tid,
	       const struct held *keep, struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	bool good = true;

	space_keep(space); /* it must not go while we look at its threads, and stop them */
	for (size_t i = 0; i < batch->n && good; i += PIECE) {
		struct jump_batch piece = *batch;

		piece.tries += i;
		piece.n = batch->n - i < PIECE ? batch->n - i : PIECE;
		if (i && !keep)
			tracer_poll(tracer, STOPS_BETWEEN);
		good = !ps->closing && make_piece(plant, tracer, space, tid, keep, &piece);
	}
	ps->jump->due |= !good;
	if (good)
		wait_longer(ps, AGAIN_LEAST_NS, AGAIN_MOST_NS);
	else if (!ps->closing)
		wait_longer(ps, STUCK_LEAST_NS, STUCK_MOST_NS);
	jump_batch_free(batch);
	space_put(tracer, space);
}
