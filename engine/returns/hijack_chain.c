/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/hijack_chain.h"

#include <limits.h>
#include <stddef.h>

#include "arch/host.h"
#include "engine/event/clock.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_open.h"
#include "engine/returns/limits.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define LOOKS_AT_ONCE 32

bool hijack_is_level(const struct space *space, uint64_t word)
{
	return word & UBP_CHAIN_MOST(space->arch->addr_size);
}

static void note_level(struct hijack_chain *chain, const struct guard_hijack *entry,
		       uint64_t level, uint64_t vaddr)
{
	chain->level[level - 1].entry = *entry;
	chain->level[level - 1].vaddr = vaddr;
}

void hijack_read_chain(const struct plant_space *owner, const struct space *space,
		       const struct guard_hijack *first, struct hijack_chain *ret_chain)
{
	const uint64_t most = UBP_CHAIN_MOST(space->arch->addr_size);
	struct guard_hijack some[LOOKS_AT_ONCE];
	uint64_t index =
		UBP_HIJACK_INDEX(first->word, space->arch->addr_size) & owner->hijack->mask;

	*ret_chain = (struct hijack_chain){ .n = first->back & most };
	for (size_t i = 0, n; i < UBP_HIJACK_LOOKS; i += n) {
		uint64_t at = owner->hijack->table + index * sizeof(some[0]);

		n = LOOKS_AT_ONCE;
		if (n > owner->hijack->mask + 1 - index)
			n = owner->hijack->mask + 1 - index;
		if (mem_peek(&space->mem, at, some, n * sizeof(some[0])) != n * sizeof(some[0]))
			return;
		for (size_t k = 0; k < n; k++) {
			uint64_t level = some[k].word - first->word;

			if (!some[k].word)
				return;
			if (level && level <= most)
				note_level(ret_chain, &some[k], level,
					   at + k * sizeof(some[0]));
		}
		index = (index + n) & owner->hijack->mask;
	}
}

void hijack_end_chain(const struct space *space, pid_t tid, const struct hijack_chain *chain,
		      bool counts)
{
	for (unsigned i = 0; i < UBP_CHAIN_MAX; i++) {
		if (!chain->level[i].entry.real)
			continue;
		hijack_set_free(space, tid, chain->level[i].vaddr);
		if (counts && i >= chain->n)
			hijack_count(space, &chain->level[i].entry, MISSED_SKIPPED);
	}
}

/* --- with all that they have --------------------------------------------------------------- */

const struct site *hijack_drop(const struct space *space, pid_t tid, uint64_t slot_vaddr)
{
	uint64_t at = 0;
	struct guard_hijack entry = hijack_find(space, slot_vaddr, &at);
	struct hijack_chain chain;

	if (!entry.word || !entry.real)
		return NULL;
	hijack_set_free(space, tid, at);
	hijack_read_chain(space->plant, space, &entry, &chain);
	for (unsigned i = 0; i < chain.n; i++)
		if (chain.level[i].entry.real)
			hijack_count(space, &chain.level[i].entry, MISSED_SKIPPED);
	hijack_end_chain(space, tid, &chain, true);
	return plant_site_of_slot(space, entry.back);
}

/* The ticks of a detour as nanoseconds of CLOCK_KIND_MONO. */
static uint64_t time_of(const struct plant_space *ps, uint64_t ticks)
{
	uint64_t now_ns = event_clock_now(CLOCK_KIND_MONO), now = ubp_host_ticks();

	return ticks < now ? now_ns - detour_ns(now - ticks, ps->hijack->ns_factor) : now_ns;
}

/* How many there had been when the detour was made that goes on at @back. */
static unsigned numbers_of(const struct site *site, uint64_t back)
{
	uint64_t at;
	const struct site_jump *jump = jump_at(site, back, &at);

	return jump ? jump->n_numbers : UINT_MAX;
}

static int add_entry(const struct space *space, struct return_instance *ri,
		     const struct guard_hijack *entry)
{
	struct site *site = plant_site_of_slot(space, entry->back);

	const struct return_entry entered = {
		.site = site,
		.entered_ns = site ? time_of(space->plant, entry->time) : 0,
		.n_numbers = site ? numbers_of(site, entry->back) : 0,
	};

	return site ? returns_add_entry(ri, &entered) : 0;
}

/* The functions that were entered by jumps behind the first one. */
static int add_chain(const struct space *space, struct return_instance *ri,
		     const struct hijack_chain *chain)
{
	int rc = 0;

	for (unsigned i = 0; i < chain->n && rc == 0; i++)
		if (chain->level[i].entry.real)
			rc = add_entry(space, ri, &chain->level[i].entry);
	return rc;
}

/* For the word at @slot_vaddr, empty; one of ours that was left here long ago is reused. */
static struct return_instance *instance_at(struct plant_space *ps, uint64_t slot_vaddr)
{
	struct return_instance *ri = map_get(&ps->ret->by_slot, slot_vaddr);

	if (!ri)
		return returns_new(ps, slot_vaddr);
	returns_count(ri, MISSED_SKIPPED);
	returns_unlink(ri);
	returns_clear_entries(ri);
	ri->missed = MISSED_N;
	ri->disarm_sp = ri->outer = 0;
	return ri;
}

struct return_instance *hijack_take(struct tracee *t, uint64_t slot_vaddr)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t at = 0;
	struct guard_hijack entry = hijack_find(space, slot_vaddr, &at);
	struct return_instance *ri;
	struct hijack_chain chain;

	if (!entry.word || !entry.real || !plant_site_of_slot(space, entry.back))
		return NULL;
	hijack_read_chain(ps, space, &entry, &chain);
	ri = instance_at(ps, slot_vaddr);
	if (!ri)
		return NULL;
	if (add_entry(space, ri, &entry) < 0 || add_chain(space, ri, &chain) < 0) {
		/* It stays what it is: its detour brings it home. */
		ri->uncounted = true;
		returns_drop(ps, ri);
		return NULL;
	}
	ri->real = entry.real;
	ri->tid = t->tid;
	ri->serial = ++ps->ret->n_ever;
	if (returns_arm(space, ri, t->tid) < 0) {
		returns_forget(ps, ri);
		map_remove(&ps->ret->by_slot, slot_vaddr);
		returns_free_one(ri);
		return NULL;
	}
	hijack_end_chain(space, t->tid, &chain, true);
	hijack_set_given_back(space, t->tid, at, ps->ret->trampoline);
	returns_link_in_place(&t->probes->returns, ri);
	return ri;
}

uint64_t hijack_duration(const struct space *space, uint64_t sp, uint64_t back)
{
	size_t word = space->arch->addr_size;

	/* Right below the stack pointer, unless the callee popped its arguments; or at it. */
	for (uint64_t down = return_ops(space)->word_below(space->arch); down <= RET_POPS_MAX;
	     down += word) {
		uint64_t at;
		struct guard_hijack entry = hijack_find(space, sp - down, &at);
		struct hijack_chain chain;

		if (!entry.word)
			continue;
		if (!entry.real && entry.back == back)
			return entry.time;
		hijack_read_chain(space->plant, space, &entry, &chain);
		for (unsigned i = 0; i < UBP_CHAIN_MAX; i++)
			if (chain.level[i].entry.word && !chain.level[i].entry.real &&
			    chain.level[i].entry.back == back)
				return chain.level[i].entry.time;
	}
	return 0;
}
