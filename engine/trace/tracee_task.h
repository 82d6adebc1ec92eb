/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a hit wants to know about its thread, kept with it (struct tracee_task). What is asked anew each
 * time: task.h.
 */

#ifndef UBP_TRACE_TRACEE_TASK_H
#define UBP_TRACE_TRACEE_TASK_H

#include <stdbool.h>
#include <stdint.h>

struct tracee;

/*
 * The tracee's name, at most 10 ms old: cached, because reading it costs a
 * system call or three. @now_ns: monotonic time.
 */
const char *task_comm_cached(struct tracee *t, uint64_t now_ns);

/* The thread changed its image: forget what was cached. */
void task_forget(struct tracee *t);

/*
 * Where a stopped tracee's CPU number can be read with its memory (its struct
 * rseq), or 0 when it has none registered.
 */
uint64_t task_rseq_cpu_vaddr(struct tracee *t);

/* Is a stopped tracee inside a restartable sequence (rseq)? */
bool task_in_rseq(struct tracee *t);

/* The only CPU this thread may use, or -1. Cached for 10 ms. */
int task_one_cpu(struct tracee *t, uint64_t now_ns);

/* CPU of a stopped tracee from /proc; the expensive way. */
unsigned task_cpu_from_proc(struct tracee *t);

#endif
