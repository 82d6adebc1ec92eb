/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: what is shown while a trace runs. Of each function that has probes: hits so far, and latencies of its calls,
 * where it has an entry and a return probe, or $duration.
 *
 *	ubp_meter_new(session, &meter, &err);
 *	in ubp_dispatch()'s function: ubp_meter_event(meter, event);
 *	now and then: for (i = 0; i < ubp_meter_n(meter); i++) ubp_meter_row(meter, i, &row);
 *	ubp_meter_free(meter);
 */

#ifndef UBP_METER_H
#define UBP_METER_H

#include <stddef.h>
#include <stdint.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ubp_meter;

/* Of @session, which must live longer, with all probes that it has. Returns 0 or -ENOMEM. */
int ubp_meter_new(struct ubp_session *session, struct ubp_meter **ret_meter,
		  struct ubp_err *err);
void ubp_meter_free(struct ubp_meter *meter); /* NULL is fine */

void ubp_meter_event(struct ubp_meter *meter, const struct ubp_event *event);

#define UBP_METER_OCTAVES 64

struct ubp_meter_row {
	const char *
		name; /* of the function's events, escaped as in ubp_event.h; until the next event */
	uint64_t hits;
	uint64_t calls, max_ns;  /* that have a latency; the longest */
	uint64_t p50_ns, p99_ns; /* to an eighth */
	uint64_t octaves
		[UBP_METER_OCTAVES]; /* calls of 2^i to 2^(i+1) nanoseconds; of 0 and 1 the first */
};

size_t ubp_meter_n(const struct ubp_meter *meter);
void ubp_meter_row(const struct ubp_meter *meter, size_t i, struct ubp_meter_row *ret_row);
/* Events that were lost so far. */
uint64_t ubp_meter_lost(const struct ubp_meter *meter);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
