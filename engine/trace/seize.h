/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Seizing threads, each in a limited time (seize_limit.h). -EBUSY of these functions: the process kept us waiting,
 * and is left alone for a while (seize_late.h), after which it may be tried again.
 */

#ifndef UBP_TRACE_SEIZE_H
#define UBP_TRACE_SEIZE_H

#include <sys/types.h>

struct process;
struct tracer;
struct ubp_err;

/* May process @pid be tried now? Returns 0 or -EBUSY. */
int seize_may_try(struct tracer *tracer, pid_t pid, struct ubp_err *err);

/* One thread of @p. Returns 0 or -errno, with a text that explains it (permission.h). */
int seize_thread(struct tracer *tracer, struct process *p, pid_t tid, struct ubp_err *err);

/* All threads of @p, also those that are born meanwhile. On failure some may be seized. */
int seize_threads(struct tracer *tracer, struct process *p, struct ubp_err *err);

#endif
