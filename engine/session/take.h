/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records that have to be taken, by who holds session_calls.consume, though nobody is there whom they could be handed to. */

#ifndef UBP_SESSION_TAKE_H
#define UBP_SESSION_TAKE_H

struct ubp_session;

/* What waits: to the file, if they go to one, else it is put off. Returns how many there were, or -ENOBUFS: there is no room for more. */
int take_aside(struct ubp_session *s);

#endif
