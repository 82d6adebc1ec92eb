/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Tables behind rings, in which threads count (engine/base/tally_table.h). */

#ifndef UBP_EVENT_RING_TALLY_H
#define UBP_EVENT_RING_TALLY_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/base/tally_table.h"

struct ring_set;
struct ring_time;

/* What a thread has counted so far of one key (engine/base/tally_table.h). */
struct ring_count {
	uint32_t probe; /* its number, less than ring_set_n_probes() */
	pid_t pid, tid;
	const char *comm;
	uint64_t hits;
	uint64_t *words;        /* of a table's entry; zeros if it is none's */
	struct ring_time *time; /* what ticks are, in there */
};

typedef void ring_count_fn(void *ctx, const struct ring_count *count);

/*
 * Before the first space: tables lie behind each ring, with entries of @slot bytes. What was counted there when a ring's thread is gone is
 * told to @counted, by the delivering thread.
 */
void ring_set_tally(struct ring_set *set, uint32_t slot, ring_count_fn *counted, void *ctx);
/* What threads that have a ring have counted since they have it; nobody is told twice, as .counted is told of the others. */
void ring_set_count(struct ring_set *set, ring_count_fn *fn, void *ctx);
/* For struct detour_plan. */
struct tally_place ring_set_tally_place(const struct ring_set *set);

#endif
