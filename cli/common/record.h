/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --record and its options. */

#ifndef UBP_CLI_COMMON_RECORD_H
#define UBP_CLI_COMMON_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct trace_options;
struct ubp_session;

struct record_options {
	const char *path; /* NULL: events are printed */
	int level;        /* --compress; 0: not */
	uint64_t max_size;
	uint64_t rotate, keep; /* --rotate; 0: not, and all files */
	uint64_t per_thread;   /* of --keep: bytes of each; 0: it is not asked for */
	bool is_kept;          /* of --keep: nobody is told of the file */
};

/* As .set of struct cli_option, for a struct that begins with trace_options. */
int record_set_path(void *into, const char *arg);
int record_set_level(void *into, const char *arg);
int record_set_max_size(void *into, const char *arg);
int record_set_rotate(void *into, const char *arg);
/* CLI_OK, or said what makes no sense together. */
int record_check(const struct trace_options *o);

/* Before the start. CLI_OK, or said why not. */
int record_begin(struct ubp_session *session, const struct record_options *o, bool append);
/* Go on in another file, or in what has the file's name now. CLI_OK, or said why not: recording is over. */
int record_next(struct ubp_session *session);
/* At the end, and tells what there is; @has_failed: that a write failed was told already. */
int record_end(struct ubp_session *session, const struct record_options *o, bool has_failed);

#endif
