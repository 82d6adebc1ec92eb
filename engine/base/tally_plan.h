/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is counted of a probe's hits in place of writing them out: a plan. Kept in base because rooms that do not know each
 * other use it: the instruction sets make code of it (arch/gen_tally.c), engine/tally carries it out on records. It says nothing of
 * the language that it was written in: triggers and the commands' short forms both end as plans.
 *
 * A hit belongs to the entry that has its key, up to three parts, and adds to that: one hit, and up to three values.
 * Numbers are widened to 64 bits, by their sign if they have one. Of a string TALLY_STRING_MAX bytes count; one that cannot be
 * read is empty.
 */

#ifndef UBP_BASE_TALLY_PLAN_H
#define UBP_BASE_TALLY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/num.h"

#define TALLY_KEYS       3
#define TALLY_VALUES     3
#define TALLY_STRING_MAX 255

/* Where a part of the key comes from. */
enum tally_source {
	TALLY_NUMBER, /* the record's data */
	TALLY_STRING,
	TALLY_CPU,
	/* What a thread does not change from hit to hit, or what the probe tells: tables need not have them. */
	TALLY_PID,
	TALLY_TID,
	TALLY_COMM,
	TALLY_EVENT,
	TALLY_FUNCTION, /* that the probe is in */
	/* What a record has beside its data: no table has it. */
	TALLY_STACK,
};

enum tally_scale {
	TALLY_PLAIN,
	TALLY_LOG2,    /* the smallest e with 2^e >= value, unsigned; of 0 and 1: 0 */
	TALLY_BUCKETS, /* value / .bucket, unsigned */
};

enum tally_kind { TALLY_SUM, TALLY_MIN, TALLY_MAX };

/* A number or string in a record's data (engine/base/fetch_op.h). */
struct tally_field {
	uint32_t at;
	uint8_t size; /* of a number: 1, 2, 4, 8 */
	bool is_signed;
	uint16_t arg; /* which one it is */
};

struct tally_key {
	enum tally_source source;
	enum tally_scale scale;
	uint64_t bucket; /* not 0 */
	struct tally_field field;
};

struct tally_value {
	enum tally_kind kind;
	struct tally_field field;
};

struct tally_plan {
	unsigned n_keys, n_values;
	uint32_t event;    /* what TALLY_EVENT is: several probes may have one */
	uint32_t function; /* what TALLY_FUNCTION is */
	uint32_t table;    /* which of the session's it adds to */
	bool is_told;      /* its hits are events, too: so they are recorded */
	bool has_first;    /* entries tell when their first hit came */
	struct tally_key keys[TALLY_KEYS];
	struct tally_value values[TALLY_VALUES];
};

/* Is it found out at each hit, so that a table's entry has it? */
static inline bool tally_key_is_in_table(const struct tally_key *key)
{
	return key->source <= TALLY_CPU;
}

/* Is a part of the key the stack of a hit? Then only records have it. */
static inline bool tally_has_stack(const struct tally_plan *plan)
{
	for (unsigned i = 0; i < plan->n_keys; i++)
		if (plan->keys[i].source == TALLY_STACK)
			return true;
	return false;
}

/* Does it take an entry in a table? Else a counter does. */
static inline bool tally_has_table(const struct tally_plan *plan)
{
	unsigned n = plan->n_values + plan->has_first;

	for (unsigned i = 0; i < plan->n_keys; i++)
		n += tally_key_is_in_table(&plan->keys[i]);
	return n != 0;
}

static inline uint64_t tally_scaled(const struct tally_key *key, uint64_t value)
{
	switch (key->scale) {
	case TALLY_LOG2:
		return num_log2(value);
	case TALLY_BUCKETS:
		return value / key->bucket;
	case TALLY_PLAIN:
		break;
	}
	return value;
}

/*
 * Minima and maxima are kept so that 0, what an entry begins with, is less than all others, and the larger one, unsigned, is the one to
 * keep. The same turns it back.
 */
static inline uint64_t tally_turned(const struct tally_value *value, uint64_t number)
{
	if (value->kind == TALLY_SUM)
		return number;
	if (value->field.is_signed)
		number ^= 1ULL << 63;
	return value->kind == TALLY_MIN ? ~number : number;
}

static inline uint64_t tally_turned_back(const struct tally_value *value, uint64_t kept)
{
	if (value->kind == TALLY_SUM)
		return kept;
	if (value->kind == TALLY_MIN)
		kept = ~kept;
	return value->field.is_signed ? kept ^ 1ULL << 63 : kept;
}

#endif
