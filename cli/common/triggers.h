/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --trigger and --synthetic: triggers of what was defined, and their histograms at the end. */

#ifndef UBP_CLI_COMMON_TRIGGERS_H
#define UBP_CLI_COMMON_TRIGGERS_H

struct output;
struct trace_options;
struct ubp_session;

/* All definitions have been added. CLI_OK, or said what is wrong. */
int triggers_write(struct ubp_session *session, const struct trace_options *o);
/* The histograms of all events. */
void triggers_print(struct ubp_session *session, const struct trace_options *o,
		    struct output *out);

#endif
