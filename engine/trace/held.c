/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/held.h"

#include "engine/trace/process.h"
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

bool tracee_has_executed(const struct tracee *t)
{
	return t->n_execs > 0;
}
