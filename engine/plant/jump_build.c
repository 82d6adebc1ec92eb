/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The detours of a pass of upgrades: generated, and written into the areas, while all run. */

#include "engine/plant/jump.h"

#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump_detour.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/led_out.h"
#include "engine/plant/pun.h"
#include "engine/plant/rings.h"
#include "engine/plant/spare.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"

static const char why_not_written[] = "its detour cannot be written";
static const char why_full[] = "its area is full";

#define GATHER_LEN MEM_WRITES_ROOM

/*
 * Blocks that follow one another in an area are written by one call. When all of them are, they are entered into its table,
 * then it is told how much of it is used. Whoever comes after a kill finds no entry of a block that is not there.
 */
struct gather {
	struct area *area;
	uint64_t vaddr; /* of .bytes */
	size_t len, n;
	uint64_t *copies; /* of .n blocks that are to be entered; room for all of a batch */
	int rc;           /* of entering them */
	uint8_t bytes[GATHER_LEN];
};

/* Of one batch. */
struct build {
	struct jump_maker make;
	struct mem_writes writes;
	struct gather gather;
};

static void gather_end(struct build *b)
{
	struct gather *g = &b->gather;

	if (g->len)
		mem_writes_add(&b->writes, g->vaddr, g->bytes, g->len);
	g->len = 0;
}

static void enter(struct build *b)
{
	struct gather *g = &b->gather;

	gather_end(b);
	if (g->n && g->rc == 0)
		g->rc = area_enter_copies(&b->writes, g->area, g->copies, g->n);
	g->n = 0;
}

/* Room for @len bytes at @block, which are zeros. NULL: they are too many. */
static uint8_t *gather(struct build *b, struct area *area, uint64_t block, size_t len)
{
	struct gather *g = &b->gather;
	uint8_t *at;

	if (g->area != area)
		enter(b);
	else if (g->vaddr + g->len != block || len > sizeof(g->bytes) - g->len)
		gather_end(b);
	g->area = area;
	if (len > sizeof(g->bytes))
		return NULL;
	if (!g->len)
		g->vaddr = block;
	at = g->bytes + g->len;
	g->len += len;
	memset(at, 0, len);
	return at;
}

/* The block: what a later session needs to know, then the code. */
static void write_block(struct build *b, struct area *area, const struct site *site,
			const struct site_jump *jump, uint64_t block)
{
	struct guard_jump head = {
		.magic = jump->detour.leaf_len ? UBP_JUMP_LEAF : UBP_JUMP_MAGIC,
		.vaddr = site->vaddr,
		.len = jump->room + UBP_SLOT_SIZE,
		.entry = jump->detour.entry_at,
		.jump_len = jump->jump_len,
		.n_orig = jump->jump_len,
		.n_fixed = jump->reach - jump->jump_len,
		.n_prefix = jump->n_prefix,
	};
	size_t len = (size_t)jump->len + UBP_SLOT_SIZE;
	size_t whole = (len + UBP_SLOT_SIZE - 1) / UBP_SLOT_SIZE * UBP_SLOT_SIZE;
	/* Of a new one all is written, so that the next one follows; of an old one no more than is needed. */
	bool is_last = block + whole == area->vaddr + area->used;
	uint8_t *at = gather(b, area, block, is_last ? whole : len);

	_Static_assert(sizeof(head) <= UBP_SLOT_SIZE, "in front of the copy");
	memcpy(head.orig, jump->orig, head.n_orig);
	if (jump->hop_at) {
		head.hop = site->hop.vaddr;
		memcpy(head.orig + head.n_orig, site->hop.orig, UBP_HOP_LEN);
	}
	if (at) {
		memcpy(at, &head, sizeof(head));
		memcpy(at + UBP_SLOT_SIZE, jump->detour.code, jump->len);
	} else {
		mem_writes_add(&b->writes, block, &head, sizeof(head));
		mem_writes_add(&b->writes, jump->copy, jump->detour.code, jump->len);
	}
	b->gather.copies[b->gather.n++] = jump->copy;
}

/* A block that an earlier session left for the site, if it serves. 0: none. */
static uint64_t old_block(const struct space *space, const struct batch_area *a,
			  const struct site *site, size_t *ret_len)
{
	struct plant_space *ps = space->plant;
	uint64_t block = (uint64_t)(uintptr_t)map_remove(&ps->jump->blocks, site->vaddr);
	const struct area *area = block ? area_of(ps, block) : NULL;
	struct guard_jump head;

	/* The target may have written something else there since it was found. */
	if (!area || !area_reaches(area, a->lo, a->hi, space->arch->near_max) ||
	    mem_peek(&space->mem, block, &head, sizeof(head)) != sizeof(head) ||
	    !area_holds(area, block, head.len))
		return 0;
	*ret_len = head.len;
	return block;
}

/* In @block, which has @room for it with its head. False: it has not. */
static bool make_in_old(struct build *b, struct site *site, struct site_jump *jump,
			uint64_t block, size_t room)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (jump_make_detour(&b->make, site, block + UBP_SLOT_SIZE, jump, &err) < 0 ||
	    jump->len + UBP_SLOT_SIZE > room) {
		jump_clear(jump);
		return false;
	}
	area_own_block(area_of(b->make.space->plant, block), block, room, site);
	jump->room = (uint32_t)(room - UBP_SLOT_SIZE);
	return true;
}

/* In one that was another detour's, in @area. How long the detour is depends a little on where it is. */
static bool make_in_spare(struct build *b, struct area *area, struct site *site,
			  struct site_jump *jump, uint64_t *ret_block)
{
	struct ubp_err err;
	size_t room;

	ubp_err_reset(&err);
	if (jump_make_detour(&b->make, site, area->vaddr + area->used + UBP_SLOT_SIZE, jump,
			     &err) < 0) {
		jump_clear(jump);
		return false;
	}
	*ret_block = spare_take(area, jump->len + UBP_SLOT_SIZE, &room);
	jump_clear(jump);
	if (!*ret_block)
		return false;
	if (make_in_old(b, site, jump, *ret_block, room))
		return true;
	spare_add(area, *ret_block, room);
	return false;
}

/* At the end of what is used of @area. */
static const char *make_block_in(struct build *b, struct area *area, struct site *site,
				 struct site_jump *jump, uint64_t *ret_block)
{
	uint64_t block = area->vaddr + area->used;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (jump_make_detour(&b->make, site, block + UBP_SLOT_SIZE, jump, &err) < 0)
		return jump_keep_reason(b->make.plant, err.text);
	*ret_block = block;
	jump->room = jump->len;
	return area_take_block(area, jump->len + UBP_SLOT_SIZE, site) ? NULL : why_full;
}

/* The hop of a punned jump may be too far from that area: its own is as near to the site. */
static const char *make_new_block(struct build *b, struct area *area, struct site *site,
				  struct site_jump *jump, uint64_t *ret_block)
{
	const char *why = make_block_in(b, area, site, jump, ret_block);
	struct area *own =
		site->hop.pun.n_fixed ? area_of(b->make.space->plant, site->hop.vaddr) : NULL;

	if (!why || !own || !own->keys || own == area)
		return why;
	jump_clear(jump);
	return make_block_in(b, own, site, jump, ret_block);
}

/* Its detour, in a block that was there before or a new one. Returns why not, or NULL. */
static const char *make_block(struct build *b, struct batch_area *a, struct site *site,
			      struct site_jump *jump, uint64_t *ret_block)
{
	const struct space *space = b->make.space;
	size_t room = 0;
	uint64_t block = old_block(space, a, site, &room);

	if (block && make_in_old(b, site, jump, block, room)) {
		*ret_block = block;
		return NULL;
	}
	if (block)
		spare_add(area_of(space->plant, block), block, room);
	for (struct area *area = space->plant->areas; area; area = area->next)
		if (area->spares && area_reaches(area, a->lo, a->hi, space->arch->near_max) &&
		    make_in_spare(b, area, site, jump, ret_block))
			return NULL;
	return make_new_block(b, a->area, site, jump, ret_block);
}

static const char *build_one(struct build *b, struct batch_area *a, struct site *site,
			     struct site_jump **ret_jump)
{
	struct plant_space *ps = b->make.space->plant;
	struct site_jump *jump = calloc(1, sizeof(*jump));
	struct area *area;
	uint64_t block = 0;
	const char *why;

	if (!jump)
		return "out of memory";
	if (hop_is_needed(site) && !hop_choose(ps, &b->make.view, site)) {
		jump_free(jump);
		return pun_is_needed(site) ? pun_why_none : hop_why_none;
	}
	why = make_block(b, a, site, jump, &block);
	area = area_of(ps, block);
	if (!why) {
		why = led_out_into(ps, site->vaddr, jump->jump_len);
		if (why)
			spare_add_jump(ps, jump);
	}
	if (!why) {
		write_block(b, area, site, jump, block);
		/* Its trap's entry, too, comes behind the block, and to where it is told to be used. */
		if (jump->is_watch)
			enter(b);
		if ((jump->is_watch &&
		     area_enter_trap(&b->writes, area, jump->copy + jump->detour.trap_at[0],
				     jump->copy) < 0) ||
		    led_out_note(ps, site, jump) < 0 || jump_note_traps(ps, site, jump) < 0) {
			why = why_not_written;
			if (!jump->is_watch)
				spare_add_jump(ps, jump);
		}
	}
	free(jump->detour.code);
	jump->detour.code = NULL;
	if (why)
		jump_free(jump);
	else
		*ret_jump = jump;
	return why;
}

static void build_try(struct build *b, struct batch_area *a, struct jump_try *try,
		      bool has_spares)
{
	const char *why = build_one(b, a, try->site, &try->jump);

	try->is_built = try->jump != NULL;
	if (why != why_full || !has_spares) {
		jump_refuse(try->site, why);
		return;
	}
	/* It is longer than was guessed, and the room that was provided is of others. */
	jump_tell_why(try->site, why);
	b->make.space->plant->jump->spares_are_short = true;
	b->make.space->plant->jump->due = true;
}

/* The areas may lack any of them. */
static void give_up_all(struct plant_space *ps, struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		if (!try->jump || !try->is_built)
			continue;
		jump_forget_traps(ps, try->jump);
		jump_free(try->jump);
		try->jump = NULL;
		jump_refuse(try->site, why_not_written);
	}
}

void jump_build(struct plant *plant, struct space *space, pid_t pid, struct jump_batch *batch)
{
	struct build *b = calloc(1, sizeof(*b));
	size_t k = 0;

	if (b)
		b->gather.copies = malloc((batch->n + 1) * sizeof(*b->gather.copies));
	if (!b || !b->gather.copies) {
		jump_later(space->plant);
		free(b);
		return;
	}
	b->make.plant = plant;
	b->make.space = space;
	b->make.view.mem = b->writes.mem = &space->mem;
	b->make.like = detour_like_new();
	rings_look_around(space, pid, NULL, 0);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		while (k < batch->n_areas && try->site->vaddr >= batch->areas[k].until)
			k++;
		if (k == batch->n_areas)
			break;
		if (try->jump || !batch->areas[k].area)
			continue;
		build_try(b, &batch->areas[k], try, batch->has_spares);
	}
	enter(b);
	if (mem_writes_end(&b->writes) < 0 || b->gather.rc < 0)
		give_up_all(space->plant, batch);
	detour_like_free(b->make.like);
	free(b->gather.copies);
	free(b);
}
