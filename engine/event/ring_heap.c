/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/ring_heap.h"

#include <stdlib.h>

#include "engine/base/vec.h"
#include "engine/event/ring_priv.h"

static bool is_before(const struct ring_set *set, size_t a, size_t b)
{
	return set->heap[a]->front.record.time < set->heap[b]->front.record.time;
}

static void swap(struct ring_set *set, size_t a, size_t b)
{
	struct ring *ring = set->heap[a];

	set->heap[a] = set->heap[b];
	set->heap[b] = ring;
}

static void rise(struct ring_set *set, size_t i)
{
	for (; i && is_before(set, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(set, i, (i - 1) / 2);
}

static void sink(struct ring_set *set, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= set->n_heap)
			return;
		if (child + 1 < set->n_heap && is_before(set, child + 1, child))
			child++;
		if (!is_before(set, child, i))
			return;
		swap(set, child, i);
		i = child;
	}
}

bool ring_heap_add(struct ring_set *set, struct ring *ring)
{
	if (VEC_ROOM(set->heap, &set->cap_heap, set->n_heap) < 0)
		return false;
	set->heap[set->n_heap] = ring;
	rise(set, set->n_heap++);
	return true;
}

void ring_heap_sink(struct ring_set *set)
{
	sink(set, 0);
}

static void remove_at(struct ring_set *set, size_t i)
{
	if (i == --set->n_heap)
		return;
	set->heap[i] = set->heap[set->n_heap];
	sink(set, i);
	rise(set, i);
}

void ring_heap_take(struct ring_set *set)
{
	remove_at(set, 0);
}

void ring_heap_remove(struct ring_set *set, struct ring *ring)
{
	for (size_t i = 0; i < set->n_heap; i++) {
		if (set->heap[i] == ring) {
			remove_at(set, i);
			return;
		}
	}
}
