/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Giving mappings back to a target that was left. */

#ifndef UBP_PLANT_GIVE_BACK_H
#define UBP_PLANT_GIVE_BACK_H

struct process;
struct tracee;
struct tracer;
struct ubp_regs;

/* Nothing leads to our mappings any more: those are unmapped that no thread is in. @t: the only
 * thread of @p, held, that goes on with @at, or NULL; it may be gone afterwards, and @p, too. */
void give_back(struct tracer *tracer, struct process *p, struct tracee *t,
	       const struct ubp_regs *at);

#endif
