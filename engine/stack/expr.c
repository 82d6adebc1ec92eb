/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/expr.h"

#include <dwarf.h>

#define DEPTH_MAX 64
#define STEPS_MAX 1000

struct machine {
	const struct expr_input *in;
	uint64_t stack[DEPTH_MAX];
	size_t n;
};

static bool push(struct machine *m, uint64_t value)
{
	if (m->n == DEPTH_MAX)
		return false;
	m->stack[m->n++] = value;
	return true;
}

static bool pick(struct machine *m, uint64_t depth)
{
	return depth < m->n && push(m, m->stack[m->n - 1 - depth]);
}

static bool push_reg(struct machine *m, uint64_t reg, uint64_t offset)
{
	return reg < m->in->n_regs && (m->in->known[reg / 64] >> reg % 64 & 1) &&
	       push(m, m->in->regs[reg] + offset);
}

/* Numbers in memory are those of this machine. */
static bool deref(struct machine *m, uint64_t size)
{
	union {
		uint8_t b;
		uint16_t h;
		uint32_t w;
		uint64_t d;
	} value = { .d = 0 };
	uint64_t *top = m->n ? &m->stack[m->n - 1] : NULL;

	if (!top || (size != 1 && size != 2 && size != 4 && size != 8) ||
	    !m->in->read(m->in->ctx, *top, &value, size))
		return false;
	*top = size == 1 ? value.b : size == 2 ? value.h : size == 4 ? value.w : value.d;
	return true;
}

static bool unary(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *top = m->n ? &m->stack[m->n - 1] : NULL;

	if (!top)
		return false;
	switch (op->atom) {
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? -*top : *top;
		return true;
	case DW_OP_neg:
		*top = -*top;
		return true;
	case DW_OP_not:
		*top = ~*top;
		return true;
	case DW_OP_plus_uconst:
		*top += op->number;
		return true;
	default:
		return false;
	}
}

static bool divide(uint8_t atom, uint64_t a, uint64_t b, uint64_t *ret)
{
	if (b == 0 || (atom == DW_OP_div && b == UINT64_MAX && a == (uint64_t)INT64_MIN))
		return false;
	*ret = atom == DW_OP_div ? (uint64_t)((int64_t)a / (int64_t)b) : a % b;
	return true;
}

static uint64_t shift(uint8_t atom, uint64_t a, uint64_t b)
{
	bool is_negative = (int64_t)a < 0;

	if (b >= 64)
		return atom == DW_OP_shra && is_negative ? UINT64_MAX : 0;
	if (atom == DW_OP_shl)
		return a << b;
	return atom == DW_OP_shra && is_negative ? ~(~a >> b) : a >> b;
}

static bool compare(uint8_t atom, int64_t a, int64_t b)
{
	switch (atom) {
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_lt:
		return a < b;
	case DW_OP_le:
		return a <= b;
	case DW_OP_gt:
		return a > b;
	default:
		return a >= b;
	}
}

static bool binary(struct machine *m, const Dwarf_Op *op)
{
	uint64_t a, b, *to;

	if (m->n < 2)
		return false;
	b = m->stack[--m->n];
	to = &m->stack[m->n - 1];
	a = *to;
	switch (op->atom) {
	case DW_OP_and:
		*to = a & b;
		return true;
	case DW_OP_or:
		*to = a | b;
		return true;
	case DW_OP_xor:
		*to = a ^ b;
		return true;
	case DW_OP_plus:
		*to = a + b;
		return true;
	case DW_OP_minus:
		*to = a - b;
		return true;
	case DW_OP_mul:
		*to = a * b;
		return true;
	case DW_OP_div:
	case DW_OP_mod:
		return divide(op->atom, a, b, to);
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
		*to = shift(op->atom, a, b);
		return true;
	case DW_OP_eq:
	case DW_OP_ne:
	case DW_OP_lt:
	case DW_OP_le:
	case DW_OP_gt:
	case DW_OP_ge:
		*to = compare(op->atom, (int64_t)a, (int64_t)b);
		return true;
	default:
		return false;
	}
}

static bool reorder(struct machine *m, uint8_t atom)
{
	uint64_t *top, was;

	if (m->n < (atom == DW_OP_rot ? 3 : atom == DW_OP_swap ? 2 : 1))
		return false;
	top = &m->stack[m->n - 1];
	if (atom == DW_OP_drop) {
		m->n--;
		return true;
	}
	was = *top;
	*top = top[-1];
	if (atom == DW_OP_swap) {
		top[-1] = was;
	} else {
		top[-1] = top[-2];
		top[-2] = was;
	}
	return true;
}

static bool run_one(struct machine *m, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_reg(m, op->atom - DW_OP_breg0, op->number);
	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_bregx:
		return push_reg(m, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(m, m->in->cfa);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_dup:
		return pick(m, 0);
	case DW_OP_over:
		return pick(m, 1);
	case DW_OP_pick:
		return pick(m, op->number);
	case DW_OP_drop:
	case DW_OP_swap:
	case DW_OP_rot:
		return reorder(m, op->atom);
	case DW_OP_deref:
		return deref(m, sizeof(uint64_t));
	case DW_OP_deref_size:
		return deref(m, op->number);
	default:
		return unary(m, op) || binary(m, op);
	}
}

/* Where a branch leads: an index; n: to the end. */
static size_t target(const Dwarf_Op *ops, size_t n, const Dwarf_Op *op)
{
	Dwarf_Word to = op->offset + 3 + (Dwarf_Word)(int16_t)op->number;
	size_t i = 0;

	while (i < n && ops[i].offset != to)
		i++;
	return i;
}

bool expr_eval(const Dwarf_Op *ops, size_t n, const struct expr_input *in, uint64_t *ret_value)
{
	struct machine m = { .in = in };
	unsigned steps = 0;

	for (size_t i = 0; i < n;) {
		const Dwarf_Op *op = &ops[i++];

		if (steps++ == STEPS_MAX)
			return false;
		if (op->atom == DW_OP_stack_value)
			break;
		if (op->atom == DW_OP_skip) {
			i = target(ops, n, op);
		} else if (op->atom == DW_OP_bra) {
			if (m.n == 0)
				return false;
			if (m.stack[--m.n])
				i = target(ops, n, op);
		} else if (!run_one(&m, op)) {
			return false;
		}
	}
	if (m.n == 0)
		return false;
	*ret_value = m.stack[m.n - 1];
	return true;
}
