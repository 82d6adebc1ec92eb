/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The tracing thread of a session: all of it is for that thread alone, where nothing else is said. */

#ifndef UBP_SESSION_TRACING_H
#define UBP_SESSION_TRACING_H

#include "engine/session/state.h"

/* run.c: the tracing thread. */
void *run_thread(void *arg);
/* For that thread alone: plant_update(), and a word about what the user should know. */
int session_plant(struct ubp_session *s, const struct held *held, struct ubp_err *err);
/* There is nothing left to trace: ubp_dispatch() tells so. */
void session_end(struct ubp_session *s);

/* tracer_ops.c, on the tracing thread: what the tracer asks; its context is the session. */
extern const struct tracer_ops session_tracer_ops;
/* loader.c: hit_options.loader; @ctx: the session. */
void loader_stopped(void *ctx, const struct held *held);
/* Those that were kept in their stops, and have credit now, are looked at and go on: one at each call. */
void loader_pass(struct ubp_session *s);
/* The session ends: they go on, and nobody is kept any more. */
void loader_end(struct ubp_session *s);
/* tracer_ops.c: the mappings of a process have changed: look at them, and plant what is new. */
void session_mappings_changed(struct ubp_session *s, const struct held *held);
/* Are processes to be kept that a traced one gives birth to? */
bool session_follows_children(const struct ubp_session *s);

/*
 * release.c, on that thread: processes that cannot be traced any longer. Whoever waits for
 * that is parked (tracer.h) and goes on after the pass.
 */
void release_pass(struct ubp_session *s);
/* @sig is about to be delivered to the thread, and would end it if it were not traced: it is parked. */
void release_if_spared(struct ubp_session *s, const struct held *held, int sig);
/* hit_options.tracing; @ctx: the session. */
void release_for_tracing(void *ctx, const struct held *held, enum site_watch watch);
/* Take everything out of a process that lives in memory of its own, and let go of it. */
void release_process(struct ubp_session *s, pid_t pid);

/* changes.c, on that thread, between two of its turns. */
void changes_pass(struct ubp_session *s);
/* targets.c: one more of .pids, or one less. 0 or -errno: it is as before. */
int targets_add(struct ubp_session *s, pid_t pid, struct ubp_err *err);
int targets_remove(struct ubp_session *s, pid_t pid, struct ubp_err *err);
/* targets.c: is it traced, and was planted in by an older list of probes? */
bool targets_lacks_new(const struct ubp_session *s, pid_t pid);
/* Plant what is new there; the process stays, whatever comes of it. 0 also where it has ended; -errno: it does not have it. */
int targets_plant_again(struct ubp_session *s, pid_t pid, struct ubp_err *err);
/* Those that are not traced yet may map what is new. */
void targets_look_again(struct ubp_session *s);

/* planting.c, on that thread: plant in @p, which is seized; it is let go of if that fails. */
int targets_plant_in(struct ubp_session *s, struct process *p, struct ubp_err *err);
/* One that has probes already, or nothing yet that needs the guard; it stays, whatever comes of it. */
int targets_plant_more(struct ubp_session *s, struct process *p, struct ubp_err *err);
/* The other processes in the memory of @pid are to have the guard, too. */
void targets_plant_in_sharers(struct ubp_session *s, pid_t pid);

/* targets.c, on that thread: attach to what the options ask for. */
int targets_begin(struct ubp_session *s, struct ubp_err *err);
/* The session ends if all have ended that it is for: behind targets_begin(), and when one has ended. */
void targets_end_with_last(struct ubp_session *s);
/* Those that map a probed file. What may not be traced is counted and passed over; the list is
 * overwritten. */
void targets_try(struct ubp_session *s, pid_t *pids, size_t n);
/*
 * Seize new process @pid, and have its thread @tid (0: its only one) stop, until targets_try() is told of it.
 * 0 also where it is not to be traced.
 */
int targets_stop_soon(struct ubp_session *s, pid_t pid, pid_t tid);

/* newcomers.c: begin to look for those that start later (finder.h). */
int newcomers_begin(struct ubp_session *s, struct ubp_err *err);
/* The tracing thread has ended: those that it did not come to are counted, if they have. */
void newcomers_end(struct ubp_session *s);
/* On the tracing thread: attach to those that were found; first to those that wait for it. */
void newcomers_take(struct ubp_session *s);
/* Only seize those that wait, and those that may end soon: they are attached to later. */
void newcomers_take_held(struct ubp_session *s);
/* A few of them, in the middle of the work on another. */
void newcomers_meanwhile(struct ubp_session *s);
/* Has it executed a program just now? */
bool newcomers_has_executed(struct ubp_session *s, pid_t pid);
/* Does it map a probed file? */
enum finder_verdict newcomers_wants(void *ctx, pid_t pid);
/* Is it traced, or never to be? */
bool newcomers_is_known(void *ctx, pid_t pid);
/* Is it traced, for the finder of new ones. */
void session_mark_known(struct ubp_session *s, pid_t pid, bool known);
/* It has ended, was traced before: the finder may still come to look at it. */
void session_mark_gone(struct ubp_session *s, pid_t pid);
/* One more was traced, for --stats. */
void session_count_process(struct ubp_session *s);
/* It ran a probed program, and has ended before it was traced. */
void session_count_late(struct ubp_session *s, pid_t pid);
/* One is passed over; of the first it is kept which, and why. Under the session's lock. */
__attribute__((format(printf, 2, 3))) void session_count_skipped(struct ubp_session *s,
								 const char *fmt, ...);
/*
 * Does it keep us waiting, and is it left alone for a while? Then that is told and counted once, with @err, and it is
 * found again.
 */
bool session_leave_alone(struct ubp_session *s, pid_t pid, const struct ubp_err *err);

#endif
