/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Threads and processes that traced threads give birth to.
 *
 * The kernel reports a birth twice, in either order: an event stop of the parent
 * and the first stop of the child. The parent is held until the child has
 * stopped too, so that the owner sees both at the same moment of the memory. A
 * child that stops first waits in limbo.
 *
 * The kind of event tells nothing about shared memory: clone(CLONE_VM|SIGCHLD)
 * is reported as a fork. kcmp() tells.
 */

#ifndef UBP_TRACE_CHILDREN_H
#define UBP_TRACE_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

struct process;
struct space;
struct stop;
struct tracee;
struct tracer;

/* @parent has stopped for @event (PTRACE_EVENT_FORK or another birth): it goes on, or is let go with its child. */
void children_born(struct tracer *tracer, struct tracee *parent, int event);

/*
 * A stop of a thread that is not known. True: it is known from now on, and the stop is still to be handled. Else
 * there is nothing left to do.
 */
bool children_unknown(struct tracer *tracer, const struct stop *stop);

/* A thread took the id of a leader that was never ours, by an exec. NULL: none did. */
struct tracee *children_renamed(struct tracer *tracer, pid_t tid);

/* @t stands behind its exec, in a new image. */
void children_execed(struct tracer *tracer, struct tracee *t);

/* The last thread of @parent is dying: children that it could not report are taken up. */
void children_orphaned(struct tracer *tracer, struct process *parent);

/*
 * Thread @tid is traced, and there is no memory for its struct tracee: it runs unseen until it stops for
 * something, and is taken up then.
 */
void children_note_unseen(struct tracer *tracer, pid_t tid);
/* children_note_unseen() of a thread that has stopped for its birth: it goes on. */
void children_let_run_unseen(struct tracer *tracer, pid_t tid);

/* Does no unseen thread live in @space? */
bool children_all_seen(const struct tracer *tracer, const struct space *space);

#endif
