/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One frame of a stack, and the way to its caller's. */

#ifndef UBP_STACK_FRAME_H
#define UBP_STACK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/stack/files.h"
#include "engine/stack/memory.h"
#include "engine/trace/tracer.h"

struct stack_frame {
	const struct space *space;
	struct stack_memory *memory;
	uint64_t r[UBP_DWARF_REGS_MAX];  /* by DWARF's numbers */
	uint64_t known[UBP_DWARF_KNOWN]; /* bit n % 64 of known[n / 64]: r[n] is */
	uint64_t pc;
	bool is_call; /* pc is behind a call; else the thread is there, or was interrupted */
};

void stack_frame_begin(struct stack_frame *frame, const struct space *space,
		       struct stack_memory *memory, const struct ubp_regs *regs);
uint64_t stack_frame_sp(const struct stack_frame *frame);
/* Does @new lie above @old, as the frame of its caller must? */
bool stack_frame_is_upwards(const struct stack_frame *old, const struct stack_frame *new);

/*
 * To the caller's frame. False: there is none, or it can't be found. The frame stays what it
 * was then.
 */
bool stack_frame_by_row(struct stack_frame *frame, const struct cfi_row *row);
bool stack_frame_by_signal(struct stack_frame *frame);
/* At the first instruction of a function, of which nothing is known. */
bool stack_frame_by_entry(struct stack_frame *frame);
bool stack_frame_by_frame_pointer(struct stack_frame *frame);

/* Where what was interrupted is in code of ours: as it would be in the program. */
void stack_frame_leave_ours(struct stack_frame *frame);

#endif
