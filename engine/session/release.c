/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Letting go of one process while the session goes on.
 *
 * The first process of a pid namespace is its init. A signal by default action does not
 * end it, but for a fault of its own: then the kernel takes that protection away, unless
 * the thread is traced (force_sig_info_to_task()). So the fault of a traced one is dropped,
 * and comes again, for ever. What would end it can only do so once nobody traces it: it is
 * let go at the instruction that makes the fault.
 */

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/plant/jump.h"
#include "engine/session/session.h"
#include "engine/trace/attach.h"
#include "engine/trace/hold.h"
#include "engine/trace/task.h"

/* A thread that stands in a slot whose instruction has not run goes back to where that was. */
static void leave_slots(struct ubp_session *s, const struct process *p)
{
	const struct space *space = p->space;
	size_t pos = 0;
	void *value;

	while (map_next(&s->tracer.tracees, &pos, NULL, &value)) {
		struct tracee *t = value;
		const struct site *site;
		uint64_t pc;

		if (t->process != p || !t->parked || hold_get_pc(t, &pc) < 0)
			continue;
		site = plant_site_of_slot(space, pc);
		if (site && pc == site->slot)
			(void)hold_set_pc(t, site->vaddr);
	}
}

void release_process(struct ubp_session *s, pid_t pid)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (p)
		jump_remove(&s->tracer, p->space);
	p = map_get(&s->tracer.processes, (uint64_t)pid);
	if (!p)
		return;
	plant_remove(p);
	attach_drain(&s->tracer, p);
	p = map_get(&s->tracer.processes, (uint64_t)pid);
	if (p)
		plant_leave(&s->tracer, p);
	p = map_get(&s->tracer.processes, (uint64_t)pid);
	if (p)
		leave_slots(s, p);
	attach_undo(&s->tracer, pid);
}

/* Whom the finder is not to take up again. */
static void give_up(struct ubp_session *s, pid_t pid)
{
	pthread_mutex_lock(&s->lock);
	(void)map_put(&s->given_up, (uint64_t)pid, s);
	pthread_mutex_unlock(&s->lock);
}

static struct tracee *next_parked(const struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->tracees, &pos, NULL, &value))
		if (((struct tracee *)value)->parked)
			return value;
	return NULL;
}

/* It is to go on untraced. */
static void release_thread(struct ubp_session *s, struct tracee *t)
{
	const struct process *p = t->process;
	pid_t pid = p->pid;

	give_up(s, pid);
	/* Others live in its memory, with their breakpoints: its guard has to do. */
	if (p->space->refs > 1)
		tracer_detach(&s->tracer, t);
	else
		release_process(s, pid);
}

void release_pass(struct ubp_session *s)
{
	struct tracee *t;

	while (s->tracer.n_parked && (t = next_parked(&s->tracer))) {
		pid_t tid = t->tid;

		release_thread(s, t);
		/* What could not be let go stays traced. */
		if (map_get(&s->tracer.tracees, (uint64_t)tid) == t && t->parked)
			tracer_unpark(&s->tracer, t);
	}
}

/* --- the first of a pid namespace -------------------------------------------------- */

static bool is_init(struct process *p)
{
	if (!p->own_pid)
		p->own_pid = task_own_pid(p->pid);
	return p->own_pid == 1;
}

/* Did an instruction of the thread raise it? Not what another process, or a broken memory chip, sent. */
static bool is_forced(int sig, const siginfo_t *si)
{
	return si->si_code > 0 &&
	       (sig == SIGSEGV || sig == SIGFPE || sig == SIGILL || sig == SIGSYS ||
		sig == SIGTRAP || (sig == SIGBUS && si->si_code != BUS_MCEERR_AO));
}

static bool ends_it(const struct tracee *t, int sig, const siginfo_t *si)
{
	const struct process *p = t->process;

	if (sig == SIGTRAP)
		return si->si_code == p->space->arch->swbp_si_code && guard_ends_by_trap(p);
	return !task_catches(t->tid, sig);
}

/* Where it would raise the signal once more. */
static void go_back(const struct tracee *t, int sig)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t pc, back = sig == SIGTRAP  ? arch->swbp_pc_advance
			    : sig == SIGSYS ? arch->syscall_len
					    : 0;

	if (back && ubp_host_get_pc(t->tid, &pc) == 0)
		(void)ubp_host_set_pc(t->tid, pc - back);
}

void release_if_spared(struct ubp_session *s, struct tracee *t, int sig)
{
	siginfo_t si;

	if (t->held || t->in_remote || s->is_ending ||
	    ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si) < 0 || !is_forced(sig, &si) ||
	    !is_init(t->process) || !ends_it(t, sig, &si))
		return;
	go_back(t, sig);
	session_warn(
		s,
		"process %d is let go: signal %d (%s) ends it, the first of its pid namespace, "
		"only while nobody traces it",
		(int)t->process->pid, sig, strsignal(sig));
	tracer_park(&s->tracer, t);
}
