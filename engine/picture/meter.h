/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is shown while a trace runs: of each function, hits and latencies so far. Bounded by PICTURE_KEYS_MAX. */

#ifndef UBP_PICTURE_METER_H
#define UBP_PICTURE_METER_H

#include <stddef.h>
#include <stdint.h>

struct event_record;
struct meter;
struct spec_probe;

#define METER_OCTAVES 64

struct meter_row {
	const char *name; /* the meter's, until the next record */
	uint64_t hits;
	uint64_t calls, max_ns;          /* with a latency; the longest */
	uint64_t p50_ns, p99_ns;         /* to an eighth */
	uint64_t octaves[METER_OCTAVES]; /* calls of 2^i to 2^(i+1) ns; of 0 and 1 the first */
};

/* NULL: memory is short. */
struct meter *meter_new(void);
void meter_free(struct meter *meter); /* NULL is fine */
/* As calls_add_probe() and calls_add(), for which @weight hits (0: one) are counted. 0 or -ENOMEM. */
int meter_add_probe(struct meter *meter, const struct spec_probe *probe);
int meter_add(struct meter *meter, const struct spec_probe *probe,
	      const struct event_record *record, uint64_t weight);

/* How many functions there are, those of probes without a hit, too; and one of them. */
size_t meter_n(const struct meter *meter);
void meter_row(const struct meter *meter, size_t i, struct meter_row *ret_row);

#endif
