/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What was counted by a plan (engine/base/tally_plan.h): entries by key. Counts come from records, which the plan is carried out on
 * here, and from tables that threads of targets fill by themselves (base/tally_table.h). Both make the same entries.
 * For one thread.
 */

#ifndef UBP_TALLY_TALLY_H
#define UBP_TALLY_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/tally_plan.h"
#include "engine/event/record.h"

struct tally;
struct ring_count;

/* One entry, as it is now. */
struct tally_row {
	uint64_t hits;
	uint64_t first; /* with .has_first: ns of the session's clock */
	uint64_t
		first_ticks; /* and the processor's ticks, in one nanosecond; 0: it was a record */
	uint64_t values[TALLY_VALUES];
	struct tally_part {
		uint64_t
			number; /* scaled; of TALLY_EVENT, _FUNCTION: as the plan says; _STACK: see below */
		const char *text; /* of TALLY_STRING and TALLY_COMM, NUL-ended; else NULL */
	} keys[TALLY_KEYS];
};

/*
 * Sources, scales, kinds of values and signs are those of @plan; where in the data a field is, each probe's own plan tells, if it is handed over below.
 * At most @size entries, 0: as many as there is memory for. NULL: out of memory.
 */
struct tally *tally_new(const struct tally_plan *plan, size_t size);
void tally_free(struct tally *tally);

/* A number for the stack of a record: of equal stacks the same. Without it all are 0. */
typedef uint64_t tally_stack_fn(void *ctx, const struct event_record *record);
void tally_set_stacks(struct tally *tally, tally_stack_fn *fn, void *ctx);

/* A number of a record, by its sign if it has one; 0: that is outside of its data. */
uint64_t tally_field_value(const struct tally_field *field, const struct event_record *record);
/* One hit. */
void tally_record(struct tally *tally, const struct tally_plan *its,
		  const struct event_record *record);
/* So many, of one thread. @count->words has what is in an entry of a table; with no key in tables and no value, nothing. */
void tally_count(struct tally *tally, const struct tally_plan *its,
		 const struct ring_count *count);
/* All that @from has, of the same plan. */
void tally_merge(struct tally *tally, const struct tally *from);

/* At most so many entries. */
size_t tally_size(const struct tally *tally);
size_t tally_n(const struct tally *tally);
/* Hits that made or found an entry; those that did not. */
uint64_t tally_hits(const struct tally *tally);
uint64_t tally_dropped(const struct tally *tally);
/* Entry @i, in the order in which they came. Valid until the next one comes. */
void tally_row(const struct tally *tally, size_t i, struct tally_row *ret_row);

#endif
