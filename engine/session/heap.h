/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Blocks of memory in place of events (engine/ubp_heap.h), in a session. */

#ifndef UBP_SESSION_HEAP_H
#define UBP_SESSION_HEAP_H

#include <stdbool.h>

struct event_record;
struct ubp_session;

/* True: @record is a hit that allocates or frees, and was taken. */
bool session_heap_took(struct ubp_session *s, const struct event_record *record);
void session_heap_free(struct ubp_session *s);

#endif
