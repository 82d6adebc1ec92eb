/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A flight recorder's memory: of each thread the newest records, as many bytes as were asked for, whatever other threads do. Looks and their parts are
 * those of format.h; the writer (writer.h) makes a file of them when somebody wants one.
 *
 *   for each look: kept_look_begin(), kept_take() and kept_add_stop(), kept_look_end()
 *   kept_each()
 */

#ifndef UBP_RECORDING_KEPT_H
#define UBP_RECORDING_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event/record.h"
#include "engine/event/ring_take.h"
#include "engine/recording/format.h"

/* So many threads may have all that a thread can have. Beyond that the thread goes first whose newest record is the oldest. */
#define KEPT_THREADS 256

struct recording_kept;

/* @per_thread: bytes. NULL: out of memory. */
struct recording_kept *kept_new(uint64_t per_thread);
void kept_free(struct recording_kept *kept); /* NULL is fine */

/* @look: its readings; the rest is not looked at. False: memory is short, and nothing may be added. */
bool kept_look_begin(struct recording_kept *kept, const struct recording_look *look);
/* @source: as in struct recording_part. False: memory is short. */
bool kept_take(struct recording_kept *kept, const struct ring_taken *taken, uint32_t source);
bool kept_add_stop(struct recording_kept *kept, const struct event_record *record);
void kept_look_end(struct recording_kept *kept, uint64_t known_until);

/* One stretch of records; of a look they come one after the other, and looks in their order. */
struct kept_told {
	const struct recording_look *look; /* .known_until is right, .n_parts is not */
	const struct recording_part *part;
	const void *bytes;
	bool is_last; /* of its look */
};

/* All that is there; it stays. Ends with the first result that is not 0, which is returned. Between looks. */
int kept_each(const struct recording_kept *kept,
	      int (*fn)(void *ctx, const struct kept_told *told), void *ctx);
/* Hits that are there. */
uint64_t kept_n_records(const struct recording_kept *kept);
/* What it takes of memory. */
uint64_t kept_bytes(const struct recording_kept *kept);

#endif
