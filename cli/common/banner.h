/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is said to be traced. */

#ifndef UBP_CLI_COMMON_BANNER_H
#define UBP_CLI_COMMON_BANNER_H

struct output;
struct trace_options;
struct ubp_session;

/* The first line and the last two. They stand in the trace, as perf-tools has it, but never in data or beside a command's own output. */
void banner_begin(struct output *out, const struct trace_options *o,
		  struct ubp_session *session);
void banner_end(struct output *out, const struct trace_options *o);

#endif
