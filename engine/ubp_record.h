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
#pragma GCC visibility push(default)

struct ubp_record_options {
	/*
	 * The file. One that is there and is a recording is renamed to PATH.old before; any other that is not empty is left alone (-EEXIST), and so is
	 * one that somebody is recording to (-EBUSY).
	 */
	const char *path;
	int level; /* 1 to 19: blocks are packed so well by zstd; 0: not at all */
	/* Bytes of the file: once there is no room for another block ubp_record_is_full() says so. 0: no limit. */
	uint64_t max_size;
	/* A recording that is there stays as it is, and this one comes behind it. */
	bool append;
	/*
	 * Bytes of a file, in place of .max_size: then it is renamed to PATH.N, N one more than the largest there is, and another PATH is begun. So is one that
	 * was there. 0: never.
	 */
	uint64_t rotate;
	unsigned
		keep; /* so many files, PATH among them: the oldest are deleted, if they are recordings. 0: none is */
	/*
	 * A flight recorder: events stay in memory, of each thread the newest in so many bytes, and go to the file when ubp_record_next() or ubp_record_end() is called;
	 * behind the first they stay. All threads together have at most 256 times that: then the oldest go of the thread that was hit longest ago. 0: all events
	 * go to the file as they come.
	 */
	uint64_t per_thread;
};

/*
 * Events of @session go to a file. Once a write fails ubp_dispatch() fails with its reason; all that was written before can be read.
 * Triggers and .once look at them first, which takes longer; events that triggers make are not recorded. -EINVAL: hits are counted (ubp_tally.h). -EBUSY: it has started. Others: of the file.
 */
int ubp_record(struct ubp_session *session, const struct ubp_record_options *options,
	       struct ubp_err *err);
/*
 * Go on in another file, as .rotate does; without that, in the file that has the name now: for who renames files while they are written. Between dispatches.
 * A negative errno: recording is over.
 */
int ubp_record_next(struct ubp_session *session, struct ubp_err *err);
/* Write the end, and close the file. Returns 0, or a negative errno if not all may have got there. */
int ubp_record_end(struct ubp_session *session, struct ubp_err *err);

/* Events so far, and the bytes that they take, in all files; 0: nothing is recorded. @ret_bytes may be NULL. */
uint64_t ubp_record_count(const struct ubp_session *session, uint64_t *ret_bytes);
bool ubp_record_is_full(const struct ubp_session *session);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
