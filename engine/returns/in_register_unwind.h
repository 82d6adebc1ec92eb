/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Unwinders, where return addresses are in registers at entry: finding them, and putting the real ones back. */

#ifndef UBP_RETURNS_IN_REGISTER_UNWIND_H
#define UBP_RETURNS_IN_REGISTER_UNWIND_H

#include <stdbool.h>

struct held;
struct return_list;
struct tracee;
struct ubp_regs;

/*
 * return_ops.disarm(): all that are on the stacks of @t, and the one in its register (in @regs). They go from their
 * lists to @here; signed ones wait for in_register_disarm_signed(). @far stays as it is.
 */
void in_register_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches,
			struct return_list *here, struct return_list *far);

/* return_ops.disarm_signed() */
bool in_register_disarm_signed(const struct held *held);

#endif
