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
/* Records of stops are counted, which must not be lost; those of rings, too, where not all are counted in the target. */
bool session_tally_is_on(const struct ubp_session *s);
bool session_tally_needs_rings(const struct ubp_session *s);
void session_tally_free(struct ubp_session *s);

#endif
