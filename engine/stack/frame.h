/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One frame of a stack: its registers, and what stands in its memory. */

#ifndef UBP_STACK_FRAME_H
#define UBP_STACK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/stack/files.h"
#include "engine/stack/memory.h"

struct space;
struct ubp_regs;

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

/* DWARF's number of register @reg (of struct ubp_regs); unwind.n_regs: it has none. */
unsigned stack_frame_number(const struct ubp_arch *arch, unsigned reg);

/* The register of DWARF's @number in @frame. False: it is not known. */
bool stack_frame_get(const struct stack_frame *frame, unsigned number, uint64_t *ret_value);
void stack_frame_set(struct stack_frame *frame, unsigned number, uint64_t value);

/* The stack pointer; 0: it is not known. */
uint64_t stack_frame_sp(const struct stack_frame *frame);

/* Register @reg (of struct ubp_regs) in @frame. False: it is not known. */
bool stack_frame_get_reg(const struct stack_frame *frame, unsigned reg, uint64_t *ret_value);

/* The word at @vaddr. False: it can't be read. */
bool stack_frame_read_word(const struct stack_frame *frame, uint64_t vaddr,
			   uint64_t *ret_value);

/* A return address that stands at @vaddr: ours stand for others. @sp: as of returns_real(). False: it can't be read. */
bool stack_frame_read_return(const struct stack_frame *frame, uint64_t vaddr, uint64_t sp,
			     uint64_t *ret_value);

#endif
