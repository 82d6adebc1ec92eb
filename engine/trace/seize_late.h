/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes that keep who seizes them waiting: how long they are waited for, and how long they are left alone then.
 * One that does so again is left alone for twice as long. The more there are of them, the less any new one is waited
 * for, so that many processes together do not cost much more than one.
 */

#ifndef UBP_TRACE_SEIZE_LATE_H
#define UBP_TRACE_SEIZE_LATE_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/base/map.h"

/* Zero-initialise. For the tracing thread. Times are CLOCK_MONOTONIC. */
struct seize_late {
	struct map known;         /* pid -> struct late */
	unsigned n_lately;        /* that came to be known ... */
	uint64_t lately_until_ns; /* ... until some time after the last one */
};

/* How long is process @pid waited for, where others wait meanwhile? */
uint64_t seize_late_limit(const struct seize_late *late, pid_t pid);

/* It was waited for so long. @why: what it does, "process 1 ..."; lasts. */
void seize_late_note(struct seize_late *late, pid_t pid, const char *why);

/* Until when it is left alone, and why, unless NULL; 0: it is not. */
uint64_t seize_late_until(struct seize_late *late, pid_t pid, const char **ret_why);

void seize_late_free(struct seize_late *late);

#endif
