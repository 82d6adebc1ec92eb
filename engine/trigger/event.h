/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * An event as triggers know it: its fields, its list of triggers, and whether it is recorded.
 */

#ifndef UBP_TRIGGER_EVENT_H
#define UBP_TRIGGER_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/trigger/field.h"
#include "engine/trigger/pool.h"

struct filter;
struct spec_probe;
struct synth;
struct trigger;

struct trigger_event {
	const char *group, *name;
	struct pool pool;
	struct spec_probe *probe; /* the fields as filters see them */
	struct trigger_field *fields;
	size_t n_fields;
	unsigned type;            /* its number */
	struct synth *synth;      /* NULL: it is no synthetic event */
	struct trigger *triggers; /* in list order */
	struct filter *filter;    /* of the event itself: what is recorded */
	bool is_on;               /* somebody wants its hits */
	bool is_soft;             /* triggers of its own or of others do */
	bool is_muted;            /* it is not recorded */
	bool needs_record;        /* triggers are carried out when the values are known */
	unsigned n_soft;          /* who wants it soft */
	unsigned n_triggers;
};

/* Number @type. @probe is copied; @probed: hits have addresses. NULL: memory is short. */
struct trigger_event *event_new(const char *group, const char *name,
				const struct spec_probe *probe, unsigned type, bool probed);
/* Its triggers have gone. NULL is fine. */
void event_free(struct trigger_event *event);

/* NULL: there is none such. Own fields hide those that all events have. */
const struct trigger_field *event_field(const struct trigger_event *event, const char *name);

/* Wanted or not any more: @soft, by a trigger; else as written to "enable". */
void event_switch(struct trigger_event *event, bool on, bool soft);
/* What "enable" reads, without the newline: 0 1 0* 1* */
const char *event_state(const struct trigger_event *event);
/* One trigger more, one less. */
void event_hold(struct trigger_event *event);
void event_release(struct trigger_event *event);

#endif
