/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of threads. What it holds is known here by .slots; the shared words are
 * written, and read only to follow the order that searches go in.
 *
 * Threads of the target search while entries come and go. A search passes what is
 * RING_KEY_GONE and ends at RING_KEY_NONE, so an entry becomes NONE again only where the next
 * one is: no search that finds something went past it. So each run of entries ends in one that is
 * taken, and a table of few rings never fills up with what is gone.
 *
 * Once threads make claims they take places themselves, and nobody can tell what the next one is for more than a
 * moment. So then an entry becomes RING_KEY_FREE, and is taken again by who comes by: the first such place that
 * it finds. Who has an entry finds it as soon as before; who has none may have to look at all.
 */

#include <errno.h>

#include "engine/event/ring_priv.h"

#define NEXT(slot) (((slot) + 1) % RING_THREADS)
#define PREV(slot) (((slot) + RING_THREADS - 1) % RING_THREADS)

static uint64_t key_at(const struct ring_space *space, uint32_t slot)
{
	return __atomic_load_n(&ring_threads(space)[slot].key, __ATOMIC_RELAXED);
}

/* Threads take places, too: it must be nobody's. */
static bool take(struct ring_space *space, uint32_t slot, uint64_t key)
{
	uint64_t there = key_at(space, slot);

	return (there == RING_KEY_NONE || there == RING_KEY_FREE || there == RING_KEY_GONE) &&
	       __atomic_compare_exchange_n(&ring_threads(space)[slot].key, &there,
					   ring_key_busy(key), false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

int ring_table_place(struct ring_space *space, uint64_t key, uint32_t *ret_slot)
{
	uint32_t slot = (uint32_t)ring_hash(key);

	for (uint32_t n = 0; n < RING_THREADS; n++, slot = NEXT(slot)) {
		if (!map_get(&space->slots, slot) &&
		    (!space->claims || take(space, slot, key))) {
			*ret_slot = slot;
			return 0;
		}
	}
	return -ENOSPC;
}

void ring_table_release(struct ring_space *space, uint32_t slot)
{
	struct ring_thread *threads = ring_threads(space);

	(void)map_remove(&space->slots, slot);
	if (space->claims) {
		__atomic_store_n(&threads[slot].key, RING_KEY_FREE, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&threads[slot].key, RING_KEY_GONE, __ATOMIC_RELEASE);
	if (key_at(space, NEXT(slot)) != RING_KEY_NONE)
		return;
	for (uint32_t n = 0; n < RING_THREADS; n++, slot = PREV(slot)) {
		if (map_get(&space->slots, slot) || key_at(space, slot) == RING_KEY_NONE)
			return;
		__atomic_store_n(&threads[slot].key, RING_KEY_NONE, __ATOMIC_RELEASE);
	}
}

void ring_quick_begin(struct ring_space *space)
{
	ring_quick_of(space, 0)->thread_pointer = UINT64_MAX;
}

void ring_quick_put(struct ring *ring, uint32_t self)
{
	uint64_t thread_pointer = ring->key - ring_key(0);
	struct ring_quick *quick = ring_quick_of(ring->space, thread_pointer);

	ring_quick_end(ring);
	if (__atomic_load_n(&quick->thread_pointer, __ATOMIC_RELAXED) != 0)
		return;
	__atomic_store_n(&quick->ring, ring_vaddr(ring), __ATOMIC_RELAXED);
	__atomic_store_n(&quick->self, self, __ATOMIC_RELAXED);
	__atomic_store_n(&quick->thread_pointer, thread_pointer, __ATOMIC_RELEASE);
	ring->is_quick = true;
}

void ring_quick_end(struct ring *ring)
{
	/* The thread itself, which may be the one that is told from others no longer, is stopped, or has ended. */
	if (ring->is_quick)
		__atomic_store_n(
			&ring_quick_of(ring->space, ring->key - ring_key(0))->thread_pointer, 0,
			__ATOMIC_RELEASE);
	ring->is_quick = false;
}
