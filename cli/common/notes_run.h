/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Notes while a trace runs: notes.h. */

#ifndef UBP_CLI_COMMON_NOTES_RUN_H
#define UBP_CLI_COMMON_NOTES_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct trace_options;
struct ubp_session;

struct notes {
	const struct trace_options *opt;
	struct ubp_session *session;
	uint64_t due_ns; /* when there is something to say; 0: no more */
};

/* The session has started. */
void notes_begin(struct notes *notes, struct ubp_session *session,
		 const struct trace_options *opt);
/* If their time has come they are told; @seen: there was an event. How many ms that takes; -1: for ever. */
int notes_look(struct notes *notes, bool seen);

#endif
