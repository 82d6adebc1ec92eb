/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: events to a file, as they are recorded, to be looked at later (ubp_recording.h).
 *
 *	ubp_record(session, &options, &err);      before ubp_start()
 *	ubp_start(); ubp_dispatch() as ever: what it takes goes to the file, and to no function
 *	ubp_stop(); ubp_dispatch() until it takes nothing more
 *	ubp_record_end(session, &err);
 */

#ifndef UBP_RECORD_H
#define UBP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ubp_record_options {
	/* The file. One that is there and is a recording is renamed to PATH.old before; any other that is not empty is left alone (-EEXIST). */
	const char *path;
	int level; /* 1 to 19: blocks are packed so well by zstd; 0: not at all */
	/* Bytes of the file: once there is no room for another block ubp_record_is_full() says so. 0: no limit. */
	uint64_t max_size;
};

/*
 * Events of @session go to a file. Once a write fails ubp_dispatch() fails with its reason; all that was written before can be read.
 * Not together with counting (ubp_tally.h), triggers and .sample: -EINVAL. -EBUSY: it has started. Others: of the file.
 */
int ubp_record(struct ubp_session *session, const struct ubp_record_options *options,
	       struct ubp_err *err);
/* Write the end, and close the file. Returns 0, or a negative errno if not all may have got there. */
int ubp_record_end(struct ubp_session *session, struct ubp_err *err);

/* Events in the file so far, and its bytes; 0: nothing is recorded. */
uint64_t ubp_record_count(const struct ubp_session *session, uint64_t *ret_bytes);
bool ubp_record_is_full(const struct ubp_session *session);

#ifdef __cplusplus
}
#endif

#endif
