/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* ubp's side of a run: a session of the library, and what came of it. */

#ifndef UBP_CLI_BENCH_SESSION_H
#define UBP_CLI_BENCH_SESSION_H

#include "cli/bench/figures.h"

struct bench_session {
	struct ubp_session *session;
	uint64_t taken, lost; /* events that were dispatched; that the stream said were lost */
	bool tallies;         /* events are counted, and .taken is how many were so far */
	char histogram[64]; /* the event that has one, of which .taken is the same; "": none */
	bool format;        /* a live reader: events become text */
	size_t n_bytes;     /* of that */
	struct ubp_err *err;
	int rc; /* of the last dispatch */
};

/* The next that rings and queues can have. */
size_t bench_power_of_two(size_t bytes);

/* How much room there is for events: in the queue, and in each thread's ring (a power of two;
 * 0: as usual). */
struct bench_room {
	size_t queue, ring;
	const char *sample; /* ubp_options.sample */
};

/* @pid 0: none is named. @count_dropped: hits that filters drop are counted, too. */
int bench_session_open(struct bench_session *s, enum ubp_mode mode, pid_t pid,
		       const struct bench_room *room, bool count_dropped, struct ubp_err *err);
void bench_session_close(struct bench_session *s);

/* Take the events there are now. Fits bench_meanwhile. */
void bench_session_take(void *ctx);

/* What a run of a command is given, and what comes of it. */
struct bench_run {
	char *const *argv;
	int signal_fd;
	bool takes;  /* events are taken while it runs ... */
	bool reader; /* ... and become text */
	int status;  /* as a shell's $? */
	double ns;
};
/* Run the command under the session, whose probes are added, to its end. */
int bench_session_run(struct bench_session *s, struct bench_run *run, struct ubp_err *err);

/*
 * Remove the probes, take what is left, and count: adds to *figures the hits of all probes, what was
 * to be recorded and lost, and the rungs. Fails if events went astray.
 */
int bench_session_end(struct bench_session *s, struct bench_figures *figures,
		      struct ubp_err *err);

#endif
