/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stops are handled: what each is, who is asked about it, and how its thread goes on. */

#ifndef UBP_TRACE_DISPATCH_H
#define UBP_TRACE_DISPATCH_H

struct stop;
struct tracee;
struct tracer;

/* Handle a stop, or an end, and let the thread go on unless it is held. */
void tracer_dispatch(struct tracer *tracer, const struct stop *stop);

/* tracer_dispatch() for any stop that was waited for, which may be the waker's. */
void tracer_handle(struct tracer *tracer, const struct stop *stop);

/* Handle the stops that wait, @max at most, and do not wait for more. */
void tracer_poll(struct tracer *tracer, unsigned max);

/*
 * The next stop of @t, waiting at most @limit_ms. Meanwhile threads of its process
 * that ended are reaped: an exec waits for that. Returns as wait_one(); -ESRCH also
 * when @t is no longer traced.
 */
int tracer_await(struct tracer *tracer, struct tracee *t, unsigned limit_ms,
		 struct stop *ret_stop);

/*
 * A thread that made a remote call and was let go stops once more, on its way out of the system call that it was in
 * (tracee_leave_stub()). Wait for those stops and handle them, for @limit_ms at most.
 */
void tracer_settle(struct tracer *tracer, unsigned limit_ms);

#endif
