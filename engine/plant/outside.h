/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Threads that may have looked at something before it was changed, and act on it later: each is waited for until it was seen once outside of the
 * code that does so. A thread that is stopped and goes on may be stopped again without a single instruction in between, so two stops of it
 * tell nothing.
 */

#ifndef UBP_PLANT_OUTSIDE_H
#define UBP_PLANT_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct space;
struct tracer;

/* Where an address of a thread is. */
enum outside_at {
	OUTSIDE_PC,
	OUTSIDE_TOP, /* among the first words of its stack, or behind where a signal's handler returns to */
	OUTSIDE_DEEP, /* any other word: it may be what an earlier call has left there, and nobody returns to */
};

struct outside_question {
	/* Is @pc, of a thread, in that code? */
	bool (*is_inside)(const void *ctx, const struct space *space, uint64_t pc,
			  enum outside_at at);
	const void *ctx;
	bool asks_stacks; /* words on the stack are asked about, too: a signal's handler may return there */
};

/*
 * Wait until all threads of @space, which the caller keeps, were seen outside; who is born meanwhile is. False: one was not for 50 ms,
 * it has asked to be traced, another process lives in this memory, or the space is gone. Handles stops of all threads.
 */
bool outside_wait(struct tracer *tracer, struct space *space,
		  const struct outside_question *question);

#endif
