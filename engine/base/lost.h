/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Children that were given up: each waits for something that nobody may ever do, and does not even end
 * when it is killed. As long as there are as many as this holds, no other is begun.
 */

#ifndef UBP_BASE_LOST_H
#define UBP_BASE_LOST_H

#include <stdbool.h>
#include <sys/types.h>

#define LOST_MAX 8

/* Zero-initialise. */
struct lost {
	pid_t pids[LOST_MAX]; /* 0: none */
};

/* Has child @pid ended? Then it is waited for, unless somebody has done so, and its number is free. */
bool lost_has_ended(pid_t pid);

/* Is there room for one more, once those that have ended are waited for? */
bool lost_has_room(struct lost *lost);

/*
 * Kill child @pid, and remember it until it has ended. There has to be room. One that was waited for
 * already is left alone: a stranger may have its number.
 */
void lost_add(struct lost *lost, pid_t pid);

/* Child @pid has ended, and was waited for. */
void lost_forget(struct lost *lost, pid_t pid);

#endif
