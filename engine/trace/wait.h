/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One stop: looked at, waited for, consumed. Which of many threads is asked first: next_stop.h. */

#ifndef UBP_TRACE_WAIT_H
#define UBP_TRACE_WAIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One stop, as waitid() tells it: exited, or signal and event. */
struct stop {
	pid_t tid;
	bool exited;
	int wait_status; /* exited: as of waitpid() */
	int sig, event;
};

/* Fill @stop with what waitid() said. */
void wait_fill(struct stop *stop, const siginfo_t *si);

/* For waitid(): of any kind of child, and nothing is consumed. */
#define WAIT_LOOK (WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD)

/*
 * The next stop of one thread, waiting at most @limit_ms. Returns 1, 0 on
 * time-out, -ESRCH when it is gone without a trace.
 */
int wait_one(pid_t tid, unsigned limit_ms, struct stop *ret_stop);

/* As wait_one(), without waiting. */
int wait_look(pid_t tid, struct stop *ret_stop);

/* A stop, of any thread, that has come already. */
bool wait_poll(struct stop *ret_stop);

/*
 * Between two looks: nothing at first, then naps. *start is when the wait began, 0: now. The processor is not given away:
 * beside others that run all the time a thread that yields waits for milliseconds until it is its turn (Linux 6.18).
 */
void wait_a_little(uint64_t *start);

/*
 * Give the processor away to a thread that runs on it and is about to stop, unless others want it so badly that it takes long to come
 * back: false, for a while. *start is when the wait began, 0: now.
 */
bool wait_yield(uint64_t *start);

/* Consume a stop, but not an end that has overtaken it. */
void tracer_consume_stop(pid_t tid);

#endif
