/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What probes were made by that were added while the session runs: it goes with the last of them, and of the copies of their events. */

#ifndef UBP_SESSION_MAKER_H
#define UBP_SESSION_MAKER_H

struct definitions;
struct spec_probe;

struct session_maker {
	struct definitions *defs;
	struct spec_probe *mirror; /* what an engine that is apart has told of one, or NULL */
	unsigned refs;             /* atomic */
};

/* One reference. NULL: memory is short. */
struct session_maker *maker_new(void);
/* From any thread; NULL is fine. */
struct session_maker *maker_get(struct session_maker *maker);
void maker_put(struct session_maker *maker);

#endif
