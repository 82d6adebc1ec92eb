/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* User stacks by frame pointers. */

#ifndef UBP_HIT_STACK_H
#define UBP_HIT_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "engine/trace/tracer.h"

/*
 * Addresses of the stopped thread's stack, innermost first: the pc, then return
 * addresses along the chain of frame pointers, hijacked ones as they were. Returns
 * how many, at most @max.
 */
size_t stack_take(const struct tracee *t, const struct ubp_regs *regs, uint64_t *stack,
		  size_t max);

#endif
