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
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/proc.h"
#include "engine/plant/guard.h"
#include "engine/plant/way_out.h"
#include "engine/session/inside.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/space.h"
#include "engine/trace/attach.h"
#include "engine/trace/held.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* Whoever ends the session meanwhile, what was planted goes first. */
static void release_all(struct ubp_session *s, const pid_t *pids, size_t n)
{
	const int *cancelled = s->tracer.cancelled;

	s->tracer.cancelled = NULL;
	way_out_some(&s->tracer, pids, n);
	for (size_t i = 0; i < n; i++) {
		const struct process *p = map_get(&s->tracer.processes, (uint64_t)pids[i]);

		if (p)
			tell_left(s, pids[i], plant_left(p->space));
		attach_undo(&s->tracer, pids[i]);
	}
	s->tracer.cancelled = cancelled;
}

void release_process(struct ubp_session *s, pid_t pid)
{
	release_all(s, &pid, 1);
}

/* Whom the finder is not to take up again. */
static void give_up(struct ubp_session *s, pid_t pid)
{
	pthread_mutex_lock(&s->lock);
	(void)map_put(&s->found.given_up, (uint64_t)pid, s);
	pthread_mutex_unlock(&s->lock);
}

static struct tracee *next_parked(const struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->tracees, &pos, NULL, &value)) {
		const struct tracee *t = value;

		if (t->parked && !t->kept)
			return value;
	}
	return NULL;
}

/*
 * A vfork() child of a debugger asks to be traced: until its exec it lives in the debugger's
 * memory. False: breakpoints cannot be kept from it.
 */
static bool release_vforked(struct ubp_session *s, struct tracee *t)
{
	if (!way_out_vforked(&s->tracer, t))
		return false;
	tracer_detach(&s->tracer, t);
	return true;
}

/* Those that live in @space; @last comes last. NULL: they cannot be stopped, or there is no memory. */
static pid_t *pids_of(const struct ubp_session *s, const struct space *space, pid_t last,
		      size_t *ret_n)
{
	pid_t *pids = calloc(space->refs, sizeof(*pids));
	size_t pos = 0, n = 0;
	void *value;

	while (pids && map_next(&s->tracer.processes, &pos, NULL, &value)) {
		const struct process *p = value;

		if (p->space != space)
			continue;
		if (p->is_vforked || n == space->refs) {
			free(pids);
			return NULL;
		}
		pids[n++] = p->pid;
		if (n > 1 && pids[n - 2] == last) {
			pids[n - 2] = p->pid;
			pids[n - 1] = last;
		}
	}
	*ret_n = n;
	return pids;
}

/*
 * All that live in the memory of @p, which @t waits for. The process of @t goes last: it attaches to @p
 * at once, and nobody may trace that any more. False: one of them waits for its vfork() child, and
 * cannot be stopped to be let go.
 */
static bool release_space(struct ubp_session *s, const struct process *p,
			  const struct tracee *t)
{
	size_t n = 0;
	pid_t *pids = pids_of(s, p->space, t->process->pid, &n);
	bool can_be = pids != NULL;

	for (size_t i = 0; i < n && can_be; i++)
		give_up(s, pids[i]);
	if (can_be)
		release_all(s, pids, n);
	free(pids);
	return can_be;
}

/* @t waits for it. */
static void release(struct ubp_session *s, struct tracee *t)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)t->parked_for);
	pid_t pid = t->parked_for;

	if (!p)
		return;
	give_up(s, pid);
	if (!space_is_shared(p->space))
		release_process(s, pid);
	else if (p == t->process && !t->asks)
		tracer_detach(&s->tracer,
			      t); /* with breakpoints of others: its guard has to do */
	else if (!(p == t->process && release_vforked(s, t)) && !release_space(s, p, t))
		session_warn(s,
			     "process %d shares its memory with others that are traced: "
			     "it cannot be let go",
			     (int)pid);
}

void release_pass(struct ubp_session *s)
{
	struct tracee *t;

	while (s->tracer.n_parked && (t = next_parked(&s->tracer))) {
		pid_t tid = t->tid;

		release(s, t);
		/* It waited for another, or could not be let go. */
		tracer_unpark(&s->tracer, tid);
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
		return si->si_code == p->space->arch->swbp.si_code && guard_ends_by_trap(p);
	return !task_catches(t->tid, sig);
}

/* Where it would raise the signal once more. */
static void go_back(const struct tracee *t, int sig)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t pc, back = sig == SIGTRAP  ? arch->swbp.pc_advance
			    : sig == SIGSYS ? arch->call.len
					    : 0;

	if (back && ubp_host_get_pc(t->tid, &pc) == 0)
		(void)ubp_host_set_pc(t->tid, pc - back);
}

void release_if_spared(struct ubp_session *s, const struct held *held, int sig)
{
	struct tracee *t = held->t;
	siginfo_t si;

	if (t->held || t->remote.is_in || s->is_ending ||
	    again_ptrace(PTRACE_GETSIGINFO, t->tid, 0, &si) < 0 || !is_forced(sig, &si) ||
	    !is_init(t->process) || !ends_it(t, sig, &si))
		return;
	go_back(t, sig);
	session_warn(
		s,
		"process %d is let go: signal %d (%s) ends it, the first of its pid namespace, "
		"only while nobody traces it",
		(int)t->process->pid, sig, strsignal(sig));
	tracer_park(&s->tracer, t, t->process->pid);
}

/* --- other tracers ------------------------------------------------------------------ */

/* The process that a thread of @t's pid namespace knows by @id, if it is traced. */
static struct process *known_as(const struct ubp_session *s, const struct tracee *t, pid_t id)
{
	const struct tracee *whose = map_get(&s->tracer.tracees, (uint64_t)id);
	size_t pos = 0;
	void *value;

	if (task_own_pid(t->process->pid) == t->process->pid)
		return whose ? whose->process : NULL;
	while (map_next(&s->tracer.processes, &pos, NULL, &value)) {
		struct process *p = value;

		if (task_own_pid(p->pid) == id &&
		    proc_same_namespace(p->pid, t->tid, "pid") == 1)
			return p;
	}
	return NULL;
}

/* Once: a debugger's tests may do that a thousand times. */
static void tell(struct ubp_session *s, pid_t pid, const char *why)
{
	if (s->n_released++ == 0)
		session_warn(s, "process %d is let go: %s; others are without a word", (int)pid,
			     why);
}

void release_for_tracing(void *ctx, const struct held *held, enum site_watch watch)
{
	struct ubp_session *s = ctx;
	struct tracee *t = held->t;
	const struct ubp_arch *arch = t->process->space->arch;
	const uint64_t *regs = held->at->r;
	const uint8_t *call = arch->call.regs;
	struct process *p = NULL;
	const char *why = "another that is traced attaches to it";

	if (t->held || t->remote.is_in || s->is_ending)
		return;
	if (watch == WATCH_PTRACER) {
		if (!task_has_hidden_tracer(t->process->pid, t->tid))
			return;
		p = t->process;
		why = "a thread of its own attaches to it (a leak checker?)";
	} else if ((int)regs[call[0]] != arch->call.nr_ptrace) {
		return;
	} else if ((int)regs[call[1]] == PTRACE_TRACEME) {
		p = t->process;
		why = "it asks its parent to trace it";
	} else if ((int)regs[call[1]] == PTRACE_ATTACH || (int)regs[call[1]] == PTRACE_SEIZE) {
		p = known_as(s, t, (pid_t)regs[call[2]]);
	}
	if (!p ||
	    (p == t->process && watch == WATCH_PTRACE && (int)regs[call[1]] != PTRACE_TRACEME))
		return;
	tell(s, p->pid, why);
	t->asks = true;
	tracer_park(&s->tracer, t, p->pid);
}
