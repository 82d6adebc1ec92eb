/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What threads count in their tables (base/tally_table.h): read by the delivering thread, while they count on. An area is
 * the target's to write: whatever is there are numbers, which index nothing.
 */

#include "engine/event/ring_tally.h"

#include <string.h>
#include <sys/mman.h>

#include "engine/event/ring_priv.h"

#define WORDS_MAX (TALLY_SLOT_MAX / 8)

/* Address space of the rings of one target; hardly any table takes all of its room. */
#define REGION_MAX (1ULL << 36)

/* In programs of 32 bits there is no room for areas. */
static uint8_t *area_of(const struct ring *ring)
{
	uint64_t at = ring_plain_stride(ring->space->set);

	return ring->space->stride > at ? ring->bytes + at : NULL;
}

static uint64_t mask_of(const struct ring *ring, uint64_t len)
{
	return len - ring->space->set->tally.slot;
}

/* Tables end before that, the one in use included. As ubp has said, unless the target wrote that. */
static uint64_t end_of(const struct ring *ring, const uint8_t *area)
{
	const struct tally_area *head = (const struct tally_area *)area;
	uint64_t mask = __atomic_load_n(&head->mask, __ATOMIC_RELAXED), len = TALLY_FIRST;

	while (len < TALLY_TABLES_END / 2 && mask_of(ring, len) < mask)
		len *= 2;
	return 2 * len - TALLY_FIRST;
}

void ring_tally_begin(struct ring *ring)
{
	uint8_t *area = area_of(ring);

	if (area)
		__atomic_store_n(&((struct tally_area *)area)->mask, mask_of(ring, TALLY_FIRST),
				 __ATOMIC_RELEASE);
}

/* Of those in front, the thread may not have seen yet that there is a larger table. */
void ring_tally_grow(struct ring *ring)
{
	struct tally_area *area = (struct tally_area *)area_of(ring);
	uint64_t len;

	if (!area || ring->tail < ring->grown)
		return;
	len = (end_of(ring, (uint8_t *)area) + TALLY_FIRST) / 2;
	if (4 * len - TALLY_FIRST > TALLY_TABLES_END)
		return;
	__atomic_store_n(&area->mask, mask_of(ring, 2 * len), __ATOMIC_RELEASE);
	ring->grown =
		__atomic_load_n(&ring_threads(ring->space)[ring->slot].head, __ATOMIC_ACQUIRE);
}

/* --- reading ----------------------------------------------------------------------------- */

static void tell(const struct ring *ring, struct ring_count *count, uint64_t number,
		 ring_count_fn *fn, void *ctx)
{
	if (number >= atomic_load(&ring->space->set->n_probes) || !count->hits)
		return;
	count->probe = (uint32_t)number;
	fn(ctx, count);
}

static void read_counters(const struct ring *ring, const uint8_t *area,
			  struct ring_count *count, ring_count_fn *fn, void *ctx)
{
	const uint64_t *counters = (const uint64_t *)(area + TALLY_COUNTERS_AT);
	unsigned n = atomic_load(&ring->space->set->n_probes);

	for (unsigned i = 0; i < n && i < TALLY_COUNTERS; i++) {
		count->hits = __atomic_load_n(&counters[i], __ATOMIC_RELAXED);
		tell(ring, count, i, fn, ctx);
	}
}

/* Where there are no entries nothing is looked at: a look gives a page memory. */
static void read_tables(const struct ring *ring, const uint8_t *area, struct ring_count *count,
			ring_count_fn *fn, void *ctx)
{
	uint32_t slot = ring->space->set->tally.slot;
	uint64_t end = end_of(ring, area) + TALLY_STEPS * slot;

	if (!__atomic_load_n(&((const struct tally_area *)area)->n, __ATOMIC_ACQUIRE))
		return;
	for (uint64_t at = 0; at < end; at += slot) {
		const struct tally_entry *entry =
			(const struct tally_entry *)(area + TALLY_TABLES_AT + at);

		if (__atomic_load_n(&entry->tag, __ATOMIC_ACQUIRE) <= TALLY_TAG_BUSY)
			continue;
		count->hits = __atomic_load_n(&entry->hits, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < slot / 8 - 2; i++)
			count->words[i] = __atomic_load_n(&entry->words[i], __ATOMIC_RELAXED);
		tell(ring, count, count->words[0], fn, ctx);
	}
}

static void read_all(const struct ring *ring, ring_count_fn *fn, void *ctx)
{
	uint64_t words[WORDS_MAX] = { 0 };
	const uint8_t *area = area_of(ring);
	struct ring_count count = { .pid = ring->pid,
				    .tid = ring->tid,
				    .comm = ring->comm,
				    .words = words,
				    .time = &ring->space->set->time };

	if (!area || !fn || atomic_load_explicit(&ring->mute, memory_order_relaxed))
		return;
	read_counters(ring, area, &count, fn, ctx);
	read_tables(ring, area, &count, fn, ctx);
}

void ring_tally_end(struct ring *ring)
{
	struct ring_set *set = ring->space->set;
	uint8_t *area = area_of(ring);

	if (!area)
		return;
	read_all(ring, set->tally.counted, set->tally.ctx);
	(void)madvise(area, TALLY_AREA, MADV_REMOVE);
}

void ring_set_count(struct ring_set *set, ring_count_fn *fn, void *ctx)
{
	struct ring_space *space;

	if (!set->tally.slot)
		return;
	pthread_mutex_lock(&set->lock);
	space = set->spaces;
	pthread_mutex_unlock(&set->lock);
	/* Only we take some out. */
	for (; space; space = space->next) {
		uint32_t n = atomic_load_explicit(&space->n_used, memory_order_acquire);

		for (uint32_t i = 0; i < n; i++) {
			struct ring *ring = &space->rings[i];
			uint32_t state =
				atomic_load_explicit(&ring->state, memory_order_acquire);

			if (state != RING_LIVE && state != RING_GONE)
				continue;
			ring_look_at_comm(ring, set->looked_ns);
			read_all(ring, fn, ctx);
		}
	}
}

void ring_set_tally(struct ring_set *set, uint32_t slot, ring_count_fn *counted, void *ctx)
{
	set->tally = (struct ring_tallies){ .slot = slot, .counted = counted, .ctx = ctx };
	set->n_rings = ring_most(set, REGION_MAX);
}

struct tally_place ring_set_tally_place(const struct ring_set *set)
{
	struct tally_place place = { .samples = ring_samples_at(set) };

	if (!set->tally.slot)
		return place;
	place.at = (uint32_t)ring_plain_stride(set);
	place.slot = set->tally.slot;
	return place;
}
