/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What ubp_tally.h asks for, in a session. */

#ifndef UBP_SESSION_TALLY_H
#define UBP_SESSION_TALLY_H

struct ubp_session;

void session_tally_free(struct ubp_session *s);

#endif
