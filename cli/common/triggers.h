/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --trigger and --synthetic: triggers of what was defined, and their histograms at the end. */

#ifndef UBP_CLI_COMMON_TRIGGERS_H
#define UBP_CLI_COMMON_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>

struct map;
struct output;
struct trace_options;
struct ubp_session;

#define TRIGGER_EVENT_ROOM 160

/* GROUP:EVENT of probe @i. */
void trigger_event_name(struct ubp_session *session, size_t i, char name[TRIGGER_EVENT_ROOM]);
/*
 * Has probe @i an event that none of those had that were asked for with the same @seen, zero-initialised? A probe without memory to be noted in
 * is taken for new.
 */
bool trigger_event_is_new(struct ubp_session *session, size_t i, struct map *seen);

/* All definitions have been added. CLI_OK, or said what is wrong. */
int triggers_write(struct ubp_session *session, const struct trace_options *o);
/* The histograms of all events; with --otlp they are metrics, and not printed. */
void triggers_print(struct ubp_session *session, const struct trace_options *o,
		    struct output *out);

#endif
