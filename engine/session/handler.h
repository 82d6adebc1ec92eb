/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Handlers (engine/ubp_handler.h): functions of the caller's that run on the tracing thread. Calls that would wait for that thread must not wait
 * in one (calls_is_inside()), and who removes a probe waits until its handler does not run (calls_await_events()).
 */

#ifndef UBP_SESSION_HANDLER_H
#define UBP_SESSION_HANDLER_H

#include <stdbool.h>

#include "engine/space/uprobe.h"
#include "engine/ubp_handler.h"

struct ubp_session;

/* What a probe is to know of the handler that it is given; NULL: none. */
static inline struct uprobe_handler handler_facts(ubp_handler_fn *handler, bool may_change)
{
	return (struct uprobe_handler){ .is_there = handler != NULL,
					.may_change = handler && may_change };
}

/* hit_options.handle */
bool handler_run(void *session, struct ubp_hit *hit);

#endif
