/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/frame.h"

#include "engine/returns/returns.h"
#include "engine/trace/process.h"

unsigned stack_frame_number(const struct ubp_arch *arch, unsigned reg)
{
	unsigned i = 0;

	while (i < arch->unwind.n_regs && arch->unwind.regs[i] != reg)
		i++;
	return i;
}

bool stack_frame_get(const struct stack_frame *frame, unsigned number, uint64_t *ret_value)
{
	if (number >= UBP_DWARF_REGS_MAX || !(frame->known[number / 64] >> number % 64 & 1))
		return false;
	*ret_value = frame->r[number];
	return true;
}

void stack_frame_set(struct stack_frame *frame, unsigned number, uint64_t value)
{
	if (number >= UBP_DWARF_REGS_MAX)
		return;
	frame->r[number] = value;
	frame->known[number / 64] |= UINT64_C(1) << number % 64;
}

bool stack_frame_get_reg(const struct stack_frame *frame, unsigned reg, uint64_t *ret_value)
{
	return stack_frame_get(frame, stack_frame_number(frame->space->arch, reg), ret_value);
}

void stack_frame_begin(struct stack_frame *frame, const struct space *space,
		       struct stack_memory *memory, const struct ubp_regs *regs)
{
	const struct ubp_arch *arch = space->arch;

	*frame = (struct stack_frame){ .space = space,
				       .memory = memory,
				       .pc = regs->r[arch->reg.pc] };
	for (unsigned i = 0; i < arch->unwind.n_regs; i++)
		if (arch->unwind.regs[i] < arch->reg.n)
			stack_frame_set(frame, i, regs->r[arch->unwind.regs[i]]);
}

uint64_t stack_frame_sp(const struct stack_frame *frame)
{
	uint64_t sp = 0;

	(void)stack_frame_get_reg(frame, frame->space->arch->reg.sp, &sp);
	return sp;
}

bool stack_frame_read_word(const struct stack_frame *frame, uint64_t vaddr, uint64_t *ret_value)
{
	*ret_value = 0;
	return stack_memory_read(frame->memory, vaddr, ret_value,
				 frame->space->arch->addr_size);
}

bool stack_frame_read_return(const struct stack_frame *frame, uint64_t vaddr, uint64_t sp,
			     uint64_t *ret_value)
{
	if (!stack_frame_read_word(frame, vaddr, ret_value))
		return false;
	*ret_value = returns_real(frame->space, vaddr, sp, *ret_value);
	return true;
}
