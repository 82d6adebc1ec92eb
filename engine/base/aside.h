/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Work on files that others chose, by a thread of its own. A single call of libdw's may take hours, and a read
 * may never come back: neither can be broken off. Whoever wants the result waits while that makes sense, and
 * goes on without it. The thread then ends when the call does, or with the process.
 */

#ifndef UBP_BASE_ASIDE_H
#define UBP_BASE_ASIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Opaque. */
struct aside;

/* When it is to end early: .is_over is asked by whoever waits, whenever .fd is readable. */
struct aside_until {
	int fd; /* -1: never */
	bool (*is_over)(void *ctx);
	void *ctx;
};

enum aside_end {
	ASIDE_DONE, /* the work is done */
	ASIDE_OVER, /* .is_over said so */
	ASIDE_LATE, /* it took longer than aside_limit() said */
};

/* What took too long. */
struct aside_late {
	char path[PATH_MAX];
	uint64_t limit_ns;
};

/*
 * Begin @work(@ctx) by a thread that has all signals blocked. There cancel_is_asked() is true as soon as it is given up.
 * Returns 0, or -errno.
 */
int aside_begin(void (*work)(void *ctx), void *ctx, struct aside **ret_aside);

/*
 * Wait for it; @until may be NULL. ASIDE_DONE: it is done, and @aside is freed. Else it was told to give up, and had half a second for that:
 * the next call is aside_leave().
 */
enum aside_end aside_wait(struct aside *aside, const struct aside_until *until,
			  struct aside_late *ret_late);

/*
 * False: the work has ended meanwhile. True: it goes on, and @release(@ctx) is called by the thread when it ends. Frees
 * @aside.
 */
bool aside_leave(struct aside *aside, void (*release)(void *ctx), void *ctx);

/*
 * By the work: from here on it reads @path, and takes it that this thread has had no more than @end_ns of
 * processor time by the end. The text for the user says @limit_ns. NULL: this is over. Outside of such work
 * nothing happens.
 */
void aside_limit(const char *path, uint64_t end_ns, uint64_t limit_ns);

#endif
