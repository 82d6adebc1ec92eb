/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A tracer, from its beginning to its end: it waits for stops and handles them. */

#ifndef UBP_TRACE_WAIT_LOOP_H
#define UBP_TRACE_WAIT_LOOP_H

struct tracer;
struct tracer_ops;
struct ubp_err;

/* Returns 0 or a negative errno. Must be called on the tracing thread. */
int tracer_init(struct tracer *tracer, const struct tracer_ops *ops, void *ctx,
		struct ubp_err *err);

/*
 * Ends tracing: forgets all. The kernel lets go of every tracee when the tracing
 * thread ends, without stopping it; nothing of ours may be left in them.
 */
void tracer_fini(struct tracer *tracer);

/*
 * Wait for one stop and handle it. Returns 1, or 0 when tracer_wake() was
 * called or nothing is traced any more. Handles at most @max stops before it
 * returns.
 */
int tracer_run(struct tracer *tracer, unsigned max);

#endif
