/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/trace/task.h"

#define SEIZE_TRIES    10
#define CRITICAL_MAX   100 /* threads found in a restartable sequence, before one is taken */
#define STOP_LIMIT_MS  500 /* for one thread to stop */
#define ONE_TURN_MS    50  /* ... where any will do */
#define OTHERS_MAX     64  /* stops of others that are looked after in between */
#define ONE_LIMIT_NS   10000000000ULL /* for one of any ... */
#define STUCK_LIMIT_NS 3000000000ULL  /* ... where all wait, perhaps for a slow disk */
#define DRAIN_LIMIT_NS 2000000000ULL  /* without any stop */
#define DRAIN_MAX_NS   20000000000ULL /* in all */

static int seize(struct tracer *tracer, struct process *p, pid_t tid, struct ubp_err *err)
{
	int tries = 0;

	while (again_ptrace(PTRACE_SEIZE, tid, 0, TRACER_OPTIONS) < 0) {
		/* Refused in the middle of an exec too, where one thread takes the place
		 * of another. */
		if (errno != EPERM || ++tries > SEIZE_TRIES || task_tracer(tid))
			return task_explain_refusal(p->pid, tid, errno, err);
		(void)sched_yield();
	}
	if (!tracer_add_tracee(tracer, p, tid))
		return ubp_fail(err, ENOMEM, "out of memory");
	return 0;
}

/* One pass over /proc/PID/task. *ret_found: a thread not yet ours was seen. */
static int seize_new_threads(struct tracer *tracer, struct process *p, bool *ret_found,
			     struct ubp_err *err)
{
	struct dirent *ent;
	char path[64];
	DIR *dir;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	dir = opendir(path);
	if (!dir)
		return ubp_fail(err, ESRCH, "no process %d", (int)p->pid);
	*ret_found = false;
	while ((ent = readdir(dir))) {
		pid_t tid = (pid_t)strtol(ent->d_name, NULL, 10);
		char state;
		pid_t by;

		if (tid <= 0 || map_get(&tracer->tracees, (uint64_t)tid))
			continue;
		if (map_remove(&tracer->limbo, (uint64_t)tid)) {
			/* Born of a thread seized before; its first stop came before
			 * the parent's report. */
			struct tracee *t = tracer_add_tracee(tracer, p, tid);

			if (t)
				tracee_resume(t, 0);
			continue;
		}
		rc = seize(tracer, p, tid, err);
		/* The tracer that /proc names is a thread. Asked first: a thread that
		 * has ended meanwhile has none. */
		by = rc == 0 ? 0 : task_tracer(tid);
		state = rc == 0 ? 0 : task_state(tid);
		if (rc < 0 && (state == 0 || state == 'Z' || state == 'X')) {
			rc = 0; /* it ended after readdir() saw it; or a leader, long ago */
			continue;
		}
		/* A thread that a seized one has just born is ours already. */
		if (rc < 0 && tid != p->pid && by == gettid()) {
			rc = 0;
			continue;
		}
		if (rc < 0)
			break;
		*ret_found = true;
	}
	closedir(dir);
	return rc;
}

int attach_process(struct tracer *tracer, pid_t pid, struct process **ret_process,
		   struct ubp_err *err)
{
	pid_t live = task_live_thread(pid);
	struct process *p;
	struct space *space;
	bool found = true;
	int rc;

	/* Look at one first: a refusal then tells the better reason. */
	if (!live || task_tracer(live))
		return task_explain_refusal(pid, live ? live : pid, EPERM, err);
	space = space_new(tracer, NULL, live, err);
	if (!space)
		return task_explain_refusal(pid, live, err->code, err);
	p = tracer_add_process(tracer, pid, space);
	if (!p)
		return ubp_fail(err, ENOMEM, "out of memory");
	/* Threads can start while we look: stop after a pass that found none. */
	do {
		rc = seize_new_threads(tracer, p, &found, err);
	} while (rc == 0 && found);
	/* From now on an exec is reported; one just before has left the old memory. */
	if (rc == 0 && p->n_tracees > 0 && space->refs == 1) {
		mem_close(&space->mem);
		rc = mem_open(&space->mem, task_live_thread(pid), err);
	}
	if (rc == 0 && p->n_tracees > 0) {
		*ret_process = p;
		return 0;
	}
	if (rc == 0)
		rc = ubp_fail(err, ESRCH, "no process %d", (int)pid);
	if (p->n_tracees > 0) {
		attach_undo(tracer, pid);
		return rc;
	}
	tracer_drop_process(tracer, p);
	return rc;
}

/* Stop @t. 1: it is held; 0: not now; -ESRCH: it is gone. */
static int hold(struct tracer *tracer, struct tracee *t, unsigned limit_ms)
{
	pid_t tid = t->tid;
	struct stop stop;
	int rc;

	if (t->parked)
		return 1;
	ubp_host_note_call(tid, &t->call);
	/* Taken by an exec that is still to be reported: not now. */
	if (again_ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return 0;
	t->want_interrupt = true;
	while ((rc = tracer_await(tracer, t, limit_ms, &stop)) == 1) {
		if (stop.exited || stop.event != PTRACE_EVENT_STOP) {
			tracer_dispatch(tracer, &stop);
			if (map_get(&tracer->tracees, (uint64_t)tid) != t)
				return -ESRCH;
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
	if (rc == 0)
		t->want_interrupt = false; /* its stop will come and be passed over */
	return rc;
}

int attach_hold(struct tracer *tracer, struct tracee *t)
{
	return t->held ? 1 : hold(tracer, t, STOP_LIMIT_MS);
}

void attach_undo(struct tracer *tracer, pid_t pid)
{
	const struct process *p = map_get(&tracer->processes, (uint64_t)pid);
	size_t n = 0;
	pid_t *tids = p ? space_ids(p->space, p, &n) : NULL;

	/* Detaching needs a stop, and a stop may disturb: only where it can't be
	 * avoided, and it is the exception that brings us here. What can't be stopped
	 * stays traced: let go of in the wrong way, it would stop for ever. */
	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (t && attach_hold(tracer, t) == 1)
			tracer_detach(tracer, t);
	}
	free(tids);
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

/* Do all its threads wait in the kernel for something that no signal ends? */
static bool is_stuck(const struct process *p)
{
	for (const struct tracee *t = p->tracees; t; t = t->next)
		if (!strchr("DZX", task_state(t->tid)))
			return false;
	return true;
}

/* One of @p's threads, @running: that runs. NULL: none stops soon; or @p has ended. */
static struct tracee *hold_any(struct tracer *tracer, struct process *p, bool running,
			       int *n_tries)
{
	pid_t pid = p->pid;
	size_t n;
	pid_t *tids = space_ids(p->space, p, &n);
	struct tracee *t = NULL;

	for (size_t i = 0; tids && i < n && !t; i++) {
		t = map_get(&tracer->tracees, (uint64_t)tids[i]);
		if (!t || t->process != p ||
		    (running && !t->parked && task_state(t->tid) != 'R') ||
		    hold(tracer, t, ONE_TURN_MS) != 1) {
			t = NULL;
		} else if (*n_tries < CRITICAL_MAX && task_in_rseq(t)) {
			++*n_tries;
			attach_let_go(t);
			t = NULL;
			i = running ? i - 1 : i; /* soon it is out of that */
		}
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			break;
	}
	free(tids);
	return t;
}

int attach_hold_one(struct tracer *tracer, struct process *p, struct tracee **ret_tracee,
		    struct ubp_err *err)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), moved = begun, now = begun;
	pid_t pid = p->pid;
	int n_tries = 0;

	/* First those that run: stopping them disturbs no system call. */
	for (int pass = 0; pass < 2 || (now - begun < ONE_LIMIT_NS &&
					(now - moved < STUCK_LIMIT_NS || !is_stuck(p)));
	     pass++) {
		/* Whom one asked to stop may wait for (look_after_others()). */
		if ((pass > 1 || (pass && p->space->refs > 1)) && look_after_others(tracer, p))
			moved = now;
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		*ret_tracee = hold_any(tracer, p, pass == 0, &n_tries);
		if (*ret_tracee)
			return 0;
		if (map_get(&tracer->processes, (uint64_t)pid) != p)
			return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		now = event_clock_now(CLOCK_KIND_MONO);
	}
	return ubp_fail(err, ETIMEDOUT, "no thread of process %d could be stopped", (int)pid);
}

void attach_let_go(struct tracee *t)
{
	tracee_resume(t, 0); /* perhaps back into a group stop */
}

pid_t *attach_hold_others(struct tracer *tracer, const struct tracee *t, size_t *ret_n)
{
	pid_t tid = t->tid;
	size_t n, n_held = 0;
	pid_t *tids = space_ids(t->process->space, NULL, &n);

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
	free(tids);
}

static void child_exec(char *const argv[], const struct inherited *inherited, int go,
		       int report)
{
	char byte;

	(void)sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
	(void)setrlimit(RLIMIT_NOFILE, &inherited->nofile);
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	execvp(argv[0], argv);
	(void)!write(report, &errno, sizeof(errno));
	_exit(127);
}

/* The child is seized: let it exec, and wait until it has. */
static int wait_for_exec(struct tracer *tracer, struct process *p, int report, const char *name,
			 struct ubp_err *err)
{
	struct tracee *t = map_get(&tracer->tracees, (uint64_t)p->pid);
	struct stop stop;
	int code = 0;

	for (;;) {
		if (wait_one(p->pid, 60000, &stop) != 1)
			return ubp_fail(err, ETIMEDOUT, "%s does not start", name);
		if (stop.exited)
			break;
		if (stop.event == PTRACE_EVENT_EXEC) {
			tracee_consume(t);
			t->held = true;
			return 0;
		}
		(void)again_ptrace(PTRACE_CONT, p->pid, 0, stop.event ? 0 : stop.sig);
	}
	tracer_dispatch(tracer, &stop);
	if (read(report, &code, sizeof(code)) == sizeof(code))
		return ubp_fail(err, code, "%s: %s", name, strerror(code));
	return ubp_fail(err, ECHILD, "%s: ended before it ran", name);
}

/* The command's own in place of ours. One that can't be traced has not run: it shall not. */
static int take_arch(struct space *space, pid_t pid, struct ubp_err *err)
{
	const struct ubp_arch *arch = task_arch(pid, err);

	if (!arch) {
		(void)kill(pid, SIGKILL);
		return -err->code;
	}
	space->arch = arch;
	space_settle_exec(space, pid);
	return 0;
}

int attach_command(struct tracer *tracer, char *const argv[], const struct inherited *inherited,
		   struct tracee **ret_tracee, struct ubp_err *err)
{
	struct process *p = NULL;
	int go[2], report[2], rc;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return ubp_fail_sys(err, "pipe");
	if (pipe2(report, O_CLOEXEC) < 0) {
		rc = ubp_fail_sys(err, "pipe");
		close(go[0]);
		close(go[1]);
		return rc;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		child_exec(argv, inherited, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	rc = pid < 0 ? ubp_fail_sys(err, "fork") : attach_process(tracer, pid, &p, err);
	if (rc < 0 && pid > 0)
		(void)kill(pid, SIGKILL);
	close(go[1]); /* end of file lets it go on */
	if (p) {
		tracer->command = pid;
		rc = wait_for_exec(tracer, p, report[0], argv[0], err);
	}
	close(report[0]);
	if (!p || rc < 0)
		return rc;
	/* The memory it was opened with was that of our own copy. */
	mem_close(&p->space->mem);
	rc = mem_open(&p->space->mem, pid, err);
	if (rc == 0)
		rc = take_arch(p->space, pid, err);
	*ret_tracee = map_get(&tracer->tracees, (uint64_t)pid);
	return rc;
}

/* Whose breakpoints are gone: @p (NULL: all). */
struct drain {
	struct tracer *tracer;
	const struct process *p;
	uint64_t begun, last; /* when: the start, the last stop */
};

static bool concerns(const struct drain *d, const struct tracee *t)
{
	return !d->p || t->process == d->p;
}

/* A breakpoint's trap may be under way to a thread that runs or steps; blocked in
 * the kernel it has none, and stopping it might break its system call off. */
static void ask_to_stop(const struct drain *d)
{
	size_t pos = 0;
	void *value;

	while (map_next(&d->tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (!concerns(d, t))
			continue;
		t->drained = t->held || (!t->stepping &&
					 (t->listening || strchr("SDZX", task_state(t->tid))));
		if (!t->drained)
			(void)again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	}
}

/* One pass. False: all have been seen. */
static bool look_around(struct drain *d)
{
	struct stop stop;
	size_t pos = 0;
	bool again = false;
	void *value;

	while (map_next(&d->tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (!concerns(d, t) || t->drained)
			continue;
		again = true; /* the table may change: only a quiet pass is the last */
		if (wait_look(t->tid, &stop) != 1)
			continue;
		d->last = event_clock_now(CLOCK_KIND_MONO);
		t->want_interrupt = stop.event != PTRACE_EVENT_STOP;
		tracer_dispatch(d->tracer, &stop);
	}
	return again;
}

/* Nothing has stopped for long: those that wait in the kernel have no trap. */
static void give_up_blocked(const struct drain *d, bool all)
{
	size_t pos = 0;
	void *value;

	while (map_next(&d->tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (concerns(d, t) && (all || task_state(t->tid) != 'R'))
			t->drained = true;
	}
}

void attach_drain(struct tracer *tracer, const struct process *p)
{
	struct drain d = { tracer, p, event_clock_now(CLOCK_KIND_MONO), 0 };
	uint64_t spin = 0, now;

	tracer->is_draining = true;
	d.last = d.begun;
	ask_to_stop(&d);
	while (look_around(&d)) {
		now = event_clock_now(CLOCK_KIND_MONO);
		if (now - d.last > DRAIN_LIMIT_NS || now - d.begun > DRAIN_MAX_NS) {
			give_up_blocked(&d, now - d.begun > DRAIN_MAX_NS);
			d.last = now;
		}
		wait_a_little(&spin);
	}
	tracer->is_draining = false;
}
