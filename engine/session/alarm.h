/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Wakes the tracing thread at a time. A thread of its own waits for that, as nothing else ends a waitid() but a stop;
 * it begins with the first alarm, and few sessions ever set one. For the tracing thread alone.
 */

#ifndef UBP_SESSION_ALARM_H
#define UBP_SESSION_ALARM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct tracer;

/* All zero: there was no alarm yet. */
struct alarm_clock {
	struct tracer *tracer;
	pthread_t thread;
	int fd;
	bool is_there;
	bool is_ending; /* atomic */
};

/* False: it cannot be. */
bool alarm_begin(struct alarm_clock *alarm, struct tracer *tracer);
/* Behind that: tracer_wake() in @ns, and not when it was told before. */
void alarm_in(const struct alarm_clock *alarm, uint64_t ns);
void alarm_end(struct alarm_clock *alarm);

#endif
