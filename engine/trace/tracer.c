/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/tracer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/trace/eintr.h"
#include "engine/trace/reaper.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/task.h"
#include "engine/trace/waker.h"

#define AWAIT_TURN_MS 20

int tracer_init(struct tracer *tracer, const struct tracer_ops *ops, void *ctx,
		struct ubp_err *err)
{
	struct stop stop;

	*tracer = (struct tracer){
		.ops = ops, .ctx = ctx, .options = TRACER_OPTIONS, .cpu = -1, .next_cpu = -1
	};
	tracer->pokes =
		(struct mem_pokes){ .stop_one = stop_one, .stop_all = stop_all, .ctx = tracer };
	tracer->waker = waker_start(err);
	if (tracer->waker < 0)
		return tracer->waker;
	if (wait_look(tracer->waker, &stop) != -EINVAL) {
		tracer->reaper = reaper_is_needed() ? reaper_start(tracer) : NULL;
		return 0;
	}
	waker_end(tracer->waker);
	tracer->waker = 0;
	return ubp_fail(err, ENOSYS,
			"this kernel is too old: its waitid() cannot look at the stops of "
			"threads (Linux 4.7 can)");
}

bool tracer_is_cancelled(const struct tracer *tracer)
{
	return tracer->cancelled && __atomic_load_n(tracer->cancelled, __ATOMIC_RELAXED);
}

int tracer_give_up(struct ubp_err *err)
{
	return ubp_fail(err, EINTR, "ended before all probes were planted");
}

struct space *space_new(struct tracer *tracer, const struct ubp_arch *arch, pid_t pid,
			struct ubp_err *err)
{
	struct space *space;

	if (!arch)
		arch = task_arch(pid, err);
	if (!arch)
		return NULL;
	space = calloc(1, sizeof(*space));
	if (!space) {
		ubp_fail(err, ENOMEM, "out of memory");
		return NULL;
	}
	space->arch = arch;
	space->mem = (struct trace_mem){
		.fd = -1,
		.pokes = &tracer->pokes,
		.space = space,
		.care = &space->care,
	};
	space->care = (struct mem_care){
		.stand_in = &tracer->stand_in,
		.mem = &space->mem,
		.serial = ++tracer->stand_in.n_serials,
	};
	if (mem_open(&space->mem, pid, err) < 0) {
		free(space);
		return NULL;
	}
	return space;
}

void space_settle_exec(const struct space *space, pid_t tid)
{
	struct ubp_regs regs;

	if (ubp_host_get_regs(tid, &regs) < 0)
		return;
	regs.r[space->arch->reg.retval] = 0;
	(void)ubp_host_set_regs(tid, &regs);
}

void space_put(struct tracer *tracer, struct space *space)
{
	if (--space->refs)
		return;
	tracer->ops->space_gone(tracer->ctx, space);
	mem_close(&space->mem);
	free(space);
}

static void link_process(struct process *p, struct space *space)
{
	p->space = space;
	p->before_it = NULL;
	p->next = space->processes;
	if (p->next)
		p->next->before_it = p;
	space->processes = p;
}

static void unlink_process(struct process *p)
{
	if (p->next)
		p->next->before_it = p->before_it;
	if (p->before_it)
		p->before_it->next = p->next;
	else
		p->space->processes = p->next;
}

struct process *tracer_add_process(struct tracer *tracer, pid_t pid, struct space *space)
{
	struct process *p = calloc(1, sizeof(*p) + tracer->ops->process_len);

	space->refs++;
	if (!p || map_put(&tracer->processes, (uint64_t)pid, p) < 0) {
		space_put(tracer, space);
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->probes = (struct process_probes *)(p + 1);
	link_process(p, space);
	reaper_mind(tracer->reaper, pid);
	return p;
}

void tracer_drop_process(struct tracer *tracer, struct process *p)
{
	map_remove(&tracer->processes, (uint64_t)p->pid);
	reaper_forget(tracer->reaper, p->pid);
	unlink_process(p);
	space_put(tracer, p->space);
	free(p);
}

void process_move(struct tracer *tracer, struct process *p, struct space *space)
{
	struct space *old = p->space;

	space->refs++;
	unlink_process(p);
	link_process(p, space);
	space_put(tracer, old);
}

bool space_is_shared(const struct space *space)
{
	return space->processes && space->processes->next;
}

struct tracee *space_next(const struct space *space, const struct tracee *t)
{
	const struct process *p = t ? t->process->next : space->processes;

	if (t && t->next)
		return t->next;
	while (p && !p->tracees)
		p = p->next;
	return p ? p->tracees : NULL;
}

struct tracee *tracer_add_tracee(struct tracer *tracer, struct process *p, pid_t tid)
{
	struct tracee *t;

	/* Each may give birth to one that stops first, and then there may be no memory. */
	if (!ids_keep_room(tracer) ||
	    map_keep_room(&tracer->limbo, tracer->tracees.n + 1) < 0 ||
	    map_keep_room(&tracer->unseen, tracer->unseen.n + 1) < 0)
		return NULL;
	t = calloc(1, sizeof(*t) + tracer->ops->thread_len);
	if (!t)
		return NULL;
	t->probes = (struct thread_probes *)(t + 1);
	t->tid = tid;
	t->process = p;
	t->options = tracer->options;
	t->task = (struct tracee_task){ .stat_fd = -1, .one_cpu = -2 };
	t->drained = tracer->is_draining;
	if (map_put(&tracer->tracees, (uint64_t)tid, t) < 0) {
		free(t);
		return NULL;
	}
	map_remove(&tracer->unseen, (uint64_t)tid);
	p->n_tracees++;
	t->next = p->tracees;
	if (t->next)
		t->next->before_it = t;
	p->tracees = t;
	return t;
}

void tracer_drop_tracee(struct tracer *tracer, struct tracee *t)
{
	struct process *p = t->process;

	tracer->ops->tracee_gone(tracer->ctx, t);
	wait_forget(tracer, t);
	tracer->n_parked -= t->parked;
	map_remove(&tracer->tracees, (uint64_t)t->tid);
	if (t->next)
		t->next->before_it = t->before_it;
	if (t->before_it)
		t->before_it->next = t->next;
	else
		p->tracees = t->next;
	if (t->task.stat_fd >= 0)
		close(t->task.stat_fd);
	free(t->remote.before);
	free(t->remote.more);
	free(t);
	if (--p->n_tracees)
		return;
	map_remove(&tracer->processes, (uint64_t)p->pid);
	tracer->ops->process_gone(tracer->ctx, p);
	tracer_drop_process(tracer, p);
}

bool tracer_has(const struct tracer *tracer, const struct tracee *t, pid_t tid)
{
	return map_get(&tracer->tracees, (uint64_t)tid) == t;
}

bool tracer_has_same(const struct tracer *tracer, const struct tracee *t, pid_t tid,
		     unsigned n_execs)
{
	return tracer_has(tracer, t, tid) && t->n_execs == n_execs;
}

void tracer_detach(struct tracer *tracer, struct tracee *t)
{
	pid_t tid = t->tid;

	if (t->remote.called)
		tracee_leave_stub(t);
	tracer_drop_tracee(tracer, t);
	(void)again_ptrace(PTRACE_DETACH, tid, 0, 0);
}

void tracee_consume(const struct tracee *t)
{
	tracer_consume_stop(t->tid);
}

void tracee_leave_frame(struct tracee *t)
{
	if (t->remote.frame)
		t->process->space->frames_taken &= ~(1U << (t->remote.frame - 1));
	t->remote.frame = 0;
}

void tracee_put_before(struct tracee *t)
{
	const struct ubp_arch *arch = t->process->space->arch;
	struct ubp_regs regs = *t->remote.before;

	if (t->remote.resumes)
		regs.r[arch->call.reg] = (uint64_t)arch->call.nr_restart;
	t->remote.resumes = false;
	if (ubp_host_set_regs(t->tid, &regs) == 0)
		tracee_leave_frame(t);
	ubp_host_put_more(t->tid, t->remote.more);
}

void tracee_leave_stub(struct tracee *t)
{
	t->remote.called = false;
	tracee_put_before(t);
	/* Large, and needed once in a thread's life, mostly. */
	free(t->remote.before);
	free(t->remote.more);
	t->remote.before = NULL;
	t->remote.more = NULL;
	/* On its way out of a system call the kernel looks whether to make it again
	 * only if there may be a signal. */
	t->remote.stops_again = again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
}

/*
 * The kernel itself looks at the instruction that is to be stepped, and would wait for it. Without
 * a step the slot's own jump does the rest.
 */
static bool may_step(const struct tracee *t)
{
	return mem_is_sure(&t->process->space->mem, t->tid);
}

void tracee_resume(struct tracee *t, int sig)
{
	int request;

	if (t->remote.at_large)
		return; /* a signal it has stopped for meanwhile would be lost */
	if (t->parked && !t->remote.is_in)
		return;
	t->stepping = t->stepping && may_step(t);
	request = t->remote.is_in ? PTRACE_SYSCALL : PTRACE_CONT;
	request = t->stepping ? PTRACE_SINGLESTEP : request;
	if (t->remote.called && !t->remote.is_in)
		tracee_leave_stub(t);
	if (t->no_seccomp && !t->remote.is_in)
		seccomp_restore(t); /* a remote call that was given up */
	/* A stop clears a pending interrupt: ask again before the thread runs. And one
	 * that was in a group stop goes back there: the stop asked for reports it. */
	if (t->want_interrupt || (t->listening && !t->remote.is_in))
		(void)again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	t->held = false;
	t->left_alone = 0; /* what a look has shown may be otherwise now */
	t->listening = t->listening && t->remote.is_in;
	/* ESRCH: killed while it was stopped. Its end will be reported. */
	(void)again_ptrace(request, t->tid, 0, sig);
}

void tracer_park(struct tracer *tracer, struct tracee *t, pid_t pid)
{
	tracee_consume(t);
	t->parked_for = pid;
	t->held = true;
	t->parked = true;
	tracer->n_parked++;
}

void tracer_unpark(struct tracer *tracer, struct tracee *t)
{
	t->parked = false;
	tracer->n_parked--;
	tracee_resume(t, 0);
}

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

bool tracee_has_trap(struct tracer *tracer, struct tracee *t)
{
	uint64_t pc;

	return t->stepping || (ubp_host_get_pc(t->tid, &pc) == 0 &&
			       tracer->ops->pc_has_trap(tracer->ctx, t, pc));
}

void tracee_event_stop(struct tracee *t, int sig)
{
	tracee_consume(t);
	t->want_interrupt = t->remote.stops_again = t->remote.at_large = false;
	/* A group stop breaks calls off without us, too. */
	if (sig == SIGTRAP)
		eintr_redo(t);
	else
		eintr_keep(t);
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
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	enum trap_verdict verdict = tracer->ops->trap(tracer->ctx, t);

	/* It may have ended, or gone on in a new image, while the owner worked on it. */
	if (tracer_has_same(tracer, t, tid, n_execs) && !t->held)
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
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	bool is_ours = tracer->ops->signal(tracer->ctx, t, sig);

	/* It may have ended while the owner worked on it. */
	if (!tracer_has_same(tracer, t, tid, n_execs) || t->parked)
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
		children_unknown(tracer, stop);
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
		tracer->ops->meanwhile(tracer->ctx);
		if (!tracer_has(tracer, t, tid))
			return -ESRCH;
		rc = wait_one(tid, AWAIT_TURN_MS, ret_stop);
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

static void handle(struct tracer *tracer, const struct stop *stop)
{
	if (stop->tid == tracer->waker)
		waker_stopped(tracer, stop);
	else
		tracer_dispatch(tracer, stop);
}

int tracer_run(struct tracer *tracer, unsigned max)
{
	struct stop stop;

	for (unsigned i = 0; i < max && !tracer->n_parked; i++) {
		if (!wait_any(tracer, &stop)) {
			__atomic_store_n(&tracer->mailed, 0, __ATOMIC_RELAXED);
			return 0;
		}
		handle(tracer, &stop);
	}
	return 1;
}

void tracer_poll(struct tracer *tracer, unsigned max)
{
	struct stop stop;

	for (unsigned i = 0; i < max && !tracer->n_parked && wait_poll(&stop); i++)
		handle(tracer, &stop);
}

void tracer_end_turn(struct tracer *tracer)
{
	__atomic_store_n(&tracer->mailed, 1, __ATOMIC_RELEASE);
}

void tracer_wake(struct tracer *tracer)
{
	__atomic_store_n(&tracer->mailed, 1, __ATOMIC_RELEASE);
	waker_ring(tracer->waker);
}

void tracer_stop_begin(struct tracer *tracer)
{
	if (tracer->stops.depth++ == 0)
		tracer->stops.since_ns = event_clock_now(CLOCK_KIND_MONO);
}

void tracer_stop_end(struct tracer *tracer)
{
	struct tracer_stops *s = &tracer->stops;
	uint64_t ns;

	if (--s->depth)
		return;
	ns = event_clock_now(CLOCK_KIND_MONO) - s->since_ns;
	__atomic_store_n(&s->total_ns, s->total_ns + ns, __ATOMIC_RELAXED);
	if (ns > s->longest_ns)
		__atomic_store_n(&s->longest_ns, ns, __ATOMIC_RELAXED);
}

void tracer_fini(struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	while (pos = 0, map_next(&tracer->tracees, &pos, NULL, &value))
		tracer_drop_tracee(tracer, value);
	map_free(&tracer->tracees);
	map_free(&tracer->processes);
	map_free(&tracer->limbo);
	map_free(&tracer->unseen);
	reaper_stop(tracer->reaper);
	waker_end(tracer->waker);
	stand_in_end(&tracer->stand_in);
	ids_fini(tracer);
	free(tracer->all_cpus);
}
