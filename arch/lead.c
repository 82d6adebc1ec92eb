/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a probe makes of a lead (arch/detour.h), whatever the machine. */

#include "arch/detour_parts.h"

static bool has_bit(uint64_t bits, unsigned n)
{
	return n < 64 && bits >> n & 1;
}

/* Does the op look at what the lead has changed? */
static bool looks_at(const struct lead *lead, const struct fetch_op *op)
{
	switch ((enum fetch_opcode)op->code) {
	case FETCH_REG:
		return has_bit(lead->sets, op->reg);
	case FETCH_SUM:
		return has_bit(lead->sets, op->reg) || has_bit(lead->sets, op->index);
	case FETCH_VECTOR:
		return has_bit(lead->sets_vectors, op->reg);
	case FETCH_STACK:
	case FETCH_DEREF:
	case FETCH_STORE_MEM:
	case FETCH_STORE_STRING:
	case FETCH_STORE_X87:
		return lead->stores;
	default:
		return false;
	}
}

bool lead_suits(const struct lead *lead, const struct fetch_program *program,
		enum probe_kind kind, bool stacks)
{
	if (!lead->len)
		return false;
	/* On return the registers are the caller's, whatever stood there. */
	if (kind == PROBE_RETURN)
		return !lead->uses_link;
	if (stacks && (lead->stores || lead->sets_kept))
		return false;
	for (const struct fetch_op *op = program->ops; op < detour_end_of(program); op++)
		if (looks_at(lead, op))
			return false;
	return true;
}

void lead_undo(const struct ubp_arch *arch, const struct lead *lead, uint64_t vaddr,
	       struct ubp_regs *regs)
{
	regs->r[arch->reg.pc] = vaddr;
	regs->r[arch->reg.sp] += lead->sp_down;
	if (arch->addr_size == 4)
		regs->r[arch->reg.sp] = (uint32_t)regs->r[arch->reg.sp];
}
