/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/hold.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/event/clock.h"
#include "engine/trace/attach.h"
#include "engine/trace/children.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

/* So many times longer may it take where threads only have to get a processor. */
#define PATIENCE 50
/* So long after the first look at the others, those that are held are looked at, too. */
#define HELD_NS 1000000ULL
/* Between two looks at who has stopped. */
#define LOOKS 32

/* One that was asked to stop: has it? True: the table of tracees has changed. */
static bool take(struct tracer *tracer, struct tracee *t)
{
	struct stop stop;

	if (wait_look(t->tid, &stop) != 1)
		return false;
	if (stop.exited || stop.event != PTRACE_EVENT_STOP) {
		/* Something else first. It goes on to the stop that it was asked for. */
		tracer_dispatch(tracer, &stop);
		return true;
	}
	tracee_event_stop(t, stop.sig);
	if (tracee_has_trap(tracer, t)) {
		/* Its SIGTRAP comes at once; only then ask again. */
		t->listening = false;
		tracee_resume(t, 0);
		t->want_interrupt = true;
		return false;
	}
	t->held = true;
	t->listening = stop.sig != SIGTRAP;
	return false;
}

/* One that was asked to stop wakes up for that, unless nothing wakes it. */
static bool is_left_alone_at(struct tracee *t, uint64_t *ret_pc, uint64_t *ret_sp)
{
	return task_asleep_in(t->tid, ret_pc, ret_sp, &t->asleep_in) &&
	       (!t->want_interrupt || task_state(t->tid) == 'D');
}

static bool is_left_alone(struct tracee *t)
{
	uint64_t pc, sp;

	return is_left_alone_at(t, &pc, &sp);
}

static bool stop_it(struct tracee *t)
{
	ubp_host_note_call(t->tid, &t->remote.call);
	return again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
}

/* One pass. How many are still to come? *ret_changed: perhaps more than that. */
static size_t look_around(struct tracer *tracer, const struct space *space, bool running,
			  bool *ret_changed)
{
	struct tracee *t = NULL;
	size_t n = 0;

	*ret_changed = false;
	while ((t = space_next(space, t))) {
		/* Looking is dear, and says nothing about the next moment: once will do. */
		if (!t->left_alone && !t->held && running && is_left_alone(t))
			t->left_alone = LEFT_ASLEEP;
		if (t->held || t->left_alone)
			continue;
		n++;
		/* Asked once; a stop for another reason has it asked again. */
		if (!t->want_interrupt && !t->remote.at_large && stop_it(t))
			t->want_interrupt = true;
		if (take(tracer, t)) {
			*ret_changed = true;
			return n;
		}
		n -= t->held;
	}
	return n;
}

/*
 * An exec kills all other threads of its process and waits for them. One that is held stops once more,
 * for its end, and somebody must let it go. True: the table of tracees has changed.
 */
static bool take_killed(struct tracer *tracer, const struct space *space)
{
	struct stop stop;

	for (struct tracee *t = NULL; (t = space_next(space, t));) {
		if (!t->held || wait_look(t->tid, &stop) != 1 ||
		    (!stop.exited && stop.event != PTRACE_EVENT_EXIT))
			continue;
		tracer_dispatch(tracer, &stop);
		return true;
	}
	return false;
}

static bool is_alive(struct tracer *tracer, const struct space *space)
{
	size_t pos = 0;
	void *value;

	/* It may have been freed. */
	while (map_next(&tracer->processes, &pos, NULL, &value))
		if (((struct process *)value)->space == space)
			return true;
	return false;
}

/* Those that are missing wait in the kernel for something that no signal ends. */
static bool are_stuck(const struct space *space)
{
	for (const struct tracee *t = NULL; (t = space_next(space, t));)
		if (!t->held && !t->remote.at_large && !t->left_alone &&
		    !strchr("DZX", task_state(t->tid)))
			return false;
	return true;
}

static bool hold(struct tracer *tracer, const struct space *space, bool running, bool rest,
		 unsigned limit_ms)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), spin = 0, passed;
	bool changed;
	size_t n;

	tracer_stop_begin(tracer);
	for (struct tracee *t = NULL; (t = space_next(space, t));)
		if (!rest || t->left_alone != LEFT_LOOKED_AT)
			t->left_alone = LEFT_NOT;
	for (;;) {
		n = look_around(tracer, space, running, &changed);
		passed = event_clock_now(CLOCK_KIND_MONO) - begun;
		if (n && !changed && passed > HELD_NS)
			changed = take_killed(tracer, space);
		if (changed && !is_alive(tracer, space))
			return false;
		if (!n && !changed)
			return children_all_seen(tracer, space);
		if (again_is_hopeless())
			return false;
		if (passed > limit_ms * 1000000ULL * PATIENCE ||
		    (passed > limit_ms * 1000000ULL && are_stuck(space)))
			return false;
		if (!changed)
			wait_a_little(&spin);
	}
}

bool hold_all(struct tracer *tracer, const struct space *space, unsigned limit_ms)
{
	return hold(tracer, space, false, false, limit_ms);
}

bool hold_running(struct tracer *tracer, const struct space *space, unsigned limit_ms)
{
	return hold(tracer, space, true, false, limit_ms);
}

bool hold_rest(struct tracer *tracer, const struct space *space, unsigned limit_ms)
{
	return hold(tracer, space, true, true, limit_ms);
}

void hold_look(struct tracer *tracer, const struct space *space, hold_look_fn *look, void *ctx)
{
	size_t n;
	pid_t *tids = space_ids(tracer, space, NULL, &n);

	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t;
		uint64_t pc, sp;

		/* Whoever stops meanwhile does not wait for all. */
		if (i % LOOKS == LOOKS - 1)
			tracer_poll(tracer, LOOKS);
		t = map_get(&tracer->tracees, (uint64_t)tids[i]);
		if (!t || t->process->space != space || t->held)
			continue;
		t->left_alone = LEFT_NOT;
		if (is_left_alone_at(t, &pc, &sp) && (!look || look(ctx, t, pc, sp)))
			t->left_alone = LEFT_LOOKED_AT;
	}
	ids_give(tracer, tids);
}

bool hold_has_rest(const struct space *space)
{
	const struct tracee *t = NULL;

	while ((t = space_next(space, t)) && t->left_alone == LEFT_LOOKED_AT)
		;
	return t;
}

void hold_forget_looks(const struct space *space)
{
	for (struct tracee *t = NULL; (t = space_next(space, t));)
		t->left_alone = LEFT_NOT;
}

void hold_end(struct tracer *tracer, const struct space *space, const struct held *keep)
{
	const struct tracee *kept = keep && held_lasts(keep) ? keep->t : NULL;
	struct tracee *t = NULL;

	/* Its last thread may have ended meanwhile; letting one go takes none away. */
	if (!is_alive(tracer, space))
		space = NULL;
	while (space && (t = space_next(space, t))) {
		if (t == kept)
			continue;
		if (t->held)
			attach_let_go(t);
		else
			t->want_interrupt = false; /* its stop is passed over when it comes */
	}
	tracer_stop_end(tracer);
}

void hold_scope_begin(struct hold_scope *scope, const struct held *held)
{
	struct tracee *t = held->t;

	*scope = (struct hold_scope){ .held = held,
				      .space = t->process->space,
				      .was_held = t->held };
	space_keep(scope->space);
	t->held = true;
}

bool hold_scope_lasts(const struct hold_scope *scope)
{
	return held_lasts(scope->held) && scope->held->t->process->space == scope->space;
}

void hold_scope_end(struct hold_scope *scope)
{
	held_keep(scope->held, scope->was_held);
	space_put(scope->held->tracer, scope->space);
}

int hold_get_regs(const struct tracee *t, struct ubp_regs *ret_regs)
{
	if (!t->remote.called)
		return ubp_host_get_regs(t->tid, ret_regs);
	*ret_regs = *t->remote.before;
	return 0;
}

int hold_get_pc(const struct tracee *t, uint64_t *ret_pc)
{
	if (!t->remote.called)
		return ubp_host_get_pc(t->tid, ret_pc);
	*ret_pc = t->remote.before->r[t->process->space->arch->reg.pc];
	return 0;
}

int hold_set_pc(struct tracee *t, uint64_t pc)
{
	if (!t->remote.called)
		return ubp_host_set_pc(t->tid, pc);
	t->remote.before->r[t->process->space->arch->reg.pc] = pc;
	return tracee_renew_frame(t);
}

int hold_set_regs(struct tracee *t, const struct ubp_regs *regs)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t sp;

	if (!t->remote.called)
		return ubp_host_set_regs(t->tid, regs);
	sp = t->remote.before->r[arch->reg.sp];
	*t->remote.before = *regs;
	/* One frame has one stack pointer behind it. */
	return regs->r[arch->reg.sp] == sp ? tracee_renew_frame(t) : 0;
}
