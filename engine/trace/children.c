/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/held.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/task.h"
#include "engine/trace/tracee_task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define BIRTH_LIMIT_MS 5000

static bool shares_memory(pid_t a, pid_t b, int event)
{
	int rc = task_shares_memory(a, b);

	/* Where kcmp() is forbidden, the usual meaning of the event has to do. */
	return rc < 0 ? event == PTRACE_EVENT_VFORK : rc;
}

void children_note_unseen(struct tracer *tracer, pid_t tid)
{
	tracer->lost_sight |= map_put(&tracer->unseen, (uint64_t)tid, tracer) < 0;
}

bool children_all_seen(const struct tracer *tracer, const struct space *space)
{
	const struct process *p;
	size_t pos = 0;
	uint64_t tid;

	while (map_next(&tracer->unseen, &pos, &tid, NULL)) {
		p = map_get(&tracer->processes, (uint64_t)task_tgid((pid_t)tid));
		if (p && p->space == space)
			return false;
	}
	return !tracer->lost_sight;
}

void children_let_run_unseen(struct tracer *tracer, pid_t tid)
{
	children_note_unseen(tracer, tid);
	(void)again_ptrace(PTRACE_CONT, tid, 0, 0);
}

/* A new thread group @pid, stopped at its first instruction. */
static void new_process(struct tracer *tracer, struct process *parent, pid_t born_of, pid_t pid,
			bool shares, int event)
{
	struct space *space;
	struct process *p = NULL;
	struct tracee *t = NULL;
	enum keep_verdict verdict;
	struct held held;
	struct ubp_err err;

	space = shares ? parent->space : space_new(tracer, parent->space->arch, pid, &err);
	if (space && !shares)
		care_copy(&space->care, &parent->space->care);
	if (space)
		p = tracer_add_process(tracer, pid, space);
	if (p)
		t = tracer_add_tracee(tracer, p, pid);
	if (!t) {
		/* Out of memory, or it was killed already. It may run into a breakpoint that
		 * only its guard handles, which is told; there is nothing better left to do. */
		if (p)
			tracer_drop_process(tracer, p);
		tracer->n_untaken += task_state(pid) != 0;
		(void)again_ptrace(PTRACE_DETACH, pid, 0, 0);
		return;
	}
	t->held = true;
	p->born_of = born_of;
	p->is_vforked = event == PTRACE_EVENT_VFORK;
	held = held_thread(tracer, t, NULL);
	verdict = tracer->ops->forked(tracer->ctx, parent, &held, shares);
	if (!held_lasts(&held))
		return; /* it was killed meanwhile */
	if (verdict == LET_GO)
		tracer_detach(tracer, t);
	else
		tracee_resume(t, 0);
}

static void new_thread(struct tracer *tracer, struct process *p, pid_t mother, pid_t tid)
{
	struct tracee *t = tracer_add_tracee(tracer, p, tid);
	struct held held;

	if (!t) {
		children_let_run_unseen(tracer, tid);
		return;
	}
	held = held_thread(tracer, t, NULL);
	tracer->ops->born(tracer->ctx, mother, &held);
	tracee_resume(t, 0);
}

/*
 * Who was born of @parent_tid, which has stopped for that; the child has stopped, too, for its birth, and
 * that stop is consumed; so is that of one that was killed then. 0: nobody. It has ended; or it runs already,
 * for there was no memory to note it, and has stopped for something else. That is reported on its own, and
 * must not be lost: after a breakpoint it would go on in the middle of an instruction.
 */
static pid_t child_of(struct tracer *tracer, pid_t parent_tid)
{
	unsigned long message = 0;
	struct stop stop;
	pid_t tid;

	if (again_ptrace(PTRACE_GETEVENTMSG, parent_tid, 0, &message) < 0 || message == 0)
		return 0;
	tid = (pid_t)message;
	if (map_remove(&tracer->limbo, (uint64_t)tid))
		return tid; /* it has stopped before */
	if (map_get(&tracer->unseen, (uint64_t)tid))
		return 0; /* ... and goes on already */
	if (wait_one(tid, BIRTH_LIMIT_MS, &stop) != 1 || stop.exited ||
	    (stop.event != PTRACE_EVENT_STOP && stop.event != PTRACE_EVENT_EXIT))
		return 0;
	tracer_consume_stop(tid);
	return tid;
}

void children_born(struct tracer *tracer, struct tracee *parent, int event)
{
	pid_t parent_tid = parent->tid, tid = child_of(tracer, parent_tid);

	if (!tid) {
		tracee_resume(parent, 0);
		return;
	}
	if (task_tgid(tid) == parent->process->pid)
		new_thread(tracer, parent->process, parent_tid, tid);
	else
		new_process(tracer, parent->process, parent_tid, tid,
			    shares_memory(parent_tid, tid, event), event);
	/* It may have ended while the owner worked on the child. */
	if (tracer_has(tracer, parent, parent_tid))
		tracee_resume(parent, 0);
}

static bool take_up(struct tracer *tracer, pid_t tid)
{
	pid_t pid = task_tgid(tid);
	struct process *p = pid ? map_get(&tracer->processes, (uint64_t)pid) : NULL;

	return p && tracer_add_tracee(tracer, p, tid);
}

/* There was no memory for its mother; nobody would let it go later. */
static void let_child_go(struct tracer *tracer, pid_t parent_tid)
{
	pid_t tid = child_of(tracer, parent_tid);

	if (tid && task_tgid(tid) == task_tgid(parent_tid))
		children_let_run_unseen(tracer, tid);
	else if (tid)
		(void)again_ptrace(PTRACE_DETACH, tid, 0, 0);
}

/* There is no memory for it yet. A group stop lasts until SIGCONT, which is another stop. */
static void let_unseen_go(const struct stop *stop)
{
	tracer_consume_stop(stop->tid);
	(void)again_ptrace(stop->sig == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, stop->tid, 0, 0);
}

bool children_unknown(struct tracer *tracer, const struct stop *stop)
{
	bool is_unseen;

	/* The command, let go, asks its parent to trace it: that is not what we are. */
	if (stop->tid == tracer->command && !stop->event) {
		(void)again_ptrace(PTRACE_DETACH, stop->tid, 0,
				   stop->sig == SIGTRAP ? 0 : stop->sig);
		return false;
	}
	/* Its first such stop is a birth's. */
	is_unseen = map_get(&tracer->unseen, (uint64_t)stop->tid);
	if (is_unseen || stop->event != PTRACE_EVENT_STOP) {
		if (take_up(tracer, stop->tid))
			return true;
		if (stop->event == PTRACE_EVENT_STOP) {
			let_unseen_go(stop);
			return false;
		}
		tracer->n_untaken++;
		if (stop->event == PTRACE_EVENT_CLONE || stop->event == PTRACE_EVENT_FORK ||
		    stop->event == PTRACE_EVENT_VFORK)
			let_child_go(tracer, stop->tid);
		(void)again_ptrace(PTRACE_CONT, stop->tid, 0, stop->event ? 0 : stop->sig);
		return false;
	}
	tracer_consume_stop(stop->tid);
	if (map_put(&tracer->limbo, (uint64_t)stop->tid, tracer) < 0)
		children_let_run_unseen(tracer, stop->tid);
	return false;
}

/*
 * The last thread of @parent is dying, perhaps killed before it could report a
 * child: one in limbo that belongs to no process we know, and whose parent is
 * none of them, is taken for its child. It has a copy of its memory, with our
 * breakpoints in it. (A thread in limbo dies with its process.)
 */
void children_orphaned(struct tracer *tracer, struct process *parent)
{
	uint64_t tid;
	size_t pos = 0;

	while (map_next(&tracer->limbo, &pos, &tid, NULL)) {
		pid_t tgid = task_tgid((pid_t)tid), ppid = task_ppid((pid_t)tid);

		if (tgid == 0 || map_get(&tracer->processes, (uint64_t)tgid) ||
		    (ppid != parent->pid && map_get(&tracer->processes, (uint64_t)ppid)))
			continue;
		map_remove(&tracer->limbo, tid);
		new_process(tracer, parent, 0, (pid_t)tid, false, 0);
		pos = 0;
	}
}

/* The old image is gone, with the frames of remote calls in it. */
static void drop_other_threads(struct tracer *tracer, struct process *p, struct tracee *keep)
{
	struct tracee *next;

	for (struct tracee *t = p->tracees; t; t = next) {
		next = t->next;
		tracee_leave_frame(t);
		if (t != keep)
			tracer_drop_tracee(tracer, t);
	}
}

struct tracee *children_renamed(struct tracer *tracer, pid_t tid)
{
	unsigned long former = 0;
	struct tracee *t;

	/* Until this stop is consumed the kernel knows no such tracee. */
	tracer_consume_stop(tid);
	if (again_ptrace(PTRACE_GETEVENTMSG, tid, 0, &former) < 0)
		return NULL;
	t = map_get(&tracer->tracees, former);
	if (!t || t->process->pid != tid || map_put(&tracer->tracees, (uint64_t)tid, t) < 0)
		return NULL;
	map_remove(&tracer->tracees, former);
	t->tid = tid;
	return t;
}

/* Nothing was wrong with the process: we were short of something. */
static bool is_shortage(const struct ubp_err *err)
{
	return err->code == ENOMEM || err->code == EMFILE || err->code == ENFILE;
}

/*
 * After an exec the group has one thread, whose id is the group's; the others
 * are gone, some without a word.
 */
void children_execed(struct tracer *tracer, struct tracee *t)
{
	struct process *p = t->process;
	struct space *space;
	enum keep_verdict verdict;
	struct held held;
	struct ubp_err err;

	tracee_consume(t);
	p->execing = true;
	p->is_vforked = false;
	drop_other_threads(tracer, p, t);
	tracer->ops->tracee_gone(tracer->ctx, t); /* what it was in the old image */
	p->execing = p->stays = false;
	t->ends = false; /* if another thread's exec has ended it */
	ubp_err_reset(&err);
	space = space_new(tracer, NULL, p->pid, &err);
	if (!space) { /* it runs on, untraced */
		tracer->n_untaken += is_shortage(&err) && task_state(t->tid) != 0;
		tracer_detach(tracer, t);
		return;
	}
	care_move(&space->care, &p->space->care);
	process_move(tracer, p, space);
	space_settle_exec(space, t->tid);
	task_forget(t);
	tracer_forget_parked(tracer, t);
	t->n_execs++;
	t->held = true;
	t->stepping = false;
	t->remote.is_in = false;
	t->remote.called = false;
	t->remote.by_signal = false;
	held = held_thread(tracer, t, NULL);
	verdict = tracer->ops->execed(tracer->ctx, &held);
	if (!held_lasts(&held))
		return; /* it was killed meanwhile, or went on in the next image */
	if (verdict == LET_GO)
		tracer_detach(tracer, t);
	else if (t->held)
		tracee_resume(t, 0);
}
