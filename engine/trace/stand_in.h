/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A process that touches memory in the tracer's place where nobody knows whether it answers. The
 * tracer waits for it no longer than a limit: if it does not come back it is given up, the next one
 * is begun, and what was asked for counts as not to be had. That cannot be done by a thread: one
 * that waits for a page does not even obey SIGKILL in all cases, and keeps its process from ending.
 */

#ifndef UBP_TRACE_STAND_IN_H
#define UBP_TRACE_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/lost.h"

struct errand_desk;
struct silent_mounts;

/* What was read ahead: for who goes through memory upwards, and may see it as it was. */
#define STAND_IN_AHEADS 2
#define STAND_IN_AHEAD  0x1c000 /* bytes */
#define STAND_IN_PIECES 28

/* Bytes that one request brought, from one place. */
struct peek_piece {
	uint64_t vaddr;
	size_t len;
	bool is_all; /* behind them there is nothing to be had */
	const uint8_t *bytes;
};

struct peek_ahead {
	uint64_t id;   /* whose; 0: nobody's */
	uint64_t from; /* from there on it may be used, yet */
	uint64_t end;  /* of what was read in one piece from the place that was asked for */
	size_t n;
	struct peek_piece pieces[STAND_IN_PIECES]; /* in the order of the request */
	uint8_t *bytes;                            /* STAND_IN_AHEAD; NULL: none yet */
};

/* Of one tracer, for its thread alone. Zero-initialise. */
struct stand_in {
	pid_t pid; /* 0: none yet, or no more */
	int socket;
	struct errand_desk *desk; /* for requests and answers; NULL where .pid is 0 */
	uint32_t n_asked;
	struct lost lost; /* that were given up */
	uint64_t n_serials;
	struct silent_mounts *mounts; /* NULL: none yet */
	struct peek_ahead aheads[STAND_IN_AHEADS];
	uint64_t n_aheads;
	/* What was waited for answers that did not come, and for any at most; how often it was asked, in all: read
	 * by anybody, relaxed. */
	uint64_t lost_ns, longest_ns, n_requests;
};

/* Is there one, or could one be begun? */
bool stand_in_begin(struct stand_in *s);

/*
 * Do what the desk says, with the open file @fd if it is asked for (-1: there is none). True: the answer
 * is on the desk. False: none came in @limit_ns, or when it had time. It is given up, the desk gone.
 */
bool stand_in_ask(struct stand_in *s, int fd, uint64_t limit_ns);

/* While an answer is waited for. */
struct stand_in_wait {
	uint64_t limit_ns, waited_ns;
	uint64_t used_ns; /* it had of processors, from the first look at it on */
	unsigned looks;   /* at which it waited for something itself, in a row */
};

/*
 * Is the answer so late that it is given up? It is if the stand-in waits for something, or if it had time
 * enough. On a busy machine it may have had none: that is not the fault of the process it is about.
 */
bool stand_in_is_late(const struct stand_in_wait *wait);

/* A child of the tracing thread ended, and was waited for. */
void stand_in_ended(struct stand_in *s, pid_t pid);

void stand_in_end(struct stand_in *s);

#endif
