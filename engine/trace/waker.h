/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A way to wake a thread that blocks in waitid(). Signals would do it, but their
 * dispositions belong to the host program; so the tracer keeps a child that does
 * nothing, and whoever wants to wake it sends the child a signal: that is a stop
 * like any other.
 */

#ifndef UBP_TRACE_WAKER_H
#define UBP_TRACE_WAKER_H

#include <sys/types.h>

struct ubp_err;

/* Returns its pid, or a negative errno. On the tracing thread. */
pid_t waker_start(struct ubp_err *err);

/* From any thread. */
void waker_ring(pid_t waker);

/* The tracer has seen its stop. */
void waker_quiet(pid_t waker);

void waker_end(pid_t waker);

/*
 * In a child of the tracing thread, whose process is @parent: from now on it ends with that thread,
 * holds no descriptor but @keep (-1: none), and a terminal's signals do not reach it.
 */
void waker_become_one(pid_t parent, int keep);

#endif
