/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Event records for tests of what reads them. */

#ifndef UBP_TESTS_RECORD_MAKE_H
#define UBP_TESTS_RECORD_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/event/record.h"
#include "engine/spec/spec.h"

/* A record with room for the most data and stack, cleared. free() it. NULL: no memory. */
struct event_record *record_make(void);

/* The hit of the corpus's trace samples, with a fixed area of zeros for @probe. */
void record_clear(struct event_record *record, const struct spec_probe *probe);

/* Element @i of arg @n. A string is put behind the data that there is. */
void record_put(struct event_record *record, const struct spec_probe *probe, size_t n, size_t i,
		uint64_t value);
void record_put_string(struct event_record *record, const struct spec_probe *probe, size_t n,
		       size_t i, const char *bytes, size_t len);

/* The user stack; last, since it goes behind the data. */
void record_put_stack(struct event_record *record, const uint64_t *stack, size_t n);

#endif
