/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return addresses that detours have replaced by themselves (struct guard_hijack). They
 * are in a table in the target's memory, by the stack word they stood in, and the code that
 * stands in for them finds its way there without us. We look at them when an unwinder is about to
 * read the stack, when a function is entered by a jump from one of them, and at the end.
 */

#include "engine/returns/hijack.h"

#include <stddef.h>
#include <stdlib.h>

#include "arch/guard_hijack.h"
#include "engine/returns/limits.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/hijack_part.h"
#include "engine/space/part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define LOOKS_AT_ONCE 32
#define CHUNK         1024
#define NEAREST_CHUNK 256ULL

struct guard_hijack hijack_find_in(const struct plant_space *ps, const struct space *space,
				   uint64_t slot_vaddr, uint64_t *ret_vaddr)
{
	struct guard_hijack some[LOOKS_AT_ONCE];
	uint64_t index =
		UBP_HIJACK_INDEX(slot_vaddr, space->arch->addr_size) & ps->hijack->mask;

	for (size_t i = 0, n; ps->hijack->table && i < UBP_HIJACK_LOOKS; i += n) {
		uint64_t at = ps->hijack->table + index * sizeof(some[0]);

		/* The first one mostly is it. */
		n = i ? LOOKS_AT_ONCE : 1;
		if (n > ps->hijack->mask + 1 - index)
			n = ps->hijack->mask + 1 - index;
		if (mem_peek(&space->mem, at, some, n * sizeof(some[0])) != n * sizeof(some[0]))
			break;
		for (size_t k = 0; k < n; k++) {
			*ret_vaddr = at + k * sizeof(some[0]);
			if (some[k].word == slot_vaddr || !some[k].word)
				return some[k];
		}
		index = (index + n) & ps->hijack->mask;
	}
	return (struct guard_hijack){ 0 };
}

struct guard_hijack hijack_find(const struct space *space, uint64_t slot_vaddr,
				uint64_t *ret_vaddr)
{
	return hijack_find_in(space->plant, space, slot_vaddr, ret_vaddr);
}

bool hijack_may_be(const struct plant_space *ps, uint64_t word)
{
	return ps->hijack->code_vaddr &&
	       (word == ps->hijack->code_vaddr || guard_may_be_called(word));
}

bool hijack_is_ours(const struct plant_space *ps, const struct guard_hijack *entry,
		    uint64_t word)
{
	return word == ps->hijack->code_vaddr || (entry->word && word == guard_called(entry));
}

uint64_t hijack_real(const struct space *space, uint64_t slot_vaddr, uint64_t word)
{
	const struct plant_space *ps = space->plant;
	struct guard_hijack entry;
	uint64_t at;

	if (!hijack_may_be(ps, word))
		return word;
	entry = hijack_find(space, slot_vaddr, &at);
	return entry.word && entry.real && hijack_is_ours(ps, &entry, word) ? entry.real : word;
}

void hijack_set_free(const struct space *space, pid_t tid, uint64_t entry)
{
	const uint64_t none = 0;

	(void)mem_write(&space->mem, tid, entry + offsetof(struct guard_hijack, real), &none,
			sizeof(none));
}

void hijack_set_given_back(const struct space *space, pid_t tid, uint64_t entry,
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
	struct guard_hijack entry = hijack_find(space, slot_vaddr, &at);

	*ret_site = entry.word && entry.real ? plant_site_of_slot(space, entry.back) : NULL;
	return entry.word && entry.real;
}

void hijack_note_stack(struct tracee *t, uint64_t sp)
{
	unsigned i = 0;

	while (i < STACKS_MAX && !is_same_stack(t->probes->interrupted_sp[i], sp))
		i++;
	if (i == STACKS_MAX)
		i = ++t->probes->last_interrupted % STACKS_MAX;
	t->probes->interrupted_sp[i] = sp;
}

uint64_t hijack_nearest(const struct space *space, uint64_t vaddr)
{
	const struct plant_space *ps = space->plant;
	struct guard_hijack some[NEAREST_CHUNK];
	const uint8_t size = space->arch->addr_size;
	uint64_t best = UINT64_MAX, first = UBP_HIJACK_INDEX(vaddr, size) + 1;

	if (!ps->hijack->table)
		return 0;
	/* In the table they are in the order of their words, or soon behind their place. */
	for (uint64_t i = 0;
	     i < UBP_HIJACK_SPAN(FRAME_MAX, size) && UBP_HIJACK_SPAN(best - vaddr, size) > i;
	     i += NEAREST_CHUNK) {
		uint64_t index = (first + i) & ps->hijack->mask & ~(NEAREST_CHUNK - 1);

		if (mem_peek(&space->mem, ps->hijack->table + index * sizeof(some[0]), some,
			     sizeof(some)) != sizeof(some))
			break;
		for (size_t k = 0; k < NEAREST_CHUNK; k++)
			if (some[k].real && some[k].word > vaddr &&
			    some[k].word - vaddr < FRAME_MAX && some[k].word < best)
				best = some[k].word;
	}
	return best == UINT64_MAX ? 0 : best;
}

/* @each of those that are in use, until it returns false. False: that, or not all of the table could be read. */
static bool each_in_use(const struct space *space,
			bool (*each)(void *ctx, const struct guard_hijack *entry), void *ctx)
{
	const struct plant_space *ps = space->plant;
	size_t len = CHUNK * sizeof(struct guard_hijack);
	struct guard_hijack *some = ps->hijack->table ? malloc(len) : NULL;
	bool goes_on = some || !ps->hijack->table;

	for (uint64_t at = 0; some && at <= ps->hijack->mask && goes_on; at += CHUNK) {
		goes_on = mem_peek(&space->mem, ps->hijack->table + at * sizeof(*some), some,
				   len) == len;
		for (size_t i = 0; i < CHUNK && goes_on; i++)
			if (some[i].word && some[i].real)
				goes_on = each(ctx, &some[i]);
	}
	free(some);
	return goes_on;
}

static bool is_none(void *ctx, const struct guard_hijack *entry)
{
	(void)ctx, (void)entry;
	return false;
}

bool hijack_waits(const struct space *space)
{
	return !each_in_use(space, is_none, NULL);
}

struct hijack_place hijack_place(const struct plant_space *ps)
{
	return (struct hijack_place){ ps->hijack->table, ps->hijack->mask,
				      ps->hijack->code_vaddr };
}

void hijack_set_place(const struct plant_space *ps, struct hijack_place place)
{
	ps->hijack->table = place.table;
	ps->hijack->mask = place.mask;
	ps->hijack->code_vaddr = place.code;
}

uint64_t hijack_room(const struct plant_space *ps)
{
	return ps->hijack->room;
}

void hijack_set_room(const struct plant_space *ps, uint64_t vaddr)
{
	ps->hijack->room = vaddr;
}

uint64_t hijack_ns_factor(const struct plant_space *ps)
{
	return ps->hijack->ns_factor;
}

void hijack_set_ns_factor(const struct plant_space *ps, uint64_t factor)
{
	ps->hijack->ns_factor = factor;
}

int hijacks_copy(const struct part_copied *c)
{
	const struct space_hijacks *from = c->from->hijack;

	*c->to->hijack = (struct space_hijacks){ .table = from->table,
						 .mask = from->mask,
						 .code_vaddr = from->code_vaddr,
						 .ns_factor = from->ns_factor,
						 .is_copy = true };
	return 0;
}

void hijacks_forget(struct plant_space *ps)
{
	map_free(&ps->hijack->inherited);
	free(ps->hijack->open_at_exec);
}

/* --- old detours ------------------------------------------------------------------------- */

void hijack_note_block(const struct space *space, uint64_t back)
{
	const struct site *site = plant_site_of_slot(space, back);
	uint64_t at;
	struct site_jump *jump = site ? jump_at(site, back, &at) : NULL;

	if (jump)
		jump->in_use = jump->is_awaited = true;
}

static bool note_block(void *ctx, const struct guard_hijack *entry)
{
	hijack_note_block(ctx, entry->back);
	return true;
}

bool hijack_note_blocks(const struct space *space)
{
	return each_in_use(space, note_block, (void *)space);
}

static bool set_awaited(const struct plant_space *ps, bool awaited)
{
	bool any = false;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value))
		for (struct site_jump *old = ((struct site *)value)->old_jumps; old;
		     old = old->older) {
			old->is_awaited = awaited;
			any |= old->detour.return_at != 0;
		}
	return any;
}

void hijack_note_awaited(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	if (set_awaited(ps, false) && !hijack_note_blocks(space))
		(void)set_awaited(ps, true);
}
