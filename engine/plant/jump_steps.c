/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The jumps are written, in steps, while all threads are held. */

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/page_edit.h"
#include "engine/plant/rings.h"
#include "engine/plant/site.h"
#include "engine/plant/site_counts.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

static const char why_in_it[] = "a thread was in the middle of it";
static const char why_not_written[] = "it could not be written";

/*
 * A sleeper may wake up meanwhile, and we may be killed. So the breakpoint stays until all
 * else stands: the hop of a short jump, where nobody is; what the breakpoint leads to becomes the copy of the whole window;
 * then come the bytes behind the breakpoint, then its own. Each step is made for all sites before the next. A hop in memory of ours that did
 * not stand before is written by jump_get_ready(): nobody can be there, and nothing leads there before the last step.
 */
enum step { STEP_HOP, STEP_BREAK, STEP_SLOT, STEP_TAIL, STEP_FIRST };

/*
 * A run-up (run_up.h) gets its breakpoint in STEP_BREAK; one whose jump takes several instructions, before sleepers are looked at, as other sites have theirs.
 *
 * A bell in front of a call (bell.h) has no breakpoint. It stands on one instruction, so it is written all at once, in the
 * last step, as it is taken out.
 */

/* Sites lie in the order of their addresses, and so do their slots: two pages at a time. */
struct edits {
	struct page_edit code, slots;
};

static void edits_end(struct edits *edits)
{
	page_edit_end(&edits->slots);
	page_edit_end(&edits->code);
}

static bool write_bytes(const struct space *space, struct page_edit *edit, uint64_t vaddr,
			const uint8_t *bytes, size_t len)
{
	uint8_t *at;

	if (vaddr % PAGE + len > PAGE) {
		page_edit_end(edit);
		return mem_write(&space->mem, 0, vaddr, bytes, len) == 0;
	}
	at = page_edit_at(edit, vaddr, len);
	if (!at)
		return false;
	memcpy(at, bytes, len);
	page_edit_changed(edit);
	return true;
}

static bool write_step(const struct space *space, struct edits *edits, struct site *site,
		       const struct site_jump *jump, enum step step)
{
	struct page_edit *code = &edits->code;
	const struct ubp_arch *arch = space->arch;
	size_t n = arch->swbp.len;
	struct slot_code slot;

	switch (step) {
	case STEP_HOP:
		return !jump->hop_at || (hop_begin(space, site, jump) == 0 &&
					 write_bytes(space, &edits->slots, jump->hop_at,
						     jump->hop, UBP_HOP_LEN));
	case STEP_BREAK:
		return !jump->run_up ||
		       write_bytes(space, code, site->vaddr, arch->swbp.code, n);
	case STEP_SLOT:
		/* One instruction leads behind the jump by itself. */
		if (jump->n == 1)
			return true;
		arch->slot.build_jump(site->slot, jump_instead(jump, 0), &slot);
		return write_bytes(space, &edits->slots, site->slot, slot.code, slot.len);
	case STEP_TAIL:
		/* It may be as long as a breakpoint. */
		return jump->jump_len == n || bell_is_call(site) ||
		       write_bytes(space, code, site->vaddr + n, jump->bytes + n,
				   jump->jump_len - n);
	case STEP_FIRST:
		return write_bytes(space, code, site->vaddr, jump->bytes,
				   bell_is_call(site) ? jump->jump_len : n);
	}
	return false;
}

/* Is it for a run-up, on several instructions of that? */
static bool is_several(const struct site_jump *jump)
{
	return jump->run_up && jump->n > 1;
}

/* Does the site's instruction stand there? */
static bool is_untouched(const struct space *space, struct page_edit *edit,
			 const struct site *site)
{
	size_t n = site->insn.len;
	const uint8_t *now = page_edit_at(edit, site->vaddr, n);
	uint8_t crossing[UBP_INSN_MAX];

	if (!now && site->vaddr % PAGE + n > PAGE &&
	    mem_peek(&space->mem, site->vaddr, crossing, n) == n)
		now = crossing;
	return now && memcmp(now, site->insn.bytes, n) == 0;
}

static bool is_ready(const struct space *space, struct page_edit *edit,
		     const struct jump_try *try, enum step step, bool is_any_buried)
{
	const struct site *site = try->site;
	const struct ubp_arch *arch = space->arch;
	const uint8_t *now;

	/* It may have been unmapped while its threads were stopped; from then on it is there. */
	if (step == STEP_HOP && is_any_buried && plant_site_at(space, site->vaddr) != site)
		return false;
	/* No step of this kind changes code of the program: the next one looks at it. */
	if (step == STEP_HOP && !try->jump->run_up && (!try->jump->hop_at || site->hop.is_own))
		return bell_is_call(site) || site->planted;
	if (bell_is_call(site) ||
	    (try->jump->run_up && !is_several(try->jump) && step <= STEP_BREAK))
		return is_untouched(space, edit, site);
	if (step == STEP_HOP && !site->planted)
		return false;
	now = page_edit_at(edit, site->vaddr, arch->swbp.len);
	return now && memcmp(now, arch->swbp.code, arch->swbp.len) == 0;
}

/* What it stands on, but for the breakpoint of a site that had one before. */
static bool take_back(const struct space *space, const struct site *site,
		      const struct site_jump *jump)
{
	size_t n = bell_is_call(site) ? 0 : space->arch->swbp.len;

	if (jump->jump_len > n &&
	    mem_write(&space->mem, 0, site->vaddr + n, jump->orig + n, jump->jump_len - n) < 0)
		return false;
	return !jump->run_up || mem_write(&space->mem, 0, site->vaddr, jump->orig, n) == 0;
}

/*
 * It can't go on: what is behind the breakpoint becomes what it was. Where not even that can be written it
 * stays known, to be taken out with the others, and is not tried again.
 */
static void give_up(const struct space *space, struct jump_try *try, const char *why)
{
	struct site *site = try->site;
	struct site_jump *jump = try->jump;

	jump->is_begun |= try->writing.is_begun;
	if (!jump->is_begun || plant_site_at(space, site->vaddr) != site ||
	    take_back(space, site, jump)) {
		if (jump->is_begun && jump->run_up) {
			site->planted = false;
			site->rests = site->run_up != 0;
		}
		jump->is_begun = false;
		jump_put_off(space->plant, try, why);
		return;
	}
	try->site->jump = jump;
	try->jump = NULL;
	jump_refuse(try->site, why);
}

/* Some page could not be written: does what this step writes stand there? */
static bool is_done(const struct space *space, const struct jump_try *try, enum step step)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = try->jump;
	size_t n = arch->swbp.len;
	uint8_t now[UBP_SLOT_SIZE];
	struct slot_code code;

	switch (step) {
	case STEP_HOP:
		return !jump->hop_at || hop_stands(space, try->site, jump);
	case STEP_BREAK:
		return !jump->run_up || (mem_peek(&space->mem, try->site->vaddr, now, n) == n &&
					 memcmp(now, arch->swbp.code, n) == 0);
	case STEP_SLOT:
		arch->slot.build_jump(try->site->slot, jump_instead(jump, 0), &code);
		return jump->n == 1 ||
		       (mem_peek(&space->mem, try->site->slot, now, code.len) == code.len &&
			memcmp(now, code.code, code.len) == 0);
	case STEP_TAIL:
		return bell_is_call(try->site) ||
		       (mem_peek(&space->mem, try->site->vaddr + n, now, jump->jump_len - n) ==
				jump->jump_len - n &&
			memcmp(now, jump->bytes + n, jump->jump_len - n) == 0);
	case STEP_FIRST:
		n = bell_is_call(try->site) ? jump->jump_len : n;
		return mem_peek(&space->mem, try->site->vaddr, now, n) == n &&
		       memcmp(now, jump->bytes, n) == 0;
	}
	return false;
}

/* The step in which something is written that has to be taken out. */
static enum step first_change(const struct jump_try *try)
{
	if (bell_is_call(try->site))
		return STEP_FIRST;
	return try->jump->run_up ? STEP_BREAK : STEP_TAIL;
}

/* Sites lie far from each other: what is looked at of each is fetched while those before it are at it. */
#define AHEAD 8

static void fetch_ahead(const struct jump_batch *batch, size_t i)
{
	if (i + AHEAD >= batch->n)
		return;
	__builtin_prefetch(batch->tries[i + AHEAD].site);
	if (batch->tries[i + AHEAD].jump)
		__builtin_prefetch(&batch->tries[i + AHEAD].jump->is_begun);
}

/* Does its breakpoint stand there? */
static bool stops_at(const struct space *space, struct page_edit *edit, uint64_t vaddr)
{
	const struct ubp_arch *arch = space->arch;
	const uint8_t *now = page_edit_at(edit, vaddr, arch->swbp.len);

	return now && memcmp(now, arch->swbp.code, arch->swbp.len) == 0;
}

/*
 * The same as is_ready() and write_step(), of one of the common kind. What the slot is to lead to does as much as what stands there, so
 * the breakpoint is looked at before something of the program changes. Returns why it can't go on, or NULL.
 */
static const char *write_common(const struct space *space, struct edits *edits,
				struct jump_try *try, enum step step, bool is_any_buried)
{
	struct jump_writing *w = &try->writing;
	size_t n = space->arch->swbp.len;
	struct slot_code slot;
	bool is_there, is_written = true;

	if (step == STEP_HOP)
		is_there = try->site->planted &&
			   !(is_any_buried && plant_site_at(space, try->vaddr) != try->site);
	else
		is_there = step < STEP_TAIL || stops_at(space, &edits->code, try->vaddr);
	if (!is_there)
		return why_in_it;
	w->is_begun |= step >= STEP_TAIL;
	if (step == STEP_SLOT && w->copy) {
		space->arch->slot.build_jump(w->slot, w->copy, &slot);
		is_written = write_bytes(space, &edits->slots, w->slot, slot.code, slot.len);
	} else if (step == STEP_TAIL && w->len > n) {
		is_written = write_bytes(space, &edits->code, try->vaddr + n, w->bytes + n,
					 w->len - n);
	} else if (step == STEP_FIRST) {
		is_written = write_bytes(space, &edits->code, try->vaddr, w->bytes, n);
	}
	return is_written ? NULL : why_not_written;
}

static const char *write_one(struct space *space, struct edits *edits, struct jump_try *try,
			     enum step step, bool is_any_buried)
{
	if (try->writing.is_common)
		return write_common(space, edits, try, step, is_any_buried);
	if (!is_ready(space, &edits->code, try, step, is_any_buried))
		return why_in_it;
	try->jump->is_begun |= step >= first_change(try);
	return write_step(space, edits, try->site, try->jump, step) ? NULL : why_not_written;
}

/* What can't be written is put off: it is a breakpoint still. */
static void take_step(struct space *space, struct edits *edits, struct jump_batch *batch,
		      enum step step)
{
	bool is_any_buried = space->plant->n_buried != batch->n_buried, has_failed;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];
		const char *why;

		if (step == STEP_HOP)
			fetch_ahead(batch, i);
		if (!try->jump)
			continue;
		why = write_one(space, edits, try, step, is_any_buried);
		if (why) {
			edits_end(edits);
			give_up(space, try, why);
		}
	}
	edits_end(edits);
	has_failed = edits->code.has_failed || edits->slots.has_failed;
	for (size_t i = 0; i < batch->n && has_failed; i++)
		if (batch->tries[i].jump && !is_done(space, &batch->tries[i], step))
			give_up(space, &batch->tries[i], why_not_written);
}

/* Is it of that kind, but for the hop, if there is one, which nothing leads to yet? */
static bool is_common(const struct jump_try *try)
{
	const struct site_jump *jump = try->jump;
	const struct site_hop *hop = &try->site->hop;

	return jump && !jump->run_up && jump->reach == jump->jump_len &&
	       !bell_is_call(try->site) &&
	       (!jump->hop_at || (hop->is_own && !hop->stands && !hop->in_use));
}

/* Hops where nobody can be. What is not written is left to STEP_HOP. */
static void write_hops(const struct space *space, struct jump_batch *batch)
{
	struct page_patch *patches = malloc((batch->n + 1) * sizeof(*patches));
	struct sort_item *places = malloc((batch->n + 1) * sizeof(*places));
	size_t n = 0;

	for (size_t i = 0; i < batch->n && patches && places; i++) {
		const struct jump_try *try = &batch->tries[i];

		if (!is_common(try) || !try->jump->hop_at ||
		    hop_begin(space, try->site, try->jump) < 0)
			continue;
		patches[n] = (struct page_patch){ try->jump->hop, UBP_HOP_LEN };
		places[n] = (struct sort_item){ try->jump->hop_at, &patches[n] };
		n++;
	}
	page_edit_each(&space->mem, 0, places, n);
	free(patches);
	free(places);
}

static bool is_hop_written(struct mem_view *view, const struct jump_try *try)
{
	uint8_t now[UBP_HOP_LEN];

	return !try->jump->hop_at ||
	       (try->site->hop.stands && try->site->hop.vaddr == try->jump->hop_at &&
		mem_view_peek(view, try->jump->hop_at, now, UBP_HOP_LEN) == UBP_HOP_LEN &&
		memcmp(now, try->jump->hop, UBP_HOP_LEN) == 0);
}

/*
 * From then on nobody comes into them but by a stop, as into other windows. What hits such a breakpoint is told at the ret.
 */
static void break_run_ups(const struct space *space, struct jump_batch *batch)
{
	struct ubp_err ignored;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];
		struct site *site = try->site;
		uint8_t now[UBP_INSN_MAX];
		size_t n = site->insn.len;

		if (!try->jump || !is_several(try->jump) || site->planted)
			continue;
		ubp_err_reset(&ignored);
		if (mem_peek(&space->mem, site->vaddr, now, n) == n &&
		    memcmp(now, site->insn.bytes, n) == 0 &&
		    site_plant(space, 0, site, &ignored) == 0)
			site->rests = false;
		else
			jump_put_off(space->plant, try, why_not_written);
	}
}

void jump_get_ready(const struct space *space, struct jump_batch *batch)
{
	struct mem_view view = { .mem = &space->mem };

	break_run_ups(space, batch);
	for (size_t i = 0; i < batch->n; i++)
		batch->tries[i].writing =
			(struct jump_writing){ .is_common = is_common(&batch->tries[i]) };
	write_hops(space, batch);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];
		struct jump_writing *w = &try->writing;

		w->is_common = w->is_common && is_hop_written(&view, try);
		if (!w->is_common)
			continue;
		w->slot = try->site->slot;
		w->copy = try->jump->n > 1 ? try->jump->copy : 0;
		memcpy(w->bytes, try->jump->bytes, sizeof(w->bytes));
		w->len = try->jump->jump_len;
	}
}

void jump_count_written(struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		if (batch->tries[i].is_written)
			count_jump(batch->tries[i].site, true);
		batch->tries[i].is_written = false;
	}
}

void jump_write_steps(struct space *space, struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	struct edits *edits = malloc(sizeof(*edits));

	if (!edits) {
		for (size_t i = 0; i < batch->n; i++)
			jump_put_off(ps, &batch->tries[i], why_not_written);
		return;
	}
	page_edit_begin(&edits->code, &space->mem);
	page_edit_begin(&edits->slots, &space->mem);
	(void)rings_open_gate(space, 0);
	take_step(space, edits, batch, STEP_HOP);
	take_step(space, edits, batch, STEP_BREAK);
	take_step(space, edits, batch, STEP_SLOT);
	take_step(space, edits, batch, STEP_TAIL);
	take_step(space, edits, batch, STEP_FIRST);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];
		struct site *site = try->site;

		fetch_ahead(batch, i);
		if (!try->jump)
			continue;
		site->jump = try->jump;
		try->jump = NULL;
		site->rung = SITE_JUMPED;
		site->planted = true;
		site->rests = false;
		site->jump->is_begun = true;
		site->jump->is_written = true;
		try->is_written = true;
		ps->jump->n_written++;
	}
	area_note_change(space, 0);
	free(edits);
}
