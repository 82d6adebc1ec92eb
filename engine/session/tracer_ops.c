/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a session answers when the tracer asks it (struct tracer_ops): what becomes of a trap
 * and of a signal, of processes that are born, execute a program, and end.
 */

#include <errno.h>
#include <signal.h>

#include "engine/plant/births.h"
#include "engine/plant/claims.h"
#include "engine/plant/leave.h"
#include "engine/plant/plant.h"
#include "engine/plant/stand_alone.h"
#include "engine/plant/upgrade.h"
#include "engine/returns/ends.h"
#include "engine/session/budget.h"
#include "engine/session/inside.h"
#include "engine/session/letting_go.h"
#include "engine/session/processes.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/space.h"
#include "engine/trace/follow.h"
#include "engine/trace/held.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

bool session_follows_children(const struct ubp_session *s)
{
	if (s->opt.follow == UBP_FOLLOW_AUTO)
		return !s->opt.n_pids && !s->opt.tid;
	return s->opt.follow == UBP_FOLLOW_YES;
}

static enum trap_verdict on_trap(void *ctx, const struct held *held)
{
	struct ubp_session *s = ctx;
	uint64_t begun_ns = budget_stop_begin(s);
	enum trap_verdict verdict = hit_trap(&s->hit, held);

	budget_stop_end(s, begun_ns);
	if (verdict == TRAP_FOREIGN && held_lasts(held))
		release_if_spared(s, held, SIGTRAP);
	return verdict;
}

static bool on_pc_has_trap(void *ctx, struct tracee *t, uint64_t pc)
{
	(void)ctx;
	return hit_pc_has_trap(t, pc);
}

static bool on_signal(void *ctx, const struct held *held, int sig)
{
	struct ubp_session *s = ctx;
	bool is_ours = hit_signal(&s->hit, held, sig);

	if (!is_ours && held_lasts(held))
		release_if_spared(s, held, sig);
	return is_ours;
}

/* Was it told before? A process may open libraries as often as it likes. */
static bool was_told(const struct held *held, int rc)
{
	struct file_cost *cost;
	bool was;

	if (rc != -ETIME || !held_lasts(held))
		return false;
	cost = &held->t->process->space->cost;
	was = cost->is_told;
	cost->is_told = true;
	return was;
}

/* What hinders it is told; one that is gone has ended, or its end will be reported. */
static void plant_and_tell(struct ubp_session *s, const struct held *held)
{
	pid_t pid = held->t->process->pid;
	struct ubp_err err;
	int rc = session_plant(s, held, &err);

	/* -EINTR: the session ends. */
	if (rc < 0 && rc != -ESRCH && rc != -EINTR && !was_told(held, rc))
		session_warn(s, "process %d: %s", (int)pid, err.text);
}

/* Its breakpoints are its parent's; it is kept until it has its own memory. */
static enum keep_verdict forked_sharing(struct ubp_session *s, const struct process *parent,
					const struct held *first)
{
	struct ubp_err err;

	first->t->process->silent = !session_follows_children(s);
	session_mark_known(s, first->tid, true);
	processes_begin(s, first->t->process);
	if (births_share(parent, first, &err) < 0 && err.code != ESRCH)
		session_warn(s, "process %d: %s", (int)first->tid, err.text);
	return KEEP_TRACING;
}

static enum keep_verdict on_forked(void *ctx, const struct process *parent,
				   const struct held *first, bool shares)
{
	struct ubp_session *s = ctx;
	struct plant_left left = { 0 };
	pid_t tid = first->tid;
	enum birth birth;

	letting_go_later(s, parent);
	if (shares)
		return forked_sharing(s, parent, first);
	first->t->process->silent =
		!session_follows_children(s) || plant_is_closing(parent->space);
	birth = births_copy(parent, first, &left);
	if (birth == BIRTH_GONE) {
		tell_left(s, tid, &left);
		return LET_GO;
	}
	session_mark_known(s, tid, true);
	session_count_process(s);
	processes_begin(s, first->t->process);
	if (birth == BIRTH_PLANT)
		plant_and_tell(s, first);
	return KEEP_TRACING;
}

/* It was seized while it was held, and stands before the first instruction of its program. */
static void count_held(struct ubp_session *s, struct process *p)
{
	p->at_exec = false;
	pthread_mutex_lock(&s->lock);
	s->count.n_processes++;
	s->newcomer.n_held++;
	pthread_mutex_unlock(&s->lock);
}

static bool is_open(const struct ubp_session *s)
{
	return !s->opt.n_pids && !s->opt.tid && !s->command.argv;
}

static enum keep_verdict on_execed(void *ctx, const struct held *held)
{
	struct ubp_session *s = ctx;
	struct tracee *t = held->t;
	pid_t tid = held->tid;

	births_executed(t);
	/* A child that nobody asked for, now in its own memory; or the breakpoints are gone with the
	 * old image, and the guard of the new one would not outlive what is still to be done. */
	if (t->process->silent || t->process->is_leaving || s->is_ending)
		return LET_GO;
	/* It acts for another user now, or was seized in its exec, before that was known. */
	if (is_open(s) && !whom_has(&s->newcomer.whom, tid)) {
		t->process->at_exec = t->process->waits = false;
		session_mark_known(s, tid, false);
		return LET_GO;
	}
	session_mark_known(s, tid, true);
	processes_execute(s, t->process);
	if (t->process->at_exec)
		count_held(s, t->process);
	if (t->process->waits)
		session_count_process(s); /* planted in here, not in its turn */
	t->process->waits = false;
	plant_and_tell(s, held);
	if (!held_lasts(held))
		return KEEP_TRACING;
	/* Static and not one of ours: it can't become one without another exec. */
	if (is_open(s) && !births_has_probes(t->process->space) &&
	    !births_is_dynamic(t->process->space)) {
		session_mark_known(s, tid, false);
		return LET_GO;
	}
	return KEEP_TRACING;
}

void session_mappings_changed(struct ubp_session *s, const struct held *held)
{

	plant_and_tell(s, held);
	if (held_lasts(held))
		stacks_mapped(s, held->t);
	/* The hit goes on as if there had been no remote call. */
	held_keep(held, false);
}

static void on_born(void *ctx, pid_t mother, const struct held *held)
{
	(void)ctx;
	upgrade_born(mother, held);
}

static void on_vfork_done(void *ctx, struct tracee *t)
{
	(void)ctx;
	births_vfork_done(t);
}

static void on_ending(void *ctx, struct tracee *t)
{
	(void)ctx;
	claims_thread_ends(t);
	return_thread_ends(t);
}

static void on_tracee_gone(void *ctx, struct tracee *t)
{
	struct ubp_session *s = ctx;
	struct held held;

	if (t->process->is_alone) {
		held = held_thread(&s->tracer, t, NULL);
		upgrade_note_thread(&held);
	}
	hit_tracee_gone(t);
}

static void on_process_gone(void *ctx, struct process *p)
{
	struct ubp_session *s = ctx;

	stand_alone_forget(p);
	session_mark_gone(s, p->pid);
	processes_end(s, p->pid);
	/* One whose exec was to be seen, and was not, has not executed anything. */
	if ((p->at_exec && !p->exec_comes) || p->waits)
		session_count_late(s, p->pid);
	s->n_wanted -= p->probes->is_wanted;
	/* While others are still attached to, nobody knows how many there will be. */
	if (s->tracing.is_ready)
		targets_end_with_last(s);
}

static void on_command_ended(void *ctx, int status)
{
	struct ubp_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->command.has_ended = true;
	s->command.status = status;
	pthread_mutex_unlock(&s->lock);
	session_end(s);
}

static void on_space_gone(void *ctx, struct space *space)
{
	struct ubp_session *s = ctx;

	stacks_space_gone(s, space);
	plant_space_gone(&s->plant, space);
	plant_forget(space);
}

static void on_idle(void *ctx)
{
	struct ubp_session *s = ctx;

	follow_nobody(&s->tracer);
	hit_idle(&s->hit);
}

static void on_meanwhile(void *ctx)
{
	newcomers_meanwhile(ctx);
}

const struct tracer_ops session_tracer_ops = {
	.thread_len = sizeof(struct thread_probes),
	.process_len = sizeof(struct process_probes),
	.trap = on_trap,
	.pc_has_trap = on_pc_has_trap,
	.signal = on_signal,
	.born = on_born,
	.forked = on_forked,
	.execed = on_execed,
	.vfork_done = on_vfork_done,
	.ending = on_ending,
	.tracee_gone = on_tracee_gone,
	.process_gone = on_process_gone,
	.command_ended = on_command_ended,
	.space_gone = on_space_gone,
	.idle = on_idle,
	.meanwhile = on_meanwhile,
};
