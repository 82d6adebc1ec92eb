/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/held.h"

#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/tracer.h"

struct held held_thread(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at)
{
	return (struct held){
		.tracer = tracer, .t = t, .tid = t->tid, .program = t->n_execs, .at = at
	};
}

bool held_lasts(const struct held *held)
{
	return tracer_has(held->tracer, held->t, held->tid) &&
	       held->t->n_execs == held->program;
}

bool held_has_executed(const struct held *held)
{
	return tracer_has(held->tracer, held->t, held->tid) && !held_lasts(held);
}

void held_keep(const struct held *held, bool keep)
{
	if (held_lasts(held))
		held->t->held = keep;
}

void held_let_go(const struct held *held)
{
	if (held_lasts(held))
		tracee_resume(held->t, 0);
}

bool tracee_has_executed(const struct tracee *t)
{
	return t->n_execs > 0;
}
