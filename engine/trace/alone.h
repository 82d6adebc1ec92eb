/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes that nobody traces for a while, though what was planted in them stands: they are alone. Such a
 * process is known as before (tracer.processes, its space, and what its owner has of it), and has no
 * threads. A thread of our own watches for its end, and for an exec, and wakes the tracer.
 */

#ifndef UBP_TRACE_ALONE_H
#define UBP_TRACE_ALONE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/trace/alone_watch.h"

struct process;
struct tracer;
struct ubp_err;

/*
 * Let go of all threads of @p. Nobody must be about to meet a trap that only the tracer deals with. @bell tells that it
 * wants to be traced again. Returns 0; -errno: its
 * threads are traced as before, or it has another space, of the program that it has executed; -ESRCH: it has ended, and is forgotten. Stops are handled meanwhile, of others, too.
 */
int alone_begin(struct tracer *tracer, struct process *p, const struct alone_bell *bell);

/*
 * Seize all threads of @p again. Errors: as attach_process(), and it is alone as before; -ESTALE: it runs
 * another program, alone_executed().
 */
int alone_end(struct tracer *tracer, struct process *p, struct ubp_err *err);

/* What became of @p, as far as the watching thread has seen. */
enum alone_state alone_look(const struct tracer *tracer, const struct process *p);
/* It asked for a tracer, and could not have one: it may ask again. */
void alone_heard(const struct tracer *tracer, const struct process *p);
/* Has anything become of any of them since the last call? */
bool alone_take_news(struct tracer *tracer);

/* It has ended: its owner is told (tracer_ops.process_gone), and it is forgotten. */
void alone_forget(struct tracer *tracer, struct process *p);
/*
 * It runs another program: it is seized again, with a new space. On failure it is forgotten; -EBUSY: but it can't be seized
 * now, and stays alone until the next try (seize_may_try()).
 */
int alone_executed(struct tracer *tracer, struct process *p, struct ubp_err *err);

/* The tracer ends, and has no threads any more: who is alone is forgotten, the watching thread ends. */
void alone_fini(struct tracer *tracer);

#endif
