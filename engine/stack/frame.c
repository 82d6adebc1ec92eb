/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/frame.h"

#include <string.h>

#include "engine/plant/jump.h"
#include "engine/plant/plant.h"
#include "engine/stack/expr.h"

/* DWARF's number of a register of struct ubp_regs; n_dwarf_regs: it has none. */
static unsigned number_of(const struct ubp_arch *arch, unsigned reg)
{
	unsigned i = 0;

	while (i < arch->unwind.n_regs && arch->unwind.regs[i] != reg)
		i++;
	return i;
}

static bool get(const struct stack_frame *frame, unsigned number, uint64_t *ret_value)
{
	if (number >= UBP_DWARF_REGS_MAX || !(frame->known[number / 64] >> number % 64 & 1))
		return false;
	*ret_value = frame->r[number];
	return true;
}

static void set(struct stack_frame *frame, unsigned number, uint64_t value)
{
	if (number >= UBP_DWARF_REGS_MAX)
		return;
	frame->r[number] = value;
	frame->known[number / 64] |= UINT64_C(1) << number % 64;
}

static bool get_reg(const struct stack_frame *frame, unsigned reg, uint64_t *ret_value)
{
	return get(frame, number_of(frame->space->arch, reg), ret_value);
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
			set(frame, i, regs->r[arch->unwind.regs[i]]);
}

uint64_t stack_frame_sp(const struct stack_frame *frame)
{
	uint64_t sp = 0;

	(void)get_reg(frame, frame->space->arch->reg.sp, &sp);
	return sp;
}

static bool read_word(const struct stack_frame *frame, uint64_t vaddr, uint64_t *ret_value)
{
	*ret_value = 0;
	return stack_memory_read(frame->memory, vaddr, ret_value,
				 frame->space->arch->addr_size);
}

static bool read_for_expr(void *ctx, uint64_t vaddr, void *buf, size_t len)
{
	const struct stack_frame *frame = ctx;

	return stack_memory_read(frame->memory, vaddr, buf, len);
}

/* A return address that stands at @vaddr: ours stand for others. @sp: as of returns_real(). */
static bool read_return(const struct stack_frame *frame, uint64_t vaddr, uint64_t sp,
			uint64_t *ret_value)
{
	if (!read_word(frame, vaddr, ret_value))
		return false;
	*ret_value = returns_real(frame->space, vaddr, sp, *ret_value);
	return true;
}

/* @old is the callee's frame. */
static bool apply(const struct stack_frame *old, const struct cfi_rule *rule,
		  struct expr_input *in, bool is_return, uint64_t *ret_value)
{
	uint64_t at;

	switch (rule->how) {
	case CFI_SAME:
		if (!get(old, rule->reg, ret_value))
			return false;
		/* Still in the register that the call left it in. */
		if (is_return)
			*ret_value = returns_real(old->space, 0, in->cfa, *ret_value);
		return true;
	case CFI_REGISTER:
		return get(old, rule->other, ret_value);
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
	return is_return ? read_return(old, at, in->cfa, ret_value)
			 : read_word(old, at, ret_value);
}

static bool find_cfa(const struct stack_frame *frame, const struct cfi_rule *rule,
		     const struct expr_input *in, uint64_t *ret_cfa)
{
	if (rule->how == CFI_EXPR)
		return expr_eval(rule->ops, rule->n_ops, in, ret_cfa);
	if (!get(frame, rule->other, ret_cfa))
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
	const struct ubp_arch *arch = old->space->arch;
	uint64_t was = stack_frame_sp(old), sp = stack_frame_sp(new);

	return sp > was || (sp == was && !old->is_call && arch->reg.link < arch->reg.n);
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
	set(&new, number_of(arch, arch->reg.sp), in.cfa);
	for (unsigned i = 0; i < row->n_rules; i++) {
		const struct cfi_rule *rule = &row->rules[i];
		bool is_return = rule->reg == row->ret_reg;

		if (!apply(frame, rule, &in, is_return, &value)) {
			if (is_return)
				return false;
			continue;
		}
		set(&new, rule->reg, value);
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
		if (!read_word(frame, sp + at[i], &value))
			return false;
		set(&new, i, value);
	}
	if (!get_reg(&new, arch->reg.pc, &new.pc))
		return false;
	new.is_call = false;
	*frame = new;
	return true;
}

bool stack_frame_by_entry(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint64_t sp = stack_frame_sp(frame), value;
	bool on_stack = !arch_has_link(arch);

	if (on_stack ? !read_return(frame, sp, sp, &value)
		     : !get_reg(frame, arch->reg.link, &value))
		return false;
	if (!on_stack)
		value = returns_real(frame->space, 0, sp, value);
	frame->pc = value;
	frame->is_call = true;
	set(frame, number_of(arch, arch->reg.pc), value);
	set(frame, number_of(arch, arch->reg.sp), sp + (on_stack ? arch->addr_size : 0));
	return true;
}

bool stack_frame_by_frame_pointer(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint64_t sp = stack_frame_sp(frame), fp, callers, value;

	/* Caller's frame pointer, return address. */
	if (!get_reg(frame, arch->reg.fp, &fp) || fp < sp || fp % arch->addr_size ||
	    !read_word(frame, fp, &callers) ||
	    !read_return(frame, fp + arch->addr_size, 0, &value))
		return false;
	/* Other registers may have been saved anywhere. */
	memset(frame->known, 0, sizeof(frame->known));
	frame->pc = value;
	frame->is_call = true;
	set(frame, number_of(arch, arch->reg.pc), value);
	set(frame, number_of(arch, arch->reg.fp), callers);
	set(frame, number_of(arch, arch->reg.sp), fp + 2u * arch->addr_size);
	return true;
}

/* Of the window's copy, which instruction is it? What records has other things in registers. */
static void leave_detour(struct stack_frame *frame, const struct site *site, uint64_t at)
{
	const struct site_jump *jump = site->jump;
	unsigned i = jump->n;

	frame->pc = site->vaddr;
	if (at >= jump->detour.copy.len) {
		memset(frame->known, 0, sizeof(frame->known));
		return;
	}
	while (i > 0 && jump->detour.copy.at[i] > at)
		i--;
	frame->pc += jump->from[i];
}

/* Where what returns by the trampoline goes: the word that the jump there takes it from. */
static bool leave_trampoline(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	const struct plant_space *ps = frame->space->plant;
	uint64_t value;

	if (!ps->ret.trampoline ||
	    (frame->pc != ps->ret.trampoline &&
	     frame->pc != ps->ret.trampoline + arch->swbp.len &&
	     !(arch_has_link(arch) && frame->pc - ps->ret.trampoline < UBP_SLOT_SIZE)))
		return false;
	if (arch_has_link(arch)) {
		uint64_t sp = stack_frame_sp(frame);

		/* On the spot the register is ours still, or right. */
		if (get_reg(frame, arch->reg.link, &value))
			frame->pc = returns_real(frame->space, 0, sp, value);
	} else if (read_return(frame, stack_frame_sp(frame) - arch->addr_size, 0, &value)) {
		frame->pc = value;
	}
	return true;
}

void stack_frame_leave_ours(struct stack_frame *frame)
{
	const struct space *space = frame->space;
	const struct ubp_arch *arch = space->arch;
	const struct site *site;
	struct ubp_regs regs = { 0 };
	uint64_t at;

	if (!space->plant || leave_trampoline(frame))
		return;
	site = plant_site_of_slot(space, frame->pc);
	if (!site)
		return;
	if (jump_has(site, frame->pc, &at)) {
		leave_detour(frame, site, at);
		return;
	}
	if (frame->pc - site->slot >= UBP_SLOT_SIZE)
		return;
	for (unsigned i = 0; i < arch->unwind.n_regs; i++)
		if (arch->unwind.regs[i] < arch->reg.n)
			(void)get(frame, i, &regs.r[arch->unwind.regs[i]]);
	(void)arch->slot.leave(&site->insn, &site->code, site->slot, &regs);
	frame->pc = regs.r[arch->reg.pc];
	set(frame, number_of(arch, arch->reg.sp), regs.r[arch->reg.sp]);
}
