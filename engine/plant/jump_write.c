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
#include "engine/object/maps.h"
#include "engine/plant/jump_batch.h"
#include "engine/plant/page_edit.h"
#include "engine/plant/stack_words.h"
#include "engine/trace/hold.h"

/* Before the next try: somebody was in the way; a thread could not be stopped. */
#define AGAIN_LEAST_NS 10000000ULL
#define AGAIN_MOST_NS  5000000000ULL
#define STUCK_LEAST_NS 300000000ULL
#define STUCK_MOST_NS  60000000000ULL

#define PAGE 4096

void jump_count(const struct site *site, bool up)
{
	for (size_t i = 0; i < site->n_probes; i++) {
		struct uprobe_stats *st = &site->probes[i]->stats;

		__atomic_store_n(&st->jumped, st->jumped + (up ? 1 : -1U), __ATOMIC_RELAXED);
		__atomic_store_n(&st->boosted, st->boosted + (up ? -1U : 1), __ATOMIC_RELAXED);
	}
}

/* Try @vaddr lies in the middle of: of its window, or of its slot. NULL: none. */
static struct jump_try *try_of(const struct jump_batch *batch, uint64_t vaddr)
{
	size_t low = 0, high = batch->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (batch->tries[mid].site->vaddr < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	/* The last one that starts below. */
	for (; low > 0 && vaddr - batch->tries[low - 1].site->vaddr < UBP_WINDOW_MAX; low--) {
		struct jump_try *try = &batch->tries[low - 1];

		if (try->jump && vaddr - try->site->vaddr < try->jump->from[try->jump->n])
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
	return try && try->site == site ?
	try : NULL
		;
}

static void put_off(struct plant_space *ps, struct jump_try *try)
{
	if (!try->jump)
		return;
	jump_tell_why(try->site, "a thread was in the middle of it");
	jump_free(try->site->jump);
	try->site->jump = try->jump;
	try->jump = NULL;
	ps->jumps_due = true;
}

/* Where in the copy a thread in the window, or in the slot, is to go on. 0: not known. */
static uint64_t in_copy(const struct jump_try *try, uint64_t pc)
{
	const struct site *site = try->site;
	const struct site_jump *jump = try->jump;

	if (pc == site->slot)
		return jump->copy + jump->detour.copy.at[0];
	if (site->code.done_at < site->code.len && pc == site->slot + site->code.done_at)
		return jump->n > 1 || site->insn.leave == LEAVE_NOT
			       ? jump->copy + jump->detour.copy.at[1]
			       : 0;
	for (size_t i = 1; i < jump->n; i++)
		if (pc == site->vaddr + jump->from[i])
			return jump->copy + jump->detour.copy.at[i];
	return 0;
}

/* A held thread must not be, nor come back to, where a jump will stand. */
static void clear_pc(const struct space *space, struct jump_batch *batch, struct tracee *t)
{
	const struct ubp_arch *arch = space->arch;
	struct jump_try *try;
	uint64_t pc, to;

	if (t->called)
		pc = t->before->r[arch->pc];
	else if (ubp_host_get_pc(t->tid, &pc) < 0)
		return;
	try = try_of(batch, pc);
	if (!try)
		try = try_of_slot(space, batch, pc);
	if (!try)
		return;
	to = in_copy(try, pc);
	if (to && t->called)
		t->before->r[arch->pc] = to;
	else if (!to || ubp_host_set_pc(t->tid, to) < 0)
		put_off(space->plant, try);
}

struct clearing {
	const struct space *space;
	struct jump_batch *batch;
	uint64_t lo, hi; /* all windows */
};

/* The address behind a call at a window's end is not in it. */
static void clear_word(void *ctx, uint64_t word)
{
	const struct clearing *c = ctx;
	struct jump_try *try = word >= c->lo && word < c->hi
				       ? try_of(c->batch, word)
				       : try_of_slot(c->space, c->batch, word);

	if (try)
		put_off(c->space->plant, try);
}

static void put_all_off(struct plant_space *ps, struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		put_off(ps, &batch->tries[i]);
}

static void clear_threads(struct tracer *tracer, struct space *space, struct jump_batch *batch)
{
	struct clearing c = { .space = space,
			      .batch = batch,
			      .lo = batch->tries[0].site->vaddr,
			      .hi = batch->tries[batch->n - 1].site->vaddr + UBP_WINDOW_MAX };
	const struct ubp_arch *arch = space->arch;
	struct maps maps = { 0 };
	struct ubp_regs regs;
	struct ubp_err err;
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (t->process->space != space || !t->held)
			continue;
		if (!maps.n && maps_read(t->tid, &maps, &err) < 0) {
			maps_free(&maps);
			maps = (struct maps){ 0 };
			put_all_off(space->plant, batch);
			continue; /* it has ended */
		}
		clear_pc(space, batch, t);
		if (t->called)
			regs = *t->before;
		else if (ubp_host_get_regs(t->tid, &regs) < 0)
			continue;
		stack_words(&maps, t->tid, regs.r[arch->sp], clear_word, &c);
		rings_add_thread(tracer, t, regs.r[arch->tp]);
	}
	maps_free(&maps);
}

/*
 * Over the end of a page the bytes could be torn by our end: the breakpoint stays until
 * the rest stands, and what it leads to becomes the copy of the whole window.
 */
static bool write_over_end(const struct space *space, const struct site *site,
			   const struct site_jump *jump)
{
	const struct ubp_arch *arch = space->arch;
	size_t n = arch->swbp_len;
	uint8_t now[sizeof(arch->swbp)];
	struct slot_code code;

	if (mem_peek(&space->mem, site->vaddr, now, n) != n || memcmp(now, arch->swbp, n) != 0)
		return false;
	arch->build_slot_jump(site->slot, jump->copy, &code);
	return mem_write(&space->mem, 0, site->slot, code.code, code.len) == 0 &&
	       mem_write(&space->mem, 0, site->vaddr + n, jump->bytes + n,
			 jump->jump_len - n) == 0 &&
	       mem_write(&space->mem, 0, site->vaddr, jump->bytes, n) == 0;
}

/* False: it is a breakpoint still, or gone. */
static bool write_jump(const struct space *space, struct page_edit *edit,
		       const struct site *site, const struct site_jump *jump)
{
	const struct ubp_arch *arch = space->arch;
	uint8_t *bytes;

	/* It may have been unmapped while its threads were stopped. */
	if (plant_site_at(space, site->vaddr) != site || !site->planted)
		return false;
	if (site->vaddr % PAGE + jump->jump_len > PAGE) {
		page_edit_end(edit);
		return write_over_end(space, site, jump);
	}
	bytes = page_edit_at(edit, site->vaddr, jump->jump_len);
	if (!bytes || memcmp(bytes, arch->swbp, arch->swbp_len) != 0)
		return false;
	memcpy(bytes, jump->bytes, jump->jump_len);
	page_edit_changed(edit);
	return true;
}

static void write_all(struct space *space, struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	struct page_edit *edit = calloc(1, sizeof(*edit));

	if (!edit)
		return;
	edit->mem = &space->mem;
	(void)rings_set_gate(space, space, 0, ps->rings_base);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];
		struct site *site = try->site;

		if (!try->jump || !write_jump(space, edit, site, try->jump))
			continue;
		site->jump = try->jump;
		try->jump = NULL;
		site->rung = SITE_JUMPED;
		site->jump->is_written = true;
		ps->last_write = site->vaddr;
		jump_count(site, true);
		ps->n_jumps++;
	}
	page_edit_end(edit);
	free(edit);
}

/* Each stop costs the target time: what does not work soon is tried ever more seldom. */
static void wait_longer(struct plant_space *ps, uint64_t least, uint64_t most)
{
	ps->jumps_wait_ns *= 2;
	if (!ps->jumps_due)
		ps->jumps_wait_ns = 0;
	else if (ps->jumps_wait_ns < least)
		ps->jumps_wait_ns = least;
	else if (ps->jumps_wait_ns > most)
		ps->jumps_wait_ns = most;
}

static bool has_any(const struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		if (batch->tries[i].jump)
			return true;
	return false;
}

void jump_write(struct tracer *tracer, struct space *space, const struct tracee *keep,
		struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	bool all;

	if (!has_any(batch)) {
		jump_batch_free(batch);
		return;
	}
	space->refs++; /* it must not go while we stop its threads */
	all = hold_all(tracer, space, JUMP_HOLD_MS);
	if (space->plant != ps || !ps || ps->closing) {
		/* Its image is another, or it is given up. */
	} else if (all) {
		clear_threads(tracer, space, batch);
		write_all(space, batch);
		wait_longer(ps, AGAIN_LEAST_NS, AGAIN_MOST_NS);
	} else {
		put_all_off(ps, batch);
		wait_longer(ps, STUCK_LEAST_NS, STUCK_MOST_NS);
	}
	hold_end(tracer, space, keep);
	jump_batch_free(batch);
	space_put(tracer, space);
}
