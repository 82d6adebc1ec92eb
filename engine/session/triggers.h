/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Triggers of a session's events (engine/trigger): carried out on the caller's thread, on records that are about to be handed out. */

#ifndef UBP_SESSION_TRIGGERS_H
#define UBP_SESSION_TRIGGERS_H

#include "engine/ubp.h"

struct event_record;
struct session_triggers;

/* A hit: carry out the triggers of its event, then hand out what is to be told of it, made events, too. True: @fn wants no more. */
bool triggers_hit(struct session_triggers *own, const struct event_record *record,
		  ubp_event_fn *fn, void *ctx);
/* Before the first hit of a dispatch: hand out what waits since @fn of the last one wanted no more. True: nor does this one. */
bool triggers_go_on(struct session_triggers *own, ubp_event_fn *fn, void *ctx);
/* NULL is fine. */
void triggers_free(struct session_triggers *own);

#endif
