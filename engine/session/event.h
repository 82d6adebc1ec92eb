/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the public struct ubp_event stands for: a record, during the callback that it is handed to. */

#ifndef UBP_SESSION_EVENT_H
#define UBP_SESSION_EVENT_H

#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/sink/frame.h"
#include "engine/sink/sink.h"
#include "engine/spec/spec.h"
#include "engine/ubp_event.h"

struct session_maker;
struct ubp_session;

/* How events are told as text: those of a session, or of a recording. */
struct event_texts {
	bool escape; /* strings of targets; else they are raw */
	const struct sink_resolver
		*resolver;          /* names for stacks; NULL: they are printed as they are */
	struct sink_probes probes;  /* that events may be of */
	struct picture_about about; /* where they come from */
	char host[256];             /* .host of that, of a session */
	struct sink_buf line, arg;  /* what was asked last */
};

struct ubp_event {
	struct event_texts *texts;
	const struct event_record *record;
	const struct spec_probe
		*spec; /* the definition that was hit, or what stands for it; NULL: a gap */
	int probe;     /* ubp_event_probe(); -1: a gap */
	void *cookie;  /* ubp_event_cookie() */
	struct session_maker *made_by; /* what .spec is of; NULL: it lasts anyway */
	bool is_made;                  /* a trigger made it */
	bool is_stack;                 /* ubp_trigger_event_is_stack() */
	const char *trace;             /* of one that was made: ubp_trigger_event_trace() */
	uint64_t weight;               /* ubp_event_weight() */
	const char *host;              /* ubp_event_host() */
};

/* Of a hit, or a gap. */
struct ubp_event session_event(struct ubp_session *s, const struct event_record *record);

#endif
