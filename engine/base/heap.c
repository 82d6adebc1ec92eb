/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/heap.h"

#include <stdlib.h>

#include "engine/base/vec.h"

static void swap(struct heap *heap, size_t a, size_t b)
{
	struct heap_entry entry = heap->v[a];

	heap->v[a] = heap->v[b];
	heap->v[b] = entry;
}

static void rise(struct heap *heap, size_t i)
{
	for (; i && heap->v[i].key < heap->v[(i - 1) / 2].key; i = (i - 1) / 2)
		swap(heap, i, (i - 1) / 2);
}

static void sink(struct heap *heap, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= heap->n)
			return;
		if (child + 1 < heap->n && heap->v[child + 1].key < heap->v[child].key)
			child++;
		if (heap->v[child].key >= heap->v[i].key)
			return;
		swap(heap, child, i);
		i = child;
	}
}

bool heap_add(struct heap *heap, uint64_t key, void *item)
{
	if (VEC_ROOM(heap->v, &heap->cap, heap->n) < 0)
		return false;
	heap->v[heap->n] = (struct heap_entry){ key, item };
	rise(heap, heap->n++);
	return true;
}

void heap_sink(struct heap *heap, uint64_t key)
{
	heap->v[0].key = key;
	sink(heap, 0);
}

static void remove_at(struct heap *heap, size_t i)
{
	if (i == --heap->n)
		return;
	heap->v[i] = heap->v[heap->n];
	sink(heap, i);
	rise(heap, i);
}

void heap_take(struct heap *heap)
{
	remove_at(heap, 0);
}

void heap_remove(struct heap *heap, const void *item)
{
	for (size_t i = 0; i < heap->n; i++) {
		if (heap->v[i].item == item) {
			remove_at(heap, i);
			return;
		}
	}
}

void heap_free(struct heap *heap)
{
	free(heap->v);
	*heap = (struct heap){ 0 };
}
