/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/attach.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/permission.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/seize.h"
#include "engine/trace/task.h"
#include "engine/trace/tracee_task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define CRITICAL_MAX   100 /* threads found in a restartable sequence, before one is taken */
#define STOP_LIMIT_MS  500 /* for one thread to stop */
#define ONE_TURN_MS    50  /* ... where any will do */
#define ASLEEP_TURN_MS 1   /* ... and it sleeps, as until a child of vfork() has gone, whose stops wait meanwhile */
#define OTHERS_MAX     64  /* stops of others that are looked after in between */
#define LOOKS          32  /* between two looks at who has stopped */
#define ONE_LIMIT_NS   10000000000ULL /* for one of any ... */
#define STUCK_LIMIT_NS 3000000000ULL  /* ... where all wait, perhaps for a slow disk */

/* All threads of @p, which is let go if that is not to be had. */
static int seize_all(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	struct space *space = p->space;
	pid_t pid = p->pid;
	int rc = seize_threads(tracer, p, err);

	/* From now on an exec is reported; one just before has left the old memory. */
	if (rc == 0 && p->n_tracees > 0 && space->refs == 1) {
		mem_close(&space->mem);
		rc = mem_open(&space->mem, task_live_thread(pid), err);
	}
	if (rc == 0 && p->n_tracees > 0)
		return 0;
	if (rc == 0)
		rc = ubp_fail(err, ESRCH, "no process %d", (int)pid);
	if (p->n_tracees > 0)
		attach_undo(tracer, pid);
	else
		tracer_drop_process(tracer, p);
	return rc;
}

int attach_process(struct tracer *tracer, pid_t pid, struct process **ret_process,
		   struct ubp_err *err)
{
	pid_t live = task_live_thread(pid);
	struct process *p;
	struct space *space;
	int rc;

	/* A tracer that it has is no reason yet: one like us lets go of it when we attach. */
	if (!live)
		return permission_explain(pid, live ? live : pid, EPERM, err);
	rc = seize_may_try(tracer, pid, err);
	if (rc < 0)
		return rc;
	space = space_new(tracer, NULL, live, err);
	if (!space)
		return permission_explain(pid, live, err->code, err);
	p = tracer_add_process(tracer, pid, space);
	if (!p)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = seize_all(tracer, p, err);
	if (rc == 0)
		*ret_process = p;
	return rc;
}

int attach_at_exec(struct tracer *tracer, pid_t tid, struct ubp_err *err)
{
	pid_t pid = task_tgid(tid);
	struct process *p;
	struct space *space;
	int rc;

	if (map_get(&tracer->tracees, (uint64_t)tid) ||
	    map_get(&tracer->processes, (uint64_t)pid) ||
	    map_get(&tracer->limbo, (uint64_t)tid))
		return 0;
	if (!pid)
		return ubp_fail(err, ESRCH, "no thread %d", (int)tid);
	rc = seize_may_try(tracer, pid, err);
	if (rc < 0)
		return rc;
	space = space_new(tracer, NULL, tid, err);
	p = space ? tracer_add_process(tracer, pid, space) : NULL;
	if (!p)
		return space ? ubp_fail(err, ENOMEM, "out of memory") : -err->code;
	p->at_exec = true;
	rc = seize_thread(tracer, p, tid, err);
	if (rc < 0)
		tracer_drop_process(tracer, p);
	return rc;
}

int attach_executed(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid;
	struct space *space = space_new(tracer, NULL, task_live_thread(pid), err);

	p->at_exec = false;
	if (!space) {
		attach_undo(tracer, pid);
		return -err->code;
	}
	process_move(tracer, p, space);
	return seize_all(tracer, p, err);
}

/* False: taken by an exec that is still to be reported. */
static bool ask_to_stop(struct tracee *t)
{
	return t->want_interrupt = again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
}

/* @t, which was asked to stop (@asked), does so. As hold(). */
static int await_held(struct tracer *tracer, struct tracee *t, const struct held *asked,
		      unsigned limit_ms)
{
	struct stop stop;
	int rc;

	while ((rc = tracer_await(tracer, t, limit_ms, &stop)) == 1) {
		if (stop.exited || stop.event != PTRACE_EVENT_STOP) {
			tracer_dispatch(tracer, &stop);
			if (!tracer_has(tracer, t, asked->tid))
				return -ESRCH;
			/* It goes on in a new image. Else a call that its owner had it make may have taken the stop. */
			if (!held_lasts(asked) ||
			    (!t->want_interrupt && !t->held && !ask_to_stop(t)))
				break;
			continue;
		}
		tracee_event_stop(t, stop.sig);
		if (tracee_has_trap(tracer, t)) {
			/* Its SIGTRAP comes next; only then ask again. */
			t->listening = false;
			tracee_resume(t, 0);
			t->want_interrupt = true;
			continue;
		}
		t->held = true;
		t->listening = stop.sig != SIGTRAP;
		return 1;
	}
	if (rc >= 0)
		t->want_interrupt = false; /* its stop will come and be passed over */
	return rc < 0 ? rc : 0;
}

static bool is_held(const struct tracee *t)
{
	return t->parked || (t->held && t->process->stays);
}

/* Stop @t. 1: it is held; 0: not now; -ESRCH: it is gone. */
static int hold(struct tracer *tracer, struct tracee *t, unsigned limit_ms)
{
	struct held asked = held_thread(tracer, t, NULL);

	if (is_held(t))
		return 1;
	ubp_host_note_call(asked.tid, &t->remote.call);
	return ask_to_stop(t) ? await_held(tracer, t, &asked, limit_ms) : 0;
}

int attach_to_wait(struct tracer *tracer, pid_t pid, pid_t tid, struct ubp_err *err)
{
	struct process *p = NULL;
	struct tracee *t;
	int rc = attach_process(tracer, pid, &p, err);

	if (rc < 0 || !p)
		return rc;
	p->waits = true;
	t = tid ? map_get(&tracer->tracees, (uint64_t)tid) : p->tracees;
	if (!t || t->process != p || (!tid && t->next))
		return 0;
	ubp_host_note_call(t->tid, &t->remote.call);
	p->stays = t->want_interrupt = again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
	return 0;
}

void attach_let_stay(struct process *p)
{
	if (!p->stays)
		return;
	p->stays = false;
	for (struct tracee *t = p->tracees; t; t = t->next)
		if (t->held && !t->parked)
			attach_let_go(t);
}

int attach_hold(struct tracer *tracer, struct tracee *t)
{
	return t->held ? 1 : hold(tracer, t, STOP_LIMIT_MS);
}

/* All at once, so that those which wait in the kernel do so together. */
static void ask_all(struct tracer *tracer, const pid_t *tids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (!t || t->held || t->want_interrupt)
			continue;
		ubp_host_note_call(t->tid, &t->remote.call);
		(void)ask_to_stop(t);
	}
}

/* @t is one of those, which have until @until_ns in all; later only who has stopped already is held. */
static int hold_asked(struct tracer *tracer, struct tracee *t, uint64_t until_ns)
{
	const struct held asked = held_thread(tracer, t, NULL);
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);
	unsigned left_ms = now < until_ns ? (unsigned)((until_ns - now) / 1000000) + 1 : 0;
	struct stop stop;

	if (t->held || is_held(t))
		return 1;
	if (!left_ms && wait_look(t->tid, &stop) == 1)
		left_ms = ONE_TURN_MS;
	/* Who handled stops meanwhile may have let it go on. */
	return t->want_interrupt ? await_held(tracer, t, &asked, left_ms)
				 : hold(tracer, t, left_ms);
}

void attach_undo(struct tracer *tracer, pid_t pid)
{
	uint64_t until = event_clock_now(CLOCK_KIND_MONO) + STOP_LIMIT_MS * 1000000ULL;
	struct process *p = map_get(&tracer->processes, (uint64_t)pid);
	size_t n = 0;
	pid_t *tids = p ? space_ids(tracer, p->space, p, &n) : NULL;

	if (p)
		p->is_leaving = true;
	/* Detaching needs a stop, and a stop may disturb: only where it can't be
	 * avoided, and it is the exception that brings us here. What can't be stopped
	 * stays traced: let go of in the wrong way, it would stop for ever. */
	if (tids)
		ask_all(tracer, tids, n);
	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (t && hold_asked(tracer, t, until) == 1)
			tracer_detach(tracer, t);
	}
	ids_give(tracer, tids);
}

void attach_look_at_exec(struct tracer *tracer, pid_t pid)
{
	const struct process *p = map_get(&tracer->processes, (uint64_t)pid);
	struct stop stop;

	/* Whichever thread executes: its exec is told under the process's number. */
	if (p && p->at_exec && wait_look(pid, &stop) == 1)
		tracer_dispatch(tracer, &stop);
}

void attach_not_executed(struct tracer *tracer, pid_t pid)
{
	const struct process *p = map_get(&tracer->processes, (uint64_t)pid);
	struct tracee *t = p && p->at_exec ? p->tracees : NULL;

	if (!t || attach_hold(tracer, t) != 1)
		return;
	/* Its next stop may have been that exec, and then it is a target. */
	if (t->process->at_exec)
		tracer_detach(tracer, t);
	else
		attach_let_go(t);
}

/*
 * A thread that waits for its vfork() child stops only when that has gone on, perhaps from a stop.
 * True: one in the same memory has.
 */
static bool look_after_others(struct tracer *tracer, const struct process *p)
{
	const struct space *space = p->space;
	bool moved = false;
	struct stop stop;
	size_t pos = 0;
	void *value;

	for (int n = 0; n < OTHERS_MAX && map_next(&tracer->tracees, &pos, NULL, &value);) {
		struct tracee *t = value;

		if (t->process == p || t->held || wait_look(t->tid, &stop) != 1)
			continue;
		moved |= t->process->space == space;
		tracer_dispatch(tracer, &stop);
		n++; /* the table may have changed: who is passed over by that is next */
	}
	return moved;
}

int attach_hold_patiently(struct tracer *tracer, struct tracee *t)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO);
	struct process *p = t->process;
	pid_t tid = t->tid, pid = p->pid;
	int rc;

	while ((rc = attach_hold(tracer, t)) == 0 && !again_is_hopeless() &&
	       event_clock_now(CLOCK_KIND_MONO) - begun < STUCK_LIMIT_NS) {
		(void)look_after_others(tracer, p);
		if (map_get(&tracer->processes, (uint64_t)pid) != p ||
		    !tracer_has(tracer, t, tid))
			return -ESRCH;
	}
	return rc;
}

bool attach_is_stuck(const struct process *p)
{
	for (const struct tracee *t = p->tracees; t; t = t->next)
		if (!strchr("DZX", task_state(t->tid)))
			return false;
	return true;
}

/*
 * Which threads are taken first. A stop breaks some calls off with EINTR (epoll_wait(), semop(), recv() with a
 * limit, ...), which is put right behind it, unless we are killed just then.
 */
enum choice {
	RUNNING, /* or stopped already: no call is broken off */
	STEADY,  /* asleep in one that the kernel makes again by itself */
	ANY,
	CHOICES
};

static bool is_chosen(const struct tracee *t, enum choice choice)
{
	const uint16_t *nr = t->process->space->arch->call.nr_steady;
	uint64_t pc, sp;
	long in;

	if (choice == ANY || t->parked)
		return true;
	if (choice == RUNNING)
		return strchr("Rt", task_state(t->tid));
	if (!task_asleep_in(t->tid, &pc, &sp, &in))
		return false;
	while (*nr && *nr != in)
		nr++;
	return *nr;
}

/* One of @p's threads. NULL: none stops soon; or @p has ended. */
static struct tracee *hold_any(struct tracer *tracer, struct process *p, enum choice choice,
			       int *n_tries)
{
	pid_t pid = p->pid;
	size_t n;
	pid_t *tids = space_ids(tracer, p->space, p, &n);
	struct tracee *t = NULL;

	for (size_t i = 0; tids && i < n && !t; i++) {
		/* Whoever stops meanwhile does not wait for all. */
		if (i % LOOKS == LOOKS - 1)
			tracer_poll(tracer, LOOKS);
		t = map_get(&tracer->tracees, (uint64_t)tids[i]);
		if (!t || t->process != p || !is_chosen(t, choice) ||
		    hold(tracer, t,
			 task_state(t->tid) == 'D' ? ASLEEP_TURN_MS : ONE_TURN_MS) != 1) {
			t = NULL;
		} else if (*n_tries < CRITICAL_MAX && task_in_rseq(t)) {
			++*n_tries;
			attach_let_go(t);
			t = NULL;
			i = choice == RUNNING ? i - 1 : i; /* soon it is out of that */
		}
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			break;
	}
	ids_give(tracer, tids);
	return t;
}

int attach_hold_one(struct tracer *tracer, struct process *p, struct held *ret_held,
		    struct ubp_err *err)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), moved = begun, now = begun;
	struct tracee *t;
	pid_t pid = p->pid;
	int n_tries = 0;

	if (p->is_alone)
		return ubp_fail(err, ESRCH, "process %d is not traced now", (int)pid);
	for (int pass = 0;
	     pass < CHOICES || (now - begun < ONE_LIMIT_NS && !again_is_hopeless() &&
				(now - moved < STUCK_LIMIT_NS || !attach_is_stuck(p)));
	     pass++) {
		/* Whom one asked to stop may wait for (look_after_others()). */
		if ((pass > ANY || (pass && space_is_shared(p->space))) &&
		    look_after_others(tracer, p))
			moved = now;
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		if (tracer_is_cancelled(tracer))
			return tracer_give_up(err);
		/* It may be another thread's by an exec, which is told of under another number. */
		if (pass > ANY) {
			tracer_poll(tracer, LOOKS);
			if (map_get(&tracer->processes, (uint64_t)pid) != p)
				return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		}
		t = hold_any(tracer, p, pass < ANY ? (enum choice)pass : ANY, &n_tries);
		if (t) {
			p->stays = false; /* other stops are its owner's from now on */
			*ret_held = held_thread(tracer, t, NULL);
			return 0;
		}
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		now = event_clock_now(CLOCK_KIND_MONO);
	}
	return ubp_fail(err, ETIMEDOUT, "no thread of process %d could be stopped", (int)pid);
}

/* One in @p's memory of which no thread can be stopped now. */
static const struct process *stuck_with(const struct process *p)
{
	const struct process *other = p->space->processes;

	while (other && (other == p || !attach_is_stuck(other)))
		other = other->next;
	return other;
}

/* Of each other process in @p's memory a thread, whose ids are *ret_tids. False: one can't be stopped now. */
static bool hold_sharers(struct tracer *tracer, const struct process *p, pid_t **ret_tids,
			 size_t *ret_n)
{
	const struct space *space = p->space;
	size_t n = 0, room; /* for more than there are processes */
	pid_t *ids = space_ids(tracer, space, NULL, &room);
	bool all = ids;
	int n_tries = 0;

	for (const struct process *other = space->processes; ids && other; other = other->next)
		if (other != p)
			ids[n++] = other->pid;
	*ret_tids = ids;
	*ret_n = 0;
	for (size_t i = 0; i < n && all; i++) {
		struct process *other = map_get(&tracer->processes, (uint64_t)ids[i]);
		struct tracee *t = NULL;

		for (int pass = 0; pass < CHOICES && !t && other && other->space == space;
		     pass++) {
			t = hold_any(tracer, other, (enum choice)pass, &n_tries);
			other = map_get(&tracer->processes, (uint64_t)ids[i]);
		}
		if (t)
			ids[(*ret_n)++] = t->tid;
		all = t || !other || other->space != space;
	}
	return all;
}

/* Try once. 1: all are held; 0: one can't be stopped now; -errno. */
static int hold_each(struct tracer *tracer, struct process *p, struct held *ret_held,
		     pid_t **ret_tids, size_t *ret_n, struct ubp_err *err)
{
	pid_t pid = p->pid;
	bool all = true;
	int rc;

	*ret_tids = NULL;
	*ret_n = 0;
	if (stuck_with(p))
		return 0;
	rc = attach_hold_one(tracer, p, ret_held, err);
	if (rc < 0)
		return rc;
	if (space_is_shared(p->space))
		all = hold_sharers(tracer, p, ret_tids, ret_n);
	if (!tracer_has(tracer, ret_held->t, ret_held->tid))
		rc = ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	if (rc == 0 && all && held_lasts(ret_held))
		return 1;
	attach_let_others_go(tracer, *ret_tids, *ret_n);
	*ret_tids = NULL;
	*ret_n = 0;
	held_let_go(ret_held);
	return rc;
}

int attach_hold_each(struct tracer *tracer, struct process *p, struct held *ret_held,
		     pid_t **ret_tids, size_t *ret_n, struct ubp_err *err)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), spin = 0;
	pid_t pid = p->pid;
	int rc;

	while ((rc = hold_each(tracer, p, ret_held, ret_tids, ret_n, err)) == 0) {
		tracer_poll(tracer, OTHERS_MAX);
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		if (event_clock_now(CLOCK_KIND_MONO) - begun > STUCK_LIMIT_NS)
			return ubp_fail(
				err, ETIMEDOUT,
				"another process lives in the memory of process %d, and "
				"cannot be stopped to be guarded",
				(int)pid);
		wait_a_little(&spin);
	}
	return rc < 0 ? rc : 0;
}

void attach_let_go(struct tracee *t)
{
	tracee_resume(t, 0); /* perhaps back into a group stop */
}

pid_t *attach_hold_others(struct tracer *tracer, const struct tracee *t, size_t *ret_n)
{
	pid_t tid = t->tid;
	size_t n, n_held = 0;
	pid_t *tids = space_ids(tracer, t->process->space, NULL, &n);

	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *other = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (!other || tids[i] == tid || other->held)
			continue;
		tids[n_held++] = tids[i];
		(void)hold(tracer, other, STOP_LIMIT_MS);
	}
	*ret_n = n_held;
	return tids;
}

void attach_let_others_go(struct tracer *tracer, pid_t *tids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (t && t->held)
			attach_let_go(t);
	}
	ids_give(tracer, tids);
}
