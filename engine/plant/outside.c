/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/outside.h"

#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/bell.h"
#include "engine/plant/jump_priv.h"
#include "engine/returns/stack_words.h"
#include "engine/space/space.h"
#include "engine/space/thread.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/hold.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define PAUSE_NS 200000
#define LIMIT_NS 50000000ULL /* threads stand still for most of it, now and then */
#define STOPS    64
/* In the vDSO of i386, which has pushed three registers, what calls it is among these. */
#define TOP_WORDS 8

struct outside {
	const struct outside_question *question;
	struct space *space;
	struct maps maps; /* where stacks are asked about */
	uint64_t vdso, vdso_end;
	/* Of the thread that is looked at: */
	bool is_inside;
	bool in_handler; /* a word of its stack, of those so far, is an address in the vDSO */
	size_t n_words;  /* so far */
};

static bool is_inside(const struct outside *o, uint64_t pc, enum outside_at at)
{
	return o->question->is_inside(o->question->ctx, o->space, pc, at);
}

/* A signal's frame has the place in the vDSO where a call of the kernel was interrupted, and on i386 its own way back. */
static void note_word(void *ctx, uint64_t word)
{
	struct outside *o = ctx;
	bool is_top = o->n_words++ < TOP_WORDS || o->in_handler;

	o->in_handler |= word >= o->vdso && word < o->vdso_end;
	o->is_inside |= is_inside(o, word, is_top ? OUTSIDE_TOP : OUTSIDE_DEEP);
}

/* It may come back to one from a signal's handler, too. */
static void look_at(struct outside *o, struct tracee *t, uint64_t pc, uint64_t sp)
{
	o->is_inside = is_inside(o, pc, OUTSIDE_PC);
	o->in_handler = false;
	o->n_words = 0;
	if (!o->is_inside && !o->question->asks_stacks)
		t->probes->is_outside = true;
	else if (!o->is_inside && maps_at(&o->maps, sp) &&
		 stack_words(&o->maps, &o->space->mem, t->tid, sp, o->space->arch->addr_size,
			     note_word, o))
		t->probes->is_outside = !o->is_inside;
}

/* hold_look_fn */
static bool look_at_sleeper(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp)
{
	if (!t->probes->is_outside)
		look_at(ctx, t, pc, sp);
	return t->probes->is_outside;
}

static void look_at_held(struct outside *o)
{
	const struct ubp_arch *arch = o->space->arch;

	for (struct tracee *t = NULL; (t = space_next(o->space, t));) {
		struct ubp_regs regs;

		if (!t->probes->is_outside && t->held && hold_get_regs(t, &regs) == 0)
			look_at(o, t, regs.r[arch->reg.pc], regs.r[arch->reg.sp]);
	}
}

/* A first thread that has ended stays until the others have, and does nothing. What cannot be read tells nothing. */
static void pass_over_ended(const struct space *space)
{
	for (struct tracee *t = NULL; (t = space_next(space, t));) {
		char state = t->probes->is_outside ? 0 : task_state(t->tid);

		if (state == 'Z' || state == 'X')
			t->probes->is_outside = true;
	}
}

static bool all_outside(const struct space *space)
{
	for (const struct tracee *t = NULL; (t = space_next(space, t));)
		if (!t->probes->is_outside)
			return false;
	return true;
}

static void read_maps(struct outside *o)
{
	const struct tracee *t = space_next(o->space, NULL);
	struct ubp_err ignored;

	maps_free(&o->maps);
	o->vdso = o->vdso_end = 0;
	if (!t || !o->question->asks_stacks || maps_read(t->tid, &o->maps, &ignored) < 0)
		return;
	for (size_t i = 0; i < o->maps.n; i++)
		if (strcmp(o->maps.v[i].path, "[vdso]") == 0) {
			o->vdso = o->maps.v[i].start;
			o->vdso_end = o->maps.v[i].end;
		}
}

static bool pass(struct tracer *tracer, struct outside *o)
{
	read_maps(o);
	hold_look(tracer, o->space, look_at_sleeper, o);
	pass_over_ended(o->space);
	if (!all_outside(o->space)) {
		(void)hold_rest(tracer, o->space, JUMP_HOLD_MS);
		read_maps(o);
		look_at_held(o);
		hold_end(tracer, o->space, NULL);
	}
	hold_forget_looks(o->space);
	return all_outside(o->space);
}

static bool is_in_vain(const struct space *space)
{
	return !space->plant || space_is_shared(space) || bell_waits(space->plant);
}

/* Who has come since was born outside. */
bool outside_wait(struct tracer *tracer, struct space *space,
		  const struct outside_question *question)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t until = event_clock_now(CLOCK_KIND_MONO) + LIMIT_NS;
	struct outside o = { .question = question, .space = space };
	bool all = false;

	for (struct tracee *t = NULL; (t = space_next(space, t));)
		t->probes->is_outside = false;
	while (!is_in_vain(space) && space_next(space, NULL)) {
		all = pass(tracer, &o);
		if (all || event_clock_now(CLOCK_KIND_MONO) > until)
			break;
		(void)nanosleep(&pause, NULL);
		tracer_poll(tracer, STOPS);
	}
	maps_free(&o.maps);
	return all && !is_in_vain(space);
}
