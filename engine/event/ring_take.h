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

/* So many probes may have records in one stretch. */
#define RING_TAKEN_PROBES 8

/*
 * One record, or a stretch of records that lie behind each other. Bytes are the target's to write: nothing that was not copied may be
 * believed.
 */
struct ring_taken {
	pid_t pid, tid;
	const char *comm; /* of 16 bytes */
	uint32_t maps;    /* as event_record.maps */
	uint32_t probe;   /* below what ring_set_n_probes() said */
	uint32_t size;    /* of all of them */
	/* How many there are of each probe; one of .probe comes first. */
	struct ring_taken_count {
		uint32_t probe, n;
	} counts[RING_TAKEN_PROBES];
	unsigned n_counts;
	uint32_t n_stack; /* entries of a stack behind its data */
	uint64_t position;
	const void *bytes;
	const void
		*source; /* tells one thread's records from those of others, while it lives */
	struct ring_set *set; /* for ring_taken_record() */
	const struct ring *ring;
};

/* False: there is no room. What was to be taken stays where it is, and this look is over. */
typedef bool ring_take_fn(void *ctx, const struct ring_taken *taken);
/* Nobody has to look at each record of that probe: several may be taken at once. Not those that have a stack. */
typedef bool ring_plain_fn(void *ctx, uint32_t probe);

/*
 * Behind ring_set_drain(), in place of ring_set_next(): all that is complete, those of one thread in the order in which it wrote
 * them. What is not taken stays for the next call.
 */
void ring_set_take(struct ring_set *set, ring_plain_fn *is_plain, ring_take_fn *fn, void *ctx);
/* The same record as ring_set_next() would hand it out, of one that is not plain; until the next call. */
const struct event_record *ring_taken_record(const struct ring_taken *taken);
/* The readings of ticks and clock that the last two looks made; and nanoseconds of a tick, 0: not known yet. */
double ring_set_readings(const struct ring_set *set, struct ring_time_sample readings[2]);

#endif
