/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Seizing running processes, and starting commands under the tracer. */

#ifndef UBP_TRACE_ATTACH_H
#define UBP_TRACE_ATTACH_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "engine/trace/tracer.h"

/*
 * Seize all threads of process @pid; none is stopped by it. Errors: -ESRCH,
 * -EPERM (the text names the reason), -ENOTSUP for an instruction set that ubp
 * cannot trace. On failure nothing stays seized.
 */
int attach_process(struct tracer *tracer, pid_t pid, struct process **ret_process,
		   struct ubp_err *err);

/*
 * The processes @pids have just been seized: seize those that share their memory without
 * being their children of ours, which would run into their breakpoints. All of one memory get one
 * space; those not yet traced are marked silent. @refused is told when one of them may not be
 * traced (@err: errors as above), of process @pid's memory. What was seized stays so.
 */
typedef void sharer_refused_fn(void *ctx, pid_t pid, int rc, const struct ubp_err *err);
void attach_sharers(struct tracer *tracer, const pid_t *pids, size_t n,
		    sharer_refused_fn *refused, void *ctx);

/*
 * Give up a process that attach_process() has just returned and in which
 * nothing was changed. A thread that cannot be stopped now stays traced.
 */
void attach_undo(struct tracer *tracer, pid_t pid);

/*
 * Get hold of a thread of @p: stopped, without a trap of ours pending, t->held
 * set. A running thread is preferred to one that is blocked, and none is taken from
 * a restartable sequence (rseq), which it could not go on with. Returns 0, -ESRCH
 * when the process ended, -ETIMEDOUT when no thread could be stopped.
 */
int attach_hold_one(struct tracer *tracer, struct process *p, struct tracee **ret_tracee,
		    struct ubp_err *err);

/* Stop this very thread. 1: it is held; 0: not now; -ESRCH: it is gone. */
int attach_hold(struct tracer *tracer, struct tracee *t);

/* Let a held thread go on, into a group stop if it was taken from one. */
void attach_let_go(struct tracee *t);

/*
 * Hold the other threads of @t's address space, as far as they can be stopped.
 * Returns their ids (malloc()ed, for attach_let_others_go(), which frees them).
 */
pid_t *attach_hold_others(struct tracer *tracer, const struct tracee *t, size_t *ret_n);
void attach_let_others_go(struct tracer *tracer, pid_t *tids, size_t n);

/* What a command gets from the caller, whatever ubp needs for itself. */
struct inherited {
	sigset_t mask;
	struct rlimit nofile;
};

/*
 * Start argv[0] (looked up in PATH), seized, stopped behind its exec: the
 * returned tracee is held. Errors: errno of execvp(), with a text.
 */
int attach_command(struct tracer *tracer, char *const argv[], const struct inherited *inherited,
		   struct tracee **ret_tracee, struct ubp_err *err);

/*
 * After everything of ours was taken out of the memory of @p (NULL: of all): see
 * each thread stopped once without a trap of ours pending, unless it is blocked in
 * the kernel. Then nothing of ours can be met any more, and it may be let go. Takes
 * as long as stops keep coming, but no longer than 20 s.
 */
void attach_drain(struct tracer *tracer, const struct process *p);

#endif
