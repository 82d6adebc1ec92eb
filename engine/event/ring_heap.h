/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The rings of a set that have a record to give, the oldest on top. */

#ifndef UBP_EVENT_RING_HEAP_H
#define UBP_EVENT_RING_HEAP_H

#include <stdbool.h>

struct ring;
struct ring_set;

/* False: no memory for it now. */
bool ring_heap_add(struct ring_set *set, struct ring *ring);
/* The topmost has a later record now; or none. */
void ring_heap_sink(struct ring_set *set);
void ring_heap_take(struct ring_set *set);
/* Wherever it is. */
void ring_heap_remove(struct ring_set *set, struct ring *ring);

#endif
