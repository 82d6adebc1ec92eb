/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stacks by frame pointers. */

#ifndef UBP_STACK_FRAME_POINTERS_H
#define UBP_STACK_FRAME_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Where the stack lies: for stack_walk(). */
struct stack_source {
	/* A frame: the caller's frame pointer and the return address. False: it can't be read. */
	bool (*read)(void *ctx, uint64_t vaddr, uint64_t frame[2]);
	/* What really stands in a stack word, where @found was read. */
	uint64_t (*real)(void *ctx, uint64_t slot_vaddr, uint64_t found);
	void *ctx;
};

/*
 * Addresses of the stack, innermost first: the pc, then return addresses along the chain of
 * frame pointers, hijacked ones as they were. Returns how many, at most @max. Detours do
 * the same (arch/x86/common_detour_stack.c).
 */
size_t stack_walk(const struct ubp_arch *arch, const struct ubp_regs *regs,
		  const struct stack_source *source, uint64_t *stack, size_t max);

#endif
