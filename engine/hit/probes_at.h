/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* All probes of a place where a thread has stopped at a breakpoint. */

#ifndef UBP_HIT_PROBES_AT_H
#define UBP_HIT_PROBES_AT_H

struct hit;
struct hit_change;
struct site;
struct tracee;
struct ubp_regs;

/*
 * They fire: those that stand there, in their order, then those whose functions are left there; return addresses are replaced. @regs, the
 * thread's, change on the way; what handlers have changed of them is told in @change, whose .regs they are.
 */
void probes_at(struct hit *hit, struct tracee *t, struct site *site, struct ubp_regs *regs,
	       struct hit_change *change);

#endif
