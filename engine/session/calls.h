/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Threads in calls of one session. One at a time takes records: who is in ubp_dispatch(), or, if nobody is, who waits for an answer of the
 * tracing thread. That thread may wait for room, so somebody always has to. Who makes a change in a callback of ubp_dispatch() does not wait.
 */

#ifndef UBP_SESSION_CALLS_H
#define UBP_SESSION_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/session/caller.h"

struct event_record;
struct mailbox_answer;
struct ubp_err;
struct ubp_session;

void calls_init(struct ubp_session *s);
void calls_fini(struct ubp_session *s);

/* Around ubp_dispatch(). -EDEADLK: it is called in a callback of its own. */
int calls_dispatch_begin(struct ubp_session *s, struct ubp_err *err);
void calls_dispatch_end(struct ubp_session *s);
/* Around each handler. False: its probe was removed meanwhile, so it must not run. */
bool calls_handler_begin(struct ubp_session *s, unsigned number);
void calls_handler_end(struct ubp_session *s);
/* The same where the engine is apart: the probe with this id; who calls it looks then whether the handler may run, and ends this in any case. */
void calls_handler_enter(struct ubp_session *s, size_t id);
/* Until none runs; not in one. */
void calls_await_handler(struct ubp_session *s);

/* Around each event that is handed out. False: its probe was removed meanwhile, so it is not, and is counted. */
bool calls_event_begin(struct ubp_session *s, const struct event_record *record);
void calls_event_end(struct ubp_session *s);
/* Until no event of these probes is being handed out, and no handler of theirs runs; not in a callback. */
void calls_await_events(struct ubp_session *s, const size_t *ids, size_t n);

/*
 * Until the change is answered (live_look()); records are taken meanwhile (put_off.h). -ETIMEDOUT: there is no room for more of them and none may be
 * lost; the change is left to ubp_dispatch() (live_leave()).
 */
int calls_await(struct ubp_session *s, uint64_t ticket, struct mailbox_answer *ret_answer);
/* The same until a change may be on its way again. */
int calls_await_turn(struct ubp_session *s);

#endif
