/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The fields of events: those of their own, and those that every event has. What a histogram's texts name.
 */

#ifndef UBP_TRIGGER_FIELD_H
#define UBP_TRIGGER_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_record;
struct pool;
struct spec_probe;

enum field_form {
	FIELD_NUMBER,
	FIELD_TEXT,       /* a string of any length */
	FIELD_FIXED_TEXT, /* one with room for .size bytes */
	FIELD_STACK,      /* return addresses: a synthetic event's */
	FIELD_ARRAY,      /* cannot be used */
	FIELD_CPU,        /* cpu, CPU: names without a place in the record */
	FIELD_TRACE,      /* stacktrace, STACKTRACE */
	FIELD_COMM,       /* comm, COMM: of filters only */
};

enum field_source {
	FIELD_IN_DATA, /* at .at of the record's data */
	FIELD_IP,
	FIELD_FUNC,
	FIELD_TID,
	FIELD_FIXED, /* .at is the value */
};

struct trigger_field {
	const char *name;
	const char *type; /* as the kernel calls it */
	enum field_form form;
	enum field_source source;
	unsigned size;
	bool is_signed;
	uint32_t at;
};

/* The fields of the event that @probe describes, number @type of all events, from @pool: with addresses if it is @probed. NULL: memory is short. */
struct trigger_field *field_all(struct pool *pool, const struct spec_probe *probe,
				unsigned type, bool probed, size_t *ret_n);

/* A number, extended to 64 bits. */
uint64_t field_number(const struct trigger_field *field, const struct event_record *record);
/* A string; unreadable ones are empty. *ret_len is without its NUL. */
const char *field_string(const struct trigger_field *field, const struct event_record *record,
			 size_t *ret_len);
/* The entries of a stack; the record's own with @field NULL. */
const uint64_t *field_stack(const struct trigger_field *field,
			    const struct event_record *record, size_t *ret_n);

#endif
