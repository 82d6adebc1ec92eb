/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Which of a probe's hits are told of or counted, where not all are: each Nth, or those at which an argument, added up over all
 * hits, gets past the next multiple of a size. Each thread has a counter for each probe, and begins at 0.
 *
 * A hit adds its step to the counter: 1, or the argument, at most .every. Where the counter is then .every or more the hit is
 * taken, and .every is subtracted. So a hit whose argument is .every or more is always taken, and any other one with a probability of
 * argument / .every: what one that is taken stands for is sample_weight().
 *
 * A thread with a ring has its counters in memory behind that (struct sample_word), which detours and ubp reach. One without has them in
 * ubp, which hands them over when there is a ring.
 */

#ifndef UBP_BASE_SAMPLE_PLAN_H
#define UBP_BASE_SAMPLE_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/tally_plan.h"

#define SAMPLE_EVERY_MAX INT32_MAX

struct sample_plan {
	uint32_t every; /* from 1 to SAMPLE_EVERY_MAX */
	bool has_field; /* it is added up; else hits are counted */
	struct tally_field
		field; /* of the record's data, a number; where it is negative it counts 0 */
};

/*
 * The counter is the sum of both, each of which may be negative. A thread changes .used by single instructions that need no lock, for
 * nobody else writes it; ubp changes .given.
 */
struct sample_word {
	int64_t used, given;
};

/* Probes with higher numbers have no words, and no detours. */
#define SAMPLE_WORDS 32768U
/* Bytes behind each ring. */
#define SAMPLE_AREA (SAMPLE_WORDS * sizeof(struct sample_word))

_Static_assert(SAMPLE_AREA % 4096 == 0, "areas are whole pages");

static inline uint64_t sample_value(const struct tally_field *field, const uint8_t *data)
{
	uint64_t value = 0;

	memcpy(&value, data + field->at, field->size);
	if (field->is_signed && value >> (8 * field->size - 1))
		return 0;
	return value;
}

/* What a hit with this data adds. */
static inline uint32_t sample_step(const struct sample_plan *plan, const uint8_t *data)
{
	uint64_t value = plan->has_field ? sample_value(&plan->field, data) : 1;

	return value < plan->every ? (uint32_t)value : plan->every;
}

/* Of how many hits, or how much of the argument, one that was taken tells. */
static inline uint64_t sample_weight(const struct sample_plan *plan, const uint8_t *data)
{
	uint64_t value = plan->has_field ? sample_value(&plan->field, data) : 0;

	return value > plan->every ? value : plan->every;
}

#endif
