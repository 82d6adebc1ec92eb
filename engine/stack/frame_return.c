/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/frame_return.h"

#include "engine/returns/returns.h"
#include "engine/trace/process.h"

/* --- in the stack --------------------------------------------------------------------- */

static bool stack_is_upwards(uint64_t was, uint64_t sp, bool is_call)
{
	(void)is_call;
	return sp > was;
}

static bool stack_at_entry(const struct stack_frame *frame, uint64_t *ret_address,
			   uint64_t *ret_sp)
{
	uint64_t sp = stack_frame_sp(frame);

	*ret_sp = sp + frame->space->arch->addr_size;
	return stack_frame_read_return(frame, sp, sp, ret_address);
}

static bool stack_is_in_trampoline(const struct stack_frame *frame, uint64_t trampoline)
{
	return frame->pc == trampoline ||
	       frame->pc == trampoline + frame->space->arch->swbp.len;
}

static bool stack_in_trampoline(const struct stack_frame *frame, uint64_t *ret_address)
{
	return stack_frame_read_return(
		frame, stack_frame_sp(frame) - frame->space->arch->addr_size, 0, ret_address);
}

static uint64_t stack_real(const struct stack_frame *frame, unsigned reg, uint64_t value)
{
	(void)frame, (void)reg;
	return value;
}

static const struct frame_return in_stack = {
	.is_upwards = stack_is_upwards,
	.find_at_entry = stack_at_entry,
	.is_in_trampoline = stack_is_in_trampoline,
	.find_in_trampoline = stack_in_trampoline,
	.real = stack_real,
};

/* --- in a register -------------------------------------------------------------------- */

/* A callee may have no frame. */
static bool register_is_upwards(uint64_t was, uint64_t sp, bool is_call)
{
	return sp > was || (sp == was && !is_call);
}

static uint64_t register_real(const struct stack_frame *frame, unsigned reg, uint64_t value)
{
	return reg == frame->space->arch->reg.link
		       ? returns_real(frame->space, 0, stack_frame_sp(frame), value)
		       : value;
}

/* On the spot the register is ours still, or right. */
static bool register_find(const struct stack_frame *frame, uint64_t *ret_address)
{
	unsigned link = frame->space->arch->reg.link;
	uint64_t value;

	if (!stack_frame_get_reg(frame, link, &value))
		return false;
	*ret_address = register_real(frame, link, value);
	return true;
}

static bool register_at_entry(const struct stack_frame *frame, uint64_t *ret_address,
			      uint64_t *ret_sp)
{
	*ret_sp = stack_frame_sp(frame);
	return register_find(frame, ret_address);
}

/* The guard's code stands behind it. */
static bool register_is_in_trampoline(const struct stack_frame *frame, uint64_t trampoline)
{
	return frame->pc - trampoline < UBP_SLOT_SIZE;
}

static const struct frame_return in_register = {
	.is_upwards = register_is_upwards,
	.find_at_entry = register_at_entry,
	.is_in_trampoline = register_is_in_trampoline,
	.find_in_trampoline = register_find,
	.real = register_real,
};

const struct frame_return *frame_return_of(const struct stack_frame *frame)
{
	static const struct frame_return *const tables[] = {
		[RETURN_IN_STACK] = &in_stack,
		[RETURN_IN_REGISTER] = &in_register,
	};

	return tables[frame->space->arch->return_in];
}
