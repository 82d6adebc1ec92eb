/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The fields of a synthetic event's definition. For synth.c. */

#ifndef UBP_TRIGGER_SYNTH_PARSE_H
#define UBP_TRIGGER_SYNTH_PARSE_H

#include "engine/trigger/synth.h"

struct pool;

/* @fields is "TYPE FIELD; ..."; texts come from @pool. */
int synth_parse_fields(struct trigger_set *set, struct pool *pool, struct synth *synth,
		       char *fields);
/* What it takes for @event. */
void synth_read_fields(const struct trigger_event *event, struct sink_buf *out);
/* Letters, digits and _, no digit first. */
bool synth_is_name(const char *name);
int synth_form_error(struct trigger_set *set);

#endif
