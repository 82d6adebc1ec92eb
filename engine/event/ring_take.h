/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records of rings as they are, ring by ring, for who keeps them to look at them later. The delivering thread's. */

#ifndef UBP_EVENT_RING_TAKE_H
#define UBP_EVENT_RING_TAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/event/ring_time.h"

struct event_record;
struct ring;
struct ring_set;

/* One record. Its bytes are the target's to write: nothing that was not copied may be believed. */
struct ring_taken {
	pid_t pid, tid;
	const char *comm; /* of 16 bytes */
	uint32_t maps;    /* as event_record.maps */
	uint32_t probe;   /* below what ring_set_n_probes() said */
	uint32_t size;    /* of the record */
	uint32_t n_stack; /* entries of a stack behind its data */
	uint64_t position;
	const void *bytes;
	const void
		*source; /* tells one thread's records from those of others, while it lives */
	struct ring_set *set; /* for ring_taken_record() */
	const struct ring *ring;
};

/* False: there is no room. The record stays where it is, and this look is over. */
typedef bool ring_take_fn(void *ctx, const struct ring_taken *taken);

/*
 * Behind ring_set_drain(), in place of ring_set_next(): all that is complete, those of one thread in the order in which it wrote
 * them. What is not taken stays for the next call.
 */
void ring_set_take(struct ring_set *set, ring_take_fn *fn, void *ctx);
/* The same record as ring_set_next() would hand it out; until the next call. */
const struct event_record *ring_taken_record(const struct ring_taken *taken);
/* The readings of ticks and clock that the last two looks made; and nanoseconds of a tick, 0: not known yet. */
double ring_set_readings(const struct ring_set *set, struct ring_time_sample readings[2]);

#endif
