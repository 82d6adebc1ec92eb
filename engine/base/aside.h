/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Work on files that others chose, by a thread of its own. A single call of libdw's may take hours, and a read
 * may never come back: neither can be broken off. Whoever wants the result waits while that makes sense, and
 * goes on without it. The thread then ends when the call does, or with the process.
 *
 * As long as all calls come back, it is the same thread that does them, one after the other.
 */

#ifndef UBP_BASE_ASIDE_H
#define UBP_BASE_ASIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/ubp_until.h"

/* The thread. Opaque. */
struct aside;

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
 * Have @work(@ctx) done by *@aside, a thread that has all signals blocked, and wait for it; @until may be NULL. If *@aside is NULL, or the
 * thread of a process that this one is a child of, a new one is made. Returns an enum aside_end, or -errno: there can be no thread.
 *
 * ASIDE_DONE: *@aside is for the next work. Else the work was told to give up, so that cancel_is_asked() is true there, and had
 * half a second for that: *@aside is for aside_leave() alone.
 */
int aside_do(struct aside **aside, void (*work)(void *ctx), void *ctx,
	     const struct ubp_until *until, struct aside_late *ret_late);

/*
 * False: the work has ended meanwhile. True: it goes on, and @release(@ctx) is called by the thread when it ends. (Not in
 * a child of the process that began it: there nobody knows what state things are in.) Ends the thread, and frees @aside.
 */
bool aside_leave(struct aside *aside, void (*release)(void *ctx), void *ctx);

/* End a thread that has no work. NULL is fine. */
void aside_free(struct aside *aside);

/*
 * By the work: from here on it reads @path, and takes it that this thread has had no more than @end_ns of
 * processor time by the end. The text for the user says @limit_ns. NULL: this is over. Outside of such work
 * nothing happens.
 */
void aside_limit(const char *path, uint64_t end_ns, uint64_t limit_ns);

#endif
