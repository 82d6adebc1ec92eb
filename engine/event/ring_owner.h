/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Locks that tell of our death: words in memory shared with targets, in which the kernel
 * sets RING_OWNER_DIED when the thread that holds them ends, however it does. Not
 * pthread_mutex_t: that keeps pointers of ours beside the word, where a target that got a
 * writable mapping after all could change them. Here the kernel's list of a thread's robust
 * locks runs through pages of our own.
 */

#ifndef UBP_EVENT_RING_OWNER_H
#define UBP_EVENT_RING_OWNER_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_err;

/* Lies one page in front of the word. */
struct ring_owner {
	struct robust_list link; /* first: what the kernel follows */
	struct ring_owner *prev; /* NULL: the first one */
};

/* Of one thread. Zero-initialise. */
struct ring_owners {
	pid_t tid;
	struct robust_list_head head;
	struct robust_list_head *before; /* what the C library had registered */
	size_t n;
};

/*
 * Map the first page of @fd, and own the word at its start. The C library's
 * own list of the calling thread is out of work while there is one of ours.
 */
int ring_owner_take(struct ring_owners *owners, int fd, struct ring_owner **ret_owner,
		    struct ubp_err *err);
/* The word tells that its owner has died. Same thread, or that has ended. */
void ring_owner_give(struct ring_owners *owners, struct ring_owner *owner);

#endif
