/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The public sink, of whatever has events. */

#ifndef UBP_SESSION_SINK_H
#define UBP_SESSION_SINK_H

#include "engine/sink/sink.h"

struct event_texts;
struct ubp_err;
struct ubp_session;
struct ubp_sink;
struct ubp_sink_options;

/* As ubp_sink_new(), for events that have @texts, which stays the caller's. */
int session_sink_new(const struct event_texts *texts, const struct ubp_sink_options *options,
		     struct ubp_sink **ret_sink, struct ubp_err *err);

/* The probes of a session, as they are when somebody asks. */
struct sink_probes session_probes(struct ubp_session *session);

#endif
