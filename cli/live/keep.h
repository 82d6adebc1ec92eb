/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A flight recorder: --keep. The newest events are recorded into two files in turn, which stand beside the session's socket, in memory, and
 * --dump makes one recording of both. Those of each thread (4MiB/thread) stay in ubp's own memory, and are in a file there for --dump alone.
 */

#ifndef UBP_CLI_LIVE_KEEP_H
#define UBP_CLI_LIVE_KEEP_H

struct trace_options;
struct ubp_session;

/* As .set of struct cli_option. */
int keep_set_size(void *into, const char *arg);
/* From here on it is an option as --record. CLI_OK, or said why not. */
int keep_prepare(struct trace_options *o);
/* Where to, which --record would have been told; what others left that were killed goes. CLI_OK, or said why not. */
int keep_begin(const struct trace_options *o);
/* All that is kept, to the file @path, which is new. CLI_OK, or said why not. */
int keep_dump(struct ubp_session *session, const struct trace_options *o, const char *path);
/* It goes with the session. */
void keep_end(const struct trace_options *o);

#endif
