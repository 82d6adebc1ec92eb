/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Unwinders, where return addresses are in the stack: putting the real ones back into their words. */

#ifndef UBP_RETURNS_IN_STACK_UNWIND_H
#define UBP_RETURNS_IN_STACK_UNWIND_H

struct return_list;
struct tracee;
struct ubp_regs;

/* return_ops.disarm() */
void in_stack_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches,
		     struct return_list *here, struct return_list *far);

#endif
