/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The public sink, of whatever has events. */

#ifndef UBP_SESSION_SINK_H
#define UBP_SESSION_SINK_H

#include "engine/sink/sink.h"

struct event_texts;
struct ubp_err;
struct ubp_event;
struct ubp_session;
struct ubp_sink;
struct ubp_sink_options;

/* As ubp_sink_new(), for events that have @texts, which stays the caller's. */
int session_sink_new(const struct event_texts *texts, const struct ubp_sink_options *options,
		     struct ubp_sink **ret_sink, struct ubp_err *err);

/* What ubp_sink_event() gives, behind what is in @to. */
void session_sink_add(struct ubp_sink *sink, struct sink_buf *to,
		      const struct ubp_event *event);

/* Does it make the same of an event whatever came before, in any thread? */
bool session_sink_is_apart(const struct ubp_sink *sink);
/* Such a sink once more, for another thread; NULL: out of memory. */
struct ubp_sink *session_sink_again(const struct ubp_sink *sink);
/* What @other could not tell counts as @sink's. */
void session_sink_join(struct ubp_sink *sink, const struct ubp_sink *other);

/* The probes of a session, as they are when somebody asks. */
struct sink_probes session_probes(struct ubp_session *session);

#endif
