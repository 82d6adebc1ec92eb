/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A heap of things, the one with the least key on top. Keys stand beside the things, so that ordering looks at neither. */

#ifndef UBP_BASE_HEAP_H
#define UBP_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	uint64_t key;
	void *item;
};

/* Zero-initialise. .v[0] is the topmost, if .n is not 0. */
struct heap {
	struct heap_entry *v;
	size_t n, cap;
};

/* False: no memory for it now. */
bool heap_add(struct heap *heap, uint64_t key, void *item);
/* The topmost has a later key now; or goes. */
void heap_sink(struct heap *heap, uint64_t key);
void heap_take(struct heap *heap);
/* Wherever it is. */
void heap_remove(struct heap *heap, const void *item);
/* Not the things in it. */
void heap_free(struct heap *heap);

#endif
