/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Records to a file (format.h), as they are. Memory for a block is there from the start: nothing is asked for on the way.
 *
 *   recording_new()
 *   recording_add_json(RECORDING_INFO ...), recording_add_json(RECORDING_PROBES ...)
 *   for each look: recording_look_begin(), recording_take() and recording_add_stop(), recording_look_end()
 *   recording_add_json(RECORDING_END ...)
 *   recording_close()
 *
 * A write that fails is told by the call that notices. All calls behind that fail, too, and what they were given is not kept.
 */

#ifndef UBP_RECORDING_WRITER_H
#define UBP_RECORDING_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/event/ring_take.h"
#include "engine/event/ring_time.h"
#include "engine/recording/format.h"

struct recording;
struct ubp_err;

struct recording_options {
	const char *path;
	int level;         /* of zstd; 0: blocks are not packed */
	uint64_t max_size; /* of the file; 0: no limit */
	bool append;       /* to a recording that is there */
	uint64_t rotate;   /* bytes of a file, in place of .max_size; 0: there is but one */
	unsigned keep;     /* files, with .rotate; 0: all */
	/*
	 * Bytes of records of each thread, which stay in memory (kept.h): the file gets what is there when it ends, by
	 * recording_write_kept(). 0: it gets all as it comes.
	 */
	uint64_t per_thread;
};

/* Make the file, or open it, as recording_files_open() says. */
int recording_new(const struct recording_options *options, struct recording **ret_recording,
		  struct ubp_err *err);
/* Close it, and free all. NULL is fine. Returns 0, or a negative errno if what was written may not have got there. */
int recording_close(struct recording *recording, struct ubp_err *err);

/*
 * Go on in another file, behind recording_add_json(RECORDING_END ...): with .rotate the one that is there gets a number; else it is the one that has
 * the name now, which may be the same. Info and probes are to be added to it. Once that failed all calls fail.
 */
int recording_next_file(struct recording *recording, struct ubp_err *err);

/*
 * A block of JSON, whose reference is taken. NULL: memory is short. With .per_thread names and mappings are told by recording_write_kept(), to this
 * file and to those behind it.
 */
int recording_add_json(struct recording *recording, enum recording_kind kind, json_t *json,
		       struct ubp_err *err);

/* @readings, @ns_per_tick: ring_set_readings(). */
void recording_look_begin(struct recording *recording,
			  const struct ring_time_sample readings[2], double ns_per_tick);
/* For ring_set_take(): false once a write has failed, or .max_size is reached. */
bool recording_take(struct recording *recording, const struct ring_taken *taken);
/* A record that came by the queue, or a gap. False as above. */
bool recording_add_stop(struct recording *recording, const struct event_record *record);
/* @known_until: as in struct recording_look. Writes nothing where there was nothing. */
int recording_look_end(struct recording *recording, uint64_t known_until, struct ubp_err *err);

/* With .per_thread: all that is kept, to the file; it stays. Without it nothing is done. */
int recording_write_kept(struct recording *recording, struct ubp_err *err);
bool recording_keeps(const struct recording *recording);

/* Records that were added, and bytes that were written, in all files; with .per_thread that are in memory, too. */
uint64_t recording_n_records(const struct recording *recording);
uint64_t recording_size(const struct recording *recording);
/* Records that this file has, once it has what is kept. */
uint64_t recording_n_in_file(const struct recording *recording);
/* There is no room for another look below .max_size, or .rotate. */
bool recording_is_full(const struct recording *recording);
bool recording_rotates(const struct recording *recording);

#endif
