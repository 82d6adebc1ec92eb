/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Wakes the tracing thread at a time. A thread of its own waits for that, as nothing else ends a waitid() but a stop;
 * it begins with the first alarm, and few sessions ever set one. For the tracing thread alone.
 *
 * Turns are work that comes again and again: the tracing thread is woken for each, and spends no more than a part of its
 * time on them.
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

/* All zero: there are no turns. */
struct alarm_turns {
	struct alarm_clock alarm;
	uint64_t pause_ns, next_ns;
};

/* A turn comes each @pause_ns, the first one in so long. False: there is no timer. */
bool alarm_turns_begin(struct alarm_turns *turns, struct tracer *tracer, uint64_t pause_ns);
/* When this turn began, by CLOCK_MONOTONIC; 0: it is not time for one, or there are none. */
uint64_t alarm_turn_begin(const struct alarm_turns *turns);
/* The turn that began then is over. The next one comes when all of them took no more than 1/100 of the time. */
void alarm_turn_end(struct alarm_turns *turns, uint64_t begun_ns);
void alarm_turns_end(struct alarm_turns *turns);

#endif
