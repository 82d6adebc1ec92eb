/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: what was recorded to a file (ubp_record.h), as events. Takes no session, and nothing of the machine that
 * recorded.
 *
 *	ubp_recording_open(path, &recording, &err);
 *	while ((n = ubp_recording_read(recording, on_event, ctx, 1000, &err)) > 0)
 *		;
 *	ubp_recording_free(recording);
 */

#ifndef UBP_RECORDING_H
#define UBP_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "ubp.h"
#include "ubp_sink.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ubp_recording;

/*
 * The file may come from elsewhere: nothing in it is believed. -EINVAL: it is no recording, or one of another version, or of a machine with
 * another order of bytes; -errno of the file; -ENOMEM.
 */
int ubp_recording_open(const char *path, struct ubp_recording **ret_recording,
		       struct ubp_err *err);
void ubp_recording_free(struct ubp_recording *recording); /* NULL is fine */

/*
 * Hand out up to @most events, in order of time. Returns how many there were: 0 at the end. -ENOMEM, -EIO. All functions of ubp_event.h may
 * be asked of them, while the function runs.
 */
int ubp_recording_read(struct ubp_recording *recording, ubp_event_fn *fn, void *ctx, int most,
		       struct ubp_err *err);

/* As ubp_sink_new(), for events of @recording. */
int ubp_recording_sink(struct ubp_recording *recording, const struct ubp_sink_options *options,
		       struct ubp_sink **ret_sink, struct ubp_err *err);

/* What is known of the recording. Strings are the recording's; what is not in the file is NULL or 0. */
struct ubp_recording_info {
	const char *host, *kernel, *machine, *clock;
	bool strict;            /* strings of events are as the kernel prints them */
	uint64_t clock_ns;      /* when it began, by that clock ... */
	uint64_t real_ns;       /* ... and by CLOCK_REALTIME */
	bool is_whole;          /* recording ended as it should: */
	uint64_t records, lost; /* what was recorded, then */
};

void ubp_recording_info(const struct ubp_recording *recording,
			struct ubp_recording_info *ret_info);

/* What could not be read so far; all of it behind the last event. */
struct ubp_recording_damage {
	uint64_t bytes,
		blocks;   /* of the file, and how many blocks there were, as far as is known */
	uint64_t records; /* that make no sense */
};

void ubp_recording_damage(const struct ubp_recording *recording,
			  struct ubp_recording_damage *ret_damage);

#ifdef __cplusplus
}
#endif

#endif
