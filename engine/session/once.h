/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes that have one event each (ubp_options.once). In a detour a hit that is recorded switches its probe off for its process; whoever delivers
 * events lets one of each probe through, and switches it off everywhere. The tracing thread takes out what was hit, many at
 * a time, as a change of the caller's would (engine/plant/change.h).
 */

#ifndef UBP_SESSION_ONCE_H
#define UBP_SESSION_ONCE_H

#include <stdbool.h>

struct event_record;
struct ubp_session;

/* The delivering thread: is it one more hit of a probe that has had its event? */
bool once_is_again(struct ubp_session *s, const struct event_record *record);

/* For the tracing thread: tracing begins, it ends, and between two of its turns: is it time to take some out? */
void once_begin(struct ubp_session *s);
void once_end(struct ubp_session *s);
void once_pass(struct ubp_session *s);

#endif
