/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes as events of the stream (ubp_tell_processes()): when one is traced from then on, executes another program, is traced no more. Their records
 * are in the queue, so they come in the order of time with all others. On the tracing thread.
 */

#ifndef UBP_SESSION_PROCESSES_H
#define UBP_SESSION_PROCESSES_H

#include <sys/types.h>

struct process;
struct ubp_session;

/* Probes are about to be planted in it, or it has its mother's. Once for each process. */
void processes_begin(struct ubp_session *s, const struct process *p);
/* Nothing of the new program has run yet. */
void processes_execute(struct ubp_session *s, const struct process *p);
void processes_end(struct ubp_session *s, pid_t pid);

#endif
