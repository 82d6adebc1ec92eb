/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Seizing running processes. A program that ubp starts: command.h. */

#ifndef UBP_TRACE_ATTACH_H
#define UBP_TRACE_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

struct held;
struct process;
struct space;
struct tracee;
struct tracer;
struct ubp_err;

/*
 * Seize all threads of process @pid; none is stopped by it. Errors: -ESRCH,
 * -EPERM (the text names the reason), -ENOTSUP for an instruction set that ubp
 * cannot trace. On failure nothing stays seized.
 */
int attach_process(struct tracer *tracer, pid_t pid, struct process **ret_process,
		   struct ubp_err *err);

/*
 * Seize thread @tid, which is held while it executes a program (exec_hold.h), and nothing but that: its
 * exec will be reported. Its process is marked (.at_exec) until then. Returns 0 also where it is traced
 * already; else as attach_process().
 */
int attach_at_exec(struct tracer *tracer, pid_t tid, struct ubp_err *err);
/*
 * The exec of such a process @p was not reported: it was over when the thread was seized. What it
 * runs now is taken up as by attach_process(); on failure it is let go.
 */
int attach_executed(struct tracer *tracer, struct process *p, struct ubp_err *err);
/* Has the exec of such a process been reported, and nobody has come to that yet? Then it is looked at now. */
void attach_look_at_exec(struct tracer *tracer, pid_t pid);
/* The exec of such a process has failed: it is let go, unless its exec is reported now. */
void attach_not_executed(struct tracer *tracer, pid_t pid);

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
 * The same for one that has executed its program since its birth: only its children can share that
 * memory, and they have later numbers.
 */
void attach_sharers_since_exec(struct tracer *tracer, pid_t pid, sharer_refused_fn *refused,
			       void *ctx);

/*
 * Lives anybody in the memory of @space that is not traced? Those that are traced and have not been told of yet are in
 * the stop that they are born to.
 */
bool sharers_are_at_large(const struct tracer *tracer, const struct space *space);
/*
 * The process in @space whose leader hides a child from tracers (CLONE_UNTRACED) that lives there, too; NULL: none does. Other threads are not asked:
 * one stands still meanwhile, however many there are, and leak checkers run where programs end.
 */
const struct process *sharers_hidden(const struct space *space);

/*
 * Give up a process that attach_process() has just returned and in which
 * nothing was changed. A thread that cannot be stopped now stays traced.
 */
void attach_undo(struct tracer *tracer, pid_t pid);

/* Do all threads of @p wait in the kernel for something that no signal ends, as for a child of vfork()? */
bool attach_is_stuck(const struct process *p);
/*
 * Get hold of a thread of @p: stopped, without a trap of ours pending, t->held
 * set. A running thread is preferred to one that is blocked, one that is blocked in a call which
 * the kernel makes again by itself to any other, and none is taken from
 * a restartable sequence (rseq), which it could not go on with. Returns 0, -ESRCH
 * when the process ended, -ETIMEDOUT when no thread could be stopped.
 */
int attach_hold_one(struct tracer *tracer, struct process *p, struct held *ret_held,
		    struct ubp_err *err);

/*
 * Hold a thread of @p (as attach_hold_one()), and one of each other process in its memory: those are
 * *ret_tids, for attach_let_others_go(). Nobody is stopped while one of them can't be: it waits for its
 * vfork() child, perhaps. -ETIMEDOUT: that takes too long.
 */
int attach_hold_each(struct tracer *tracer, struct process *p, struct held *ret_held,
		     pid_t **ret_tids, size_t *ret_n, struct ubp_err *err);

/*
 * As attach_process(), for one that may end soon, or is to run no further: its thread @tid is asked to stop, and
 * is held then until attach_hold_one() or attach_let_stay(). Does not wait for that. The process is marked
 * (.waits) for its owner, who sees to it in its turn. Also where nothing is asked, since others run there.
 * @tid 0: its only thread, if it has but one.
 */
int attach_to_wait(struct tracer *tracer, pid_t pid, pid_t tid, struct ubp_err *err);
/* It need not stay any longer. */
void attach_let_stay(struct process *p);

/* Stop this very thread. 1: it is held; 0: not now; -ESRCH: it is gone. */
int attach_hold(struct tracer *tracer, struct tracee *t);
/* As attach_hold(), for up to 3 s: a thread that waits for its vfork() child stops when that has gone on. */
int attach_hold_patiently(struct tracer *tracer, struct tracee *t);

/* Let a held thread go on, into a group stop if it was taken from one. */
void attach_let_go(struct tracee *t);

/*
 * Hold the other threads of @t's address space, as far as they can be stopped.
 * Returns their ids (ids.h; for attach_let_others_go(), which gives them back).
 */
pid_t *attach_hold_others(struct tracer *tracer, const struct tracee *t, size_t *ret_n);
void attach_let_others_go(struct tracer *tracer, pid_t *tids, size_t n);

#endif
