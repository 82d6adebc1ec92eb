/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* User stacks by frame pointers, of stopped threads. */

#ifndef UBP_HIT_STACK_H
#define UBP_HIT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/hit/state.h"

/* That of a stopped thread: at most @max addresses. Returns how many. */
size_t stack_take(struct hit *hit, const struct tracee *t, const struct ubp_regs *regs,
		  uint64_t *stack, size_t max);

#endif
