/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How far return addresses may lie apart, in bytes, and still belong together. */

#ifndef UBP_RETURNS_LIMITS_H
#define UBP_RETURNS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* No frame is as large as this: what is further away is on another stack. */
#define FRAME_MAX 0x100000ULL
/* No thread's stack is as large as this. */
#define THREAD_STACK_MAX 0x10000000ULL
/* How far above its word a callee may leave the stack pointer ("ret 16"). */
#define RET_POPS_MAX 4096

/* Are these two on the same stack, perhaps? */
static inline bool is_same_stack(uint64_t a, uint64_t b)
{
	return a - b < FRAME_MAX || b - a < FRAME_MAX;
}

#endif
