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
#include <stddef.h>
#include <stdint.h>

#include "ubp.h"
#include "ubp_sink.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ubp_recording;

/*
 * The file may come from elsewhere: nothing in it is believed. -EINVAL: it is no recording, or one of another version, or of a machine with
 * another order of bytes; -errno of the file; -ENOMEM.
 */
int ubp_recording_open(const char *path, struct ubp_recording **ret_recording,
		       struct ubp_err *err);

/* How times of files with different clocks are put together. */
struct ubp_recording_align {
	/* For each file but the first: what is added to its times. NULL: the first one's clock is that of all, and others go by what CLOCK_REALTIME was when each began. */
	const int64_t *ns;
};

/*
 * The same of several files, of hosts and runs, merged by time. Their clocks must be the same (of one boot of one host, and the same .clock): -EINVAL; or @align
 * is not NULL. All are looked through first; then only those are open whose time has come.
 */
int ubp_recording_open_all(const char *const *paths, size_t n,
			   const struct ubp_recording_align *align,
			   struct ubp_recording **ret_recording, struct ubp_err *err);
void ubp_recording_free(struct ubp_recording *recording); /* NULL is fine */

/*
 * Hand out up to @most events, in order of time; fewer if @fn does not return 0. Returns how many there were: 0 at the end. -ENOMEM, -EIO. All functions of ubp_event.h may
 * be asked of them, while the function runs.
 */
int ubp_recording_read(struct ubp_recording *recording, ubp_event_fn *fn, void *ctx, int most,
		       struct ubp_err *err);

/*
 * Which events are handed out, asked before the first: those that match @event (as fnmatch(3) has it; a name or GROUP:NAME; NULL: all) and pass
 * @filter, in the language of probes (NULL: all pass; those that do not have its fields do not). Asked several times, one of them has to
 * pass. 0; -ENOENT: no event is called so; -EINVAL and others: the filter is for none of them; -ENOMEM.
 */
int ubp_recording_choose(struct ubp_recording *recording, const char *event, const char *filter,
			 struct ubp_err *err);
/* Only of these processes. 0 or -ENOMEM. */
int ubp_recording_choose_pids(struct ubp_recording *recording, const pid_t *pids, size_t n,
			      struct ubp_err *err);

/* A time of events: by their clock, or so long after the first event. */
struct ubp_recording_time {
	bool is_set, is_relative;
	uint64_t ns;
};

/* Only from and to these times, both included; NULL: any. Gaps, too. */
void ubp_recording_choose_time(struct ubp_recording *recording,
			       const struct ubp_recording_time *from,
			       const struct ubp_recording_time *to);

/* As ubp_sink_new(), for events of @recording. */
int ubp_recording_sink(struct ubp_recording *recording, const struct ubp_sink_options *options,
		       struct ubp_sink **ret_sink, struct ubp_err *err);

/* The host that recorded an event, where @recording has events of several; else NULL. */
const char *ubp_event_host(const struct ubp_event *event);

/* What @sink made of @n_events events: @len bytes, until it returns. Not 0: no more are wanted. */
typedef int ubp_recording_print_fn(void *ctx, const char *text, size_t len, uint64_t n_events);

/*
 * All events that are still to be read, as ubp_sink_event() of @sink would give them, many at a time, to @fn in this thread. Where the form's lines have nothing to do with
 * each other ("text", "json"; but not with names for stacks) several threads make them, as many as there are processors that this thread may run on, 8 at
 * most. ubp_sink_begin() and ubp_sink_end() are the caller's. 0: all, or @fn wanted no more; -ENOMEM; -EIO.
 */
int ubp_recording_print(struct ubp_recording *recording, struct ubp_sink *sink,
			ubp_recording_print_fn *fn, void *ctx, struct ubp_err *err);

/* What is known of the recording. Strings are the recording's; what is not in the file is NULL or 0. */
struct ubp_recording_info {
	const char *path;
	const char *host, *kernel, *machine, *clock;
	bool strict;            /* strings of events are as the kernel prints them */
	uint64_t clock_ns;      /* when it began, by that clock ... */
	uint64_t real_ns;       /* ... and by CLOCK_REALTIME */
	bool is_whole;          /* recording ended as it should: */
	uint64_t records, lost; /* what was recorded, then */
};

/* Of several: host, kernel, machine, clock and beginning are those of the first; the rest is of all together. */
void ubp_recording_info(const struct ubp_recording *recording,
			struct ubp_recording_info *ret_info);
/* Of one of them, in order of time. A file to which others were appended is several. */
size_t ubp_recording_n_parts(const struct ubp_recording *recording);
void ubp_recording_part_info(const struct ubp_recording *recording, size_t i,
			     struct ubp_recording_info *ret_info);

/* What could not be read so far; all of it behind the last event. */
struct ubp_recording_damage {
	uint64_t bytes,
		blocks;   /* of the file, and how many blocks there were, as far as is known */
	uint64_t records; /* that make no sense */
	uint64_t
		files; /* of a rotated recording, that are not there, between others that are */
	uint64_t twice;  /* recordings that are copies of another one of them */
	uint64_t copies; /* blocks that stand in a file once more, and are left out there */
};

void ubp_recording_damage(const struct ubp_recording *recording,
			  struct ubp_recording_damage *ret_damage);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
