/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return addresses that were in a register when they were replaced: putting them back. */

#ifndef UBP_HIT_DISARM_LINK_H
#define UBP_HIT_DISARM_LINK_H

#include "engine/plant/plant.h"
#include "engine/trace/tracer.h"

/*
 * Put back all that are on the stacks of @t, which stopped with @regs, and the one in its register
 * (in @regs: the caller writes them). They go from their lists to @here, innermost first;
 * signed ones wait for disarm_signed().
 */
void disarm_links(struct tracee *t, struct ubp_regs *regs, struct return_list *here);

/*
 * The signed ones, by remote calls; @regs: the thread goes on with these. False: it has ended
 * meanwhile.
 */
bool disarm_signed(struct tracer *tracer, struct tracee *t, const struct ubp_regs *regs);

#endif
