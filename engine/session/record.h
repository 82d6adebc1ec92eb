/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Events that go to a file (ubp_record.h), in a session. The caller's thread's. */

#ifndef UBP_SESSION_RECORD_H
#define UBP_SESSION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/ubp.h"

/*
 * In place of handing out: all that waits in rings and the queue. @ripe: records of the queue that are older than that are all there.
 * *ret_fill: how full the fullest ring was, in percent. Returns how many there were, or a negative errno.
 */
int session_record_look(struct ubp_session *s, uint64_t ripe, unsigned *ret_fill,
			struct ubp_err *err);

/*
 * Where triggers, or --once, look at events first these come one by one, in order of time: between begin and done, whose results are those of a look.
 */
bool session_record_in_order(const struct ubp_session *s);
int session_record_begin(struct ubp_session *s, struct ubp_err *err);
int session_record_event(void *session, const struct ubp_event *event); /* a ubp_event_fn */
int session_record_done(struct ubp_session *s, struct ubp_err *err);
void session_record_free(struct ubp_session *s);

#endif
