/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the public struct ubp_event stands for: a record, during the callback that it is handed to. */

#ifndef UBP_SESSION_EVENT_H
#define UBP_SESSION_EVENT_H

#include "engine/event/record.h"
#include "engine/spec/spec.h"
#include "engine/ubp_event.h"

struct ubp_event {
	struct ubp_session *session;
	const struct event_record *record;
	const struct spec_probe *made; /* of a synthetic event; NULL: a hit, or a gap */
};

/* The definition that was hit, or what stands for it; NULL for a gap. */
const struct spec_probe *event_spec(const struct ubp_event *event);

#endif
