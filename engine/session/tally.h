/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Hits that are counted (ubp_tally.h), in a session. */

#ifndef UBP_SESSION_TALLY_H
#define UBP_SESSION_TALLY_H

#include <stdbool.h>

struct event_record;
struct ubp_session;

/* True: @record is a hit of a probe that counts, and was counted. */
bool session_tally_took(struct ubp_session *s, const struct event_record *record);
void session_tally_free(struct ubp_session *s);

#endif
