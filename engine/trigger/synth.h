/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Synthetic events: defined by a list of fields, made by what histograms do. To triggers and filters their hits are
 * records like others.
 */

#ifndef UBP_TRIGGER_SYNTH_H
#define UBP_TRIGGER_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_record;
struct sink_buf;
struct trigger_event;
struct trigger_set;

#define SYNTH_GROUP      "synthetic"
#define SYNTH_FIELDS_MAX 64
#define SYNTH_TEXT_MAX   256

struct synth_field {
	const char *name;
	const char *type; /* as listed */
	const char *kernel_type;
	unsigned size;
	bool is_signed;
	bool is_string, is_dynamic, is_stack;
};

struct synth {
	struct synth_field fields[SYNTH_FIELDS_MAX];
	size_t n_fields;
	unsigned n_users; /* actions and histograms */
};

/* A value for a field: .bytes for strings and stacks, NULL where there are none. */
struct synth_value {
	uint64_t number;
	const void *bytes;
	size_t len;
};

/* The files synthetic_events and, of dynamic_events, the part that is about synthetic events. */
int synth_write(struct trigger_set *set, const char *text, size_t len);
int synth_write_dynamic(struct trigger_set *set, const char *text, size_t len);
/* Opening synthetic_events with O_TRUNC: all go, or none. */
int synth_truncate(struct trigger_set *set);
void synth_read(const struct trigger_set *set, struct sink_buf *out);
void synth_read_dynamic(const struct trigger_set *set, struct sink_buf *out);
/* The file "format" of a synthetic event. */
void synth_format(const struct trigger_event *event, struct sink_buf *out);

struct trigger_event *synth_find(const struct trigger_set *set, const char *name);

/* The event with one value for each field happens at the place and time of @hit, in each set that has it. */
void synth_happen(struct trigger_set *set, struct trigger_event *event,
		  const struct synth_value *values, const struct event_record *hit);
/* What the trace says of @record behind "COMM-PID...: ": NAME: FIELD=VALUE... */
void synth_text(const struct trigger_set *set, const struct trigger_event *event,
		const struct event_record *record, struct sink_buf *out);

#endif
