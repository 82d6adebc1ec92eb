/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/caller.h"

#include <string.h>

#include "engine/returns/returns.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/stack/expr.h"
#include "engine/stack/frame_return.h"
#include "engine/trace/process.h"

static bool read_for_expr(void *ctx, uint64_t vaddr, void *buf, size_t len)
{
	const struct stack_frame *frame = ctx;

	return stack_memory_read(frame->memory, vaddr, buf, len);
}

/* @old is the callee's frame. */
static bool apply(const struct stack_frame *old, const struct cfi_rule *rule,
		  struct expr_input *in, bool is_return, uint64_t *ret_value)
{
	uint64_t at;

	switch (rule->how) {
	case CFI_SAME:
		if (!stack_frame_get(old, rule->reg, ret_value))
			return false;
		/* Still in the register that the call left it in. */
		if (is_return)
			*ret_value = returns_real(old->space, 0, in->cfa, *ret_value);
		return true;
	case CFI_REGISTER:
		return stack_frame_get(old, rule->other, ret_value);
	case CFI_VALUE:
		*ret_value = in->cfa + (uint64_t)rule->offset;
		return true;
	case CFI_EXPR:
		return expr_eval(rule->ops, rule->n_ops, in, ret_value);
	case CFI_SAVED_EXPR:
		if (!expr_eval(rule->ops, rule->n_ops, in, &at))
			return false;
		break;
	default:
		at = in->cfa + (uint64_t)rule->offset;
		break;
	}
	return is_return ? stack_frame_read_return(old, at, in->cfa, ret_value)
			 : stack_frame_read_word(old, at, ret_value);
}

static bool find_cfa(const struct stack_frame *frame, const struct cfi_rule *rule,
		     const struct expr_input *in, uint64_t *ret_cfa)
{
	if (rule->how == CFI_EXPR)
		return expr_eval(rule->ops, rule->n_ops, in, ret_cfa);
	if (!stack_frame_get(frame, rule->other, ret_cfa))
		return false;
	*ret_cfa += (uint64_t)rule->offset;
	return true;
}

/*
 * Callers' frames lie further up; but for those that a signal interrupted, on another stack
 * perhaps, and a callee's that has none.
 */
bool stack_frame_is_upwards(const struct stack_frame *old, const struct stack_frame *new)
{
	return frame_return_of(old)->is_upwards(stack_frame_sp(old), stack_frame_sp(new),
						old->is_call);
}

bool stack_frame_by_row(struct stack_frame *frame, const struct cfi_row *row)
{
	const struct ubp_arch *arch = frame->space->arch;
	struct stack_frame new = *frame;
	struct expr_input in = {
		.regs = frame->r,
		.known = frame->known,
		.n_regs = arch->unwind.n_regs,
		.read = read_for_expr,
		.ctx = frame,
	};
	bool has_return = false;
	uint64_t value;

	if (!find_cfa(frame, &row->cfa, &in, &in.cfa))
		return false;
	memset(new.known, 0, sizeof(new.known));
	stack_frame_set(&new, stack_frame_number(arch, arch->reg.sp), in.cfa);
	for (unsigned i = 0; i < row->n_rules; i++) {
		const struct cfi_rule *rule = &row->rules[i];
		bool is_return = rule->reg == row->ret_reg;

		if (!apply(frame, rule, &in, is_return, &value)) {
			if (is_return)
				return false;
			continue;
		}
		stack_frame_set(&new, rule->reg, value);
		if (is_return) {
			has_return = true;
			new.pc = value;
		}
	}
	/* Without a rule for it nobody called: the end. */
	if (!has_return || (!row->is_signal && !stack_frame_is_upwards(frame, &new)))
		return false;
	new.is_call = !row->is_signal;
	*frame = new;
	return true;
}

bool stack_frame_by_signal(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint64_t sp = stack_frame_sp(frame), value;
	const uint16_t *at = arch->unwind.sigframe_at;
	uint8_t code[UBP_SIGRETURN_MAX];
	struct stack_frame new = *frame;

	if (arch->unwind.sigframe_of &&
	    stack_memory_read(frame->memory, frame->pc, code, sizeof(code)))
		at = arch->unwind.sigframe_of(code, sizeof(code));
	memset(new.known, 0, sizeof(new.known));
	for (unsigned i = 0; i < arch->unwind.n_regs; i++) {
		if (arch->unwind.regs[i] >= arch->reg.n)
			continue;
		if (!stack_frame_read_word(frame, sp + at[i], &value))
			return false;
		stack_frame_set(&new, i, value);
	}
	if (!stack_frame_get_reg(&new, arch->reg.pc, &new.pc))
		return false;
	new.is_call = false;
	*frame = new;
	return true;
}

bool stack_frame_by_entry(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint64_t sp, value;

	if (!frame_return_of(frame)->find_at_entry(frame, &value, &sp))
		return false;
	frame->pc = value;
	frame->is_call = true;
	stack_frame_set(frame, stack_frame_number(arch, arch->reg.pc), value);
	stack_frame_set(frame, stack_frame_number(arch, arch->reg.sp), sp);
	return true;
}

bool stack_frame_by_frame_pointer(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint64_t sp = stack_frame_sp(frame), fp, callers, value;

	/* Caller's frame pointer, return address. */
	if (!stack_frame_get_reg(frame, arch->reg.fp, &fp) || fp < sp || fp % arch->addr_size ||
	    !stack_frame_read_word(frame, fp, &callers) ||
	    !stack_frame_read_return(frame, fp + arch->addr_size, 0, &value))
		return false;
	/* Other registers may have been saved anywhere. */
	memset(frame->known, 0, sizeof(frame->known));
	frame->pc = value;
	frame->is_call = true;
	stack_frame_set(frame, stack_frame_number(arch, arch->reg.pc), value);
	stack_frame_set(frame, stack_frame_number(arch, arch->reg.fp), callers);
	stack_frame_set(frame, stack_frame_number(arch, arch->reg.sp),
			fp + 2u * arch->addr_size);
	return true;
}

/* Of a copy, which instruction is it? What records has other things in registers. */
static void leave_detour(struct stack_frame *frame, const struct site *site,
			 const struct site_jump *jump, uint64_t at)
{
	uint64_t from = 0;

	if (!jump_insn_around(jump, at, &from))
		memset(frame->known, 0, sizeof(frame->known));
	frame->pc = site->vaddr + from;
}

/* Where what returns by the trampoline goes. */
static bool leave_trampoline(struct stack_frame *frame)
{
	const struct frame_return *by = frame_return_of(frame);
	uint64_t trampoline = returns_trampoline(frame->space->plant), value;

	if (!trampoline || !by->is_in_trampoline(frame, trampoline))
		return false;
	if (by->find_in_trampoline(frame, &value))
		frame->pc = value;
	return true;
}

void stack_frame_leave_ours(struct stack_frame *frame)
{
	const struct space *space = frame->space;
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump;
	const struct site *site;
	struct ubp_regs regs = { 0 };
	uint64_t at;

	if (!space->plant || leave_trampoline(frame))
		return;
	site = plant_site_of_slot(space, frame->pc);
	if (!site)
		return;
	jump = jump_at(site, frame->pc, &at);
	if (jump) {
		leave_detour(frame, site, jump, at);
		return;
	}
	if (frame->pc - site->slot >= UBP_SLOT_SIZE)
		return;
	for (unsigned i = 0; i < arch->unwind.n_regs; i++)
		if (arch->unwind.regs[i] < arch->reg.n)
			(void)stack_frame_get(frame, i, &regs.r[arch->unwind.regs[i]]);
	(void)arch->slot.leave(&site->insn, &site->code, site->slot, &regs);
	frame->pc = regs.r[arch->reg.pc];
	stack_frame_set(frame, stack_frame_number(arch, arch->reg.sp), regs.r[arch->reg.sp]);
}
