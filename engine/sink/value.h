/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The values in a record's data, for sinks. A record that a trampoline in a
 * target wrote is not to be trusted: nothing here reads beyond the data.
 */

#ifndef UBP_SINK_VALUE_H
#define UBP_SINK_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event/record.h"
#include "engine/spec/spec.h"

/* Bytes of a string, without a NUL. */
struct sink_str {
	const uint8_t *bytes; /* NULL: it could not be read, "(fault)" */
	size_t len;
};

/* Elements of an arg: 1 for a scalar. */
size_t sink_n_values(const struct spec_arg *arg);

/* Element @i of a numeric or char arg, zero-extended. Outside of the data: 0. */
uint64_t sink_value(const struct event_record *record, const struct spec_arg *arg, size_t i);

/* Element @i of a numeric or char arg, sign-extended from the type's size. */
int64_t sink_signed_value(const struct event_record *record, const struct spec_arg *arg,
			  size_t i);

/*
 * Is element @i of a numeric arg a fault, and not a number? Only where the kernel has no such arg, entry(): its own are 0 then.
 */
bool sink_is_fault(const struct event_record *record, const struct spec_arg *arg, size_t i);

/* Could the memory of element @i of a numeric arg be read? True where that is not told (struct spec_arg.read_at). */
bool sink_is_read(const struct event_record *record, const struct spec_arg *arg, size_t i);

/* Element @i of a string arg. */
struct sink_str sink_string(const struct event_record *record, const struct spec_arg *arg,
			    size_t i);

/* The record's user stack: .n_stack entries behind the data. */
uint64_t sink_stack_entry(const struct event_record *record, size_t i);

#endif
