/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Before Linux 5.7 whoever looks at the memory of a process while one of its threads executes a
 * program waits for that, and cannot be woken: process_vm_readv(), open() of /proc/PID/maps. The
 * exec waits until the other threads are reaped. Where that is the business of the one who looks,
 * both wait for ever. So a thread beside the tracer reaps for it when it does not come back.
 */

#ifndef UBP_TRACE_REAPER_H
#define UBP_TRACE_REAPER_H

#include <stdbool.h>
#include <sys/types.h>

struct reaper;
struct stop;
struct tracer;

/* May this kernel do that? Nothing tells but what is younger (5.9): in doubt, yes. */
bool reaper_is_needed(void);

/*
 * On the tracing thread, which is at work: it attaches before it waits for the first time. NULL: it
 * cannot be had; one does without.
 */
struct reaper *reaper_start(struct tracer *tracer);
/* NULL is fine, for all of these. */
void reaper_stop(struct reaper *reaper);

/* A process of the tracer's; and no more. Threads of others are left alone. */
void reaper_mind(struct reaper *reaper, pid_t pid);
void reaper_forget(struct reaper *reaper, pid_t pid);

/* The tracer begins to wait for stops; or has one, and works on it: that may block. */
void reaper_waiting(struct reaper *reaper);
void reaper_working(struct reaper *reaper);

/* An end that was reaped and has not been told yet: as if it had been waited for. */
bool reaper_next(struct reaper *reaper, struct stop *ret_stop);

#endif
