/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/dispatch.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/children.h"
#include "engine/trace/eintr.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/stand_in.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"
#include "engine/trace/waker.h"

#define AWAIT_TURN_MS 20

static void ended(struct tracer *tracer, const struct stop *stop)
{
	struct tracee *t = map_get(&tracer->tracees, (uint64_t)stop->tid);
	siginfo_t si;

	(void)again_waitid(P_PID, (id_t)stop->tid, &si,
			   WEXITED | WNOHANG | __WALL | __WNOTHREAD);
	map_remove(&tracer->limbo, (uint64_t)stop->tid);
	map_remove(&tracer->unseen, (uint64_t)stop->tid);
	stand_in_ended(&tracer->stand_in, stop->tid);
	/* Traced or let go: it is our child. */
	if (stop->tid == tracer->command)
		tracer->ops->command_ended(tracer->ctx, stop->wait_status);
	if (!t)
		return;
	if (t->process->n_tracees == 1 && tracer->limbo.n)
		children_orphaned(tracer, t->process);
	tracee_leave_frame(t);
	tracer_drop_tracee(tracer, t);
}

static void group_or_interrupt_stop(struct tracer *tracer, struct tracee *t, int sig)
{
	tracee_event_stop(t, sig);
	if (sig == SIGTRAP) {
		t->listening = false;
		/* In the middle of a step, perhaps blocked in a system call: the slot's own
		 * jump does the rest. A tracer that ends would leave the step on. */
		if (tracer->is_draining && !task_signal_pending(t->tid, SIGTRAP))
			t->stepping = false;
		t->drained = !tracee_has_trap(tracer, t);
		t->held = t->drained && t->process->stays && !tracer->is_draining;
		if (!t->held)
			tracee_resume(t, 0);
		return;
	}
	if (tracee_has_trap(tracer, t) && (!t->stepping || tracer->is_draining)) {
		/* Its SIGTRAP comes at once; behind it back into the group stop. */
		t->listening = false;
		tracee_resume(t, 0);
		t->want_interrupt = true;
		return;
	}
	/* Job control: stays stopped until SIGCONT, which is another stop. */
	t->drained = true;
	t->listening = true;
	if (t->remote.is_in)
		tracee_resume(t, 0); /* it stops again when it is let go */
	else
		(void)again_ptrace(PTRACE_LISTEN, t->tid, 0, 0);
}

static void trap(struct tracer *tracer, struct tracee *t)
{
	struct held held = held_thread(tracer, t, NULL);
	enum trap_verdict verdict = tracer->ops->trap(tracer->ctx, &held);

	/* It may have ended, or gone on in a new image, while the owner worked on it. */
	if (held_lasts(&held) && !t->held)
		tracee_resume(t, verdict == TRAP_FOREIGN ? SIGTRAP : 0);
}

/*
 * Untraced, a signal that is ignored wakes nobody; traced, it breaks system calls
 * off. One that will stop the process breaks them off anyway.
 */
static bool breaks_off_untraced(pid_t tid, int sig)
{
	if (sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
		return !task_signal_ignored(tid, sig);
	return sig == SIGSTOP;
}

static void signal_stop(struct tracer *tracer, struct tracee *t, int sig)
{
	struct held held = held_thread(tracer, t, NULL);
	bool is_ours = tracer->ops->signal(tracer->ctx, &held, sig);

	/* It may have ended while the owner worked on it. */
	if (!held_lasts(&held) || t->parked)
		return;
	if (is_ours) {
		tracee_resume(t, 0);
		return;
	}
	if (eintr_is_broken_off(t) && task_catches(t->tid, sig))
		eintr_keep(t);
	else if (!breaks_off_untraced(t->tid, sig))
		eintr_redo(t); /* it is EINTR still if a handler runs */
	tracee_resume(t, sig);
}

void tracer_dispatch(struct tracer *tracer, const struct stop *stop)
{
	struct tracee *t;

	if (stop->exited) {
		ended(tracer, stop);
		return;
	}
	t = map_get(&tracer->tracees, (uint64_t)stop->tid);
	if (!t && stop->event == PTRACE_EVENT_EXEC)
		t = children_renamed(tracer, stop->tid);
	if (!t) {
		if (children_unknown(tracer, stop))
			tracer_dispatch(tracer, stop);
		return;
	}
	t->remote.at_large = false;
	t->held = false; /* it ran, or this stop was left to be looked at later */
	t->remote.stops_again = false;
	switch (stop->event) {
	case 0:
		break;
	case PTRACE_EVENT_STOP:
		group_or_interrupt_stop(tracer, t, stop->sig);
		return;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		children_born(tracer, t, stop->event);
		return;
	case PTRACE_EVENT_EXEC:
		children_execed(tracer, t);
		return;
	case PTRACE_EVENT_VFORK_DONE:
		tracer->ops->vfork_done(tracer->ctx, t);
		tracee_resume(t, 0);
		return;
	case PTRACE_EVENT_EXIT:
		t->ends = true;
		tracer->ops->ending(tracer->ctx, t);
		tracee_resume(t, 0);
		return;
	default:
		tracee_resume(t, 0);
		return;
	}
	if (stop->sig == SIGTRAP) {
		trap(tracer, t);
	} else if (stop->sig == (SIGTRAP | 0x80)) {
		tracee_resume(t, 0);
	} else {
		signal_stop(tracer, t, stop->sig);
	}
}

static void reap_threads(struct tracer *tracer, const struct tracee *of)
{
	struct stop stop;
	size_t n;
	pid_t *tids = space_ids(tracer, of->process->space, of->process, &n), own = of->tid;

	for (size_t i = 0; tids && i < n; i++)
		if (tids[i] != own && map_get(&tracer->tracees, (uint64_t)tids[i]) &&
		    wait_look(tids[i], &stop) == 1 &&
		    (stop.exited || stop.event == PTRACE_EVENT_EXIT))
			tracer_dispatch(tracer, &stop);
	ids_give(tracer, tids);
}

int tracer_await(struct tracer *tracer, struct tracee *t, unsigned limit_ms,
		 struct stop *ret_stop)
{
	pid_t tid = t->tid;
	int rc;

	/* Who is told of a stop that it can't end would be told of it for ever. */
	for (unsigned ms = 0; ms < limit_ms && !again_is_hopeless(); ms += AWAIT_TURN_MS) {
		unsigned left = limit_ms - ms;

		tracer->ops->meanwhile(tracer->ctx);
		if (!tracer_has(tracer, t, tid))
			return -ESRCH;
		rc = wait_one(tid, left < AWAIT_TURN_MS ? left : AWAIT_TURN_MS, ret_stop);
		if (rc != 0)
			return rc;
		reap_threads(tracer, t);
		if (!tracer_has(tracer, t, tid))
			return -ESRCH;
	}
	return 0;
}

/* It was rung; or somebody killed it. */
static void waker_stopped(struct tracer *tracer, const struct stop *stop)
{
	struct ubp_err err;

	if (!stop->exited) {
		waker_quiet(tracer->waker);
		return;
	}
	waker_end(tracer->waker);
	/* Without one, tracing goes on, and ends when the last tracee does. */
	tracer->waker = waker_start(&err);
}

void tracer_handle(struct tracer *tracer, const struct stop *stop)
{
	if (stop->tid == tracer->waker)
		waker_stopped(tracer, stop);
	else
		tracer_dispatch(tracer, stop);
}

void tracer_poll(struct tracer *tracer, unsigned max)
{
	struct stop stop;

	for (unsigned i = 0; i < max && !tracer->n_parked && wait_poll(&stop); i++)
		tracer_handle(tracer, &stop);
}
