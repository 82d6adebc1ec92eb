/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The jumps are written, in steps, while all threads are held. */

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/page.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/page_edit.h"
#include "engine/plant/rings.h"
#include "engine/plant/site_counts.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

static const char why_in_it[] = "a thread was in the middle of it";
static const char why_not_written[] = "it could not be written";

/*
 * A sleeper may wake up meanwhile, and we may be killed. So the breakpoint stays until all
 * else stands: the hop of a short jump, where nobody is; what the breakpoint leads to becomes the copy of the whole window;
 * then come the bytes behind the breakpoint, then its own. Each step is made for all sites before the next.
 */
enum step { STEP_HOP, STEP_BREAK, STEP_SLOT, STEP_TAIL, STEP_FIRST };

/*
 * A run-up (run_up.h) gets its breakpoint in STEP_BREAK.
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
		arch->slot.build_jump(site->slot, jump->copy, &slot);
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
	if (bell_is_call(site) || (try->jump->run_up && step <= STEP_BREAK))
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

	if (jump->jump_len > n && mem_write(&space->mem, 0, site->vaddr + n, jump->orig + n,
					    jump->jump_len - n) < 0)
		return false;
	return !jump->run_up || mem_write(&space->mem, 0, site->vaddr, jump->orig, n) == 0;
}

/*
 * It can't go on: what is behind the breakpoint becomes what it was. Where not even that can be written it
 * stays known, to be taken out with the others, and is not tried again.
 */
static void give_up(const struct space *space, struct jump_try *try, const char *why)
{
	const struct site *site = try->site;
	struct site_jump *jump = try->jump;

	if (!jump->is_begun || plant_site_at(space, site->vaddr) != site ||
	    take_back(space, site, jump)) {
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
		return !jump->run_up ||
		       (mem_peek(&space->mem, try->site->vaddr, now, n) == n &&
			memcmp(now, arch->swbp.code, n) == 0);
	case STEP_SLOT:
		arch->slot.build_jump(try->site->slot, jump->copy, &code);
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

/*
 * Nothing is written: the next step looks at what stands there. (The first one is of all, since it looks whether a site is there at all.)
 */
static bool is_skipped(const struct jump_try *try, enum step step)
{
	return (step == STEP_BREAK && !try->jump->run_up) ||
	       (step == STEP_SLOT && try->jump->n == 1);
}

/* What a step looks at of each is far from the others': it is fetched while those before it are at it. */
#define AHEAD 8

static void fetch_ahead(const struct jump_batch *batch, size_t i)
{
	if (i + AHEAD >= batch->n)
		return;
	__builtin_prefetch(batch->tries[i + AHEAD].site);
	if (batch->tries[i + AHEAD].jump) {
		__builtin_prefetch(&batch->tries[i + AHEAD].jump->n);
		__builtin_prefetch(&batch->tries[i + AHEAD].jump->is_begun);
	}
}

/* The same for who counts: the probes of each are found by what is fetched before. */
static void fetch_probes_ahead(const struct jump_batch *batch, size_t i)
{
	const struct site_jump *jump;

	if (i + 2 * AHEAD < batch->n && (jump = batch->tries[i + 2 * AHEAD].jump))
		__builtin_prefetch(jump->probes);
	if (i + AHEAD < batch->n && (jump = batch->tries[i + AHEAD].jump) && jump->n_probes)
		uprobe_fetch_ahead(jump->probes[0]);
}

/* What can't be written is put off: it is a breakpoint still. */
static void take_step(struct space *space, struct edits *edits, struct jump_batch *batch,
		      enum step step)
{
	bool is_any_buried = space->plant->n_buried != batch->n_buried, has_failed;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		fetch_ahead(batch, i);
		if (!try->jump || is_skipped(try, step))
			continue;
		if (!is_ready(space, &edits->code, try, step, is_any_buried)) {
			edits_end(edits);
			give_up(space, try, why_in_it);
			continue;
		}
		try->jump->is_begun |= step >= first_change(try);
		if (!write_step(space, edits, try->site, try->jump, step)) {
			edits_end(edits);
			give_up(space, try, why_not_written);
		}
	}
	edits_end(edits);
	has_failed = edits->code.has_failed || edits->slots.has_failed;
	for (size_t i = 0; i < batch->n && has_failed; i++)
		if (batch->tries[i].jump && !is_done(space, &batch->tries[i], step))
			give_up(space, &batch->tries[i], why_not_written);
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

		fetch_probes_ahead(batch, i);
		if (!try->jump)
			continue;
		site->jump = try->jump;
		try->jump = NULL;
		site->rung = SITE_JUMPED;
		site->planted = true;
		site->rests = false;
		site->jump->is_written = true;
		count_jump(site, true);
		ps->jump->n_written++;
	}
	area_note_change(space, 0);
	free(edits);
}
