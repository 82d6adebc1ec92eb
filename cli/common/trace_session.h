/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What commands that trace do with a session, and with lists. */

#ifndef UBP_CLI_COMMON_TRACE_SESSION_H
#define UBP_CLI_COMMON_TRACE_SESSION_H

#include "cli/common/trace_options.h"
#include "engine/ubp_files.h"

struct output;
struct ubp_err;

/* Add one definition to the session. 0 or a negative errno. */
typedef int trace_session_add_fn(struct ubp_session *session,
				 const struct trace_definition *definition,
				 struct ubp_err *err);

/* Make a session, add all definitions, then print what is asked for, or trace. Exit status. */
int trace_session(const struct trace_options *o, trace_session_add_fn *add);

/* What -l and the like are about: @name, and what the options say. */
struct ubp_target trace_session_target(const struct trace_options *o, const char *name);

typedef int trace_session_list_fn(struct output *out, const struct ubp_target *target,
				  const void *what, struct ubp_err *err);

/* Have @list write, with @what, to where the options say. Exit status. */
int trace_session_list(const struct trace_options *o, trace_session_list_fn *list,
		       const struct ubp_target *target, const void *what);

/*
 * Where a standard descriptor is closed, the next file opened would take its number,
 * and messages would be written into it. What holds the place fails when it is used,
 * and is closed again for a command of ours.
 */
void trace_session_hold_descriptors(void);

/* The last of main(): what --help printed may not have found room. Exit status. */
int trace_session_end(int status);

#endif
