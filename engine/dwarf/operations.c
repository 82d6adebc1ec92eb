/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/operations.h"

#include <elfutils/known-dwarf.h>
#include <errno.h>

#include "arch/operand.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/machine.h"

#define OPS_MAX 256
/* Expressions in expressions: a frame base, that of the canonical frame, an entry value. */
#define NESTED_MAX 4

/* What a chain of operations has said of the piece that it is at. */
struct part {
	bool is_said; /* a kind was told: else what is on the stack is the address */
	struct piece piece;
};

static const char *op_name(unsigned atom)
{
	switch (atom) {
#define DWARF_ONE_KNOWN_DW_OP(NAME, CODE)                                                      \
	case CODE:                                                                             \
		return #CODE;
		DWARF_ALL_KNOWN_DW_OP
#undef DWARF_ONE_KNOWN_DW_OP
	}
	return "an unknown operation";
}

int machine_unsupported(struct machine *m, unsigned atom)
{
	return ubp_fail(m->err, ENOTSUP, "%s is computed (%s): no fetch arg can do that here",
			m->name, op_name(atom));
}

int machine_malformed(struct machine *m)
{
	return ubp_fail(m->err, ENOEXEC, "where %s is: the debug information is corrupt",
			m->name);
}

int machine_push(struct machine *m, struct sum sum)
{
	if (m->n == MACHINE_STACK_MAX)
		return machine_malformed(m);
	m->stack[m->n++] = sum;
	return 0;
}

static const char *register_name(const struct machine *m, uint64_t number, bool *ret_is_vector)
{
	*ret_is_vector = false;
	return number > UINT16_MAX ? NULL
				   : operand_dwarf_register(m->at->e_machine, (unsigned)number,
							    ret_is_vector);
}

static int push_register(struct machine *m, const Dwarf_Op *op, uint64_t number, int64_t addend)
{
	bool is_vector;
	const char *reg = register_name(m, number, &is_vector);

	if (!reg || is_vector)
		return machine_unsupported(m, op->atom);
	return machine_push(m, sum_register(reg, addend));
}

static int deref(struct machine *m, const Dwarf_Op *op, uint64_t size)
{
	struct sum *top = m->n ? &m->stack[m->n - 1] : NULL;

	if (!top)
		return machine_malformed(m);
	if (size == 0 || size > m->at->addr_size || !sum_read(top))
		return machine_unsupported(m, op->atom);
	sum_cut(top, (unsigned)size * 8, SUM_ZEROES);
	return 0;
}

/* @by is a constant. */
static bool by_const(const struct machine *m, unsigned atom, struct sum *a, int64_t by)
{
	bool is_word = m->at->addr_size == 8; /* sums have 64 bits */

	switch (atom) {
	case DW_OP_minus:
		sum_add_const(a, (int64_t) - (uint64_t)by);
		return true;
	case DW_OP_mul:
		if (!sum_is_const(a))
			return sum_multiply(a, by);
		*a = sum_const((int64_t)((uint64_t)a->addend[0] * (uint64_t)by));
		return true;
	case DW_OP_div:
		return !sum_is_const(a) && sum_divide(a, by);
	case DW_OP_mod:
		return !sum_is_const(a) && sum_rest(a, (uint64_t)by);
	case DW_OP_shl:
		return sum_shift(a, (uint64_t)by);
	case DW_OP_shr:
	case DW_OP_shra:
		return is_word && sum_shift_right(a, (uint64_t)by, atom == DW_OP_shra);
	case DW_OP_and:
		return sum_and(a, (uint64_t)by);
	case DW_OP_or:
		a->addend[0] |= by;
		return sum_is_const(a);
	case DW_OP_xor:
		a->addend[0] ^= by;
		return sum_is_const(a);
	case DW_OP_lt:
		return by == 0 && is_word && sum_is_below_zero(a);
	case DW_OP_ne: /* of a bit */
		return by == 0 && a->bits == 1 && a->above == SUM_ZEROES && !a->up;
	default:
		return false;
	}
}

static int binary(struct machine *m, const Dwarf_Op *op)
{
	struct sum *a, *b;
	bool ok;

	if (m->n < 2)
		return machine_malformed(m);
	b = &m->stack[--m->n];
	a = b - 1;
	if (op->atom == DW_OP_plus)
		ok = sum_add(a, b);
	else
		ok = sum_is_const(b) && by_const(m, op->atom, a, b->addend[0]);
	return ok ? 0 : machine_unsupported(m, op->atom);
}

static int shuffle(struct machine *m, const Dwarf_Op *op)
{
	struct sum *top = m->stack + m->n - 1, swap;
	size_t i = op->atom == DW_OP_over ? 1 : op->atom == DW_OP_pick ? op->number : 0;

	if (m->n == 0 || i >= m->n || (op->atom == DW_OP_swap && m->n < 2))
		return machine_malformed(m);
	switch (op->atom) {
	case DW_OP_drop:
		m->n--;
		return 0;
	case DW_OP_swap:
		swap = top[0];
		top[0] = top[-1];
		top[-1] = swap;
		return 0;
	default:
		return machine_push(m, m->stack[m->n - 1 - i]);
	}
}

/*
 * A conversion keeps the low bits; the type is that of the entry at the operand. One to more bits, that comes
 * next, puts zeroes or signs above them.
 */
static int convert(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct sum *top = m->n ? &m->stack[m->n - 1] : NULL;
	Dwarf_Word size = 8, encoding = DW_ATE_unsigned;
	Dwarf_Die type;
	bool is_signed;

	if (!top)
		return machine_malformed(m);
	if (op->number) {
		if (!attr || dwarf_getlocation_die(attr, op, &type) != 0 ||
		    !dw_number(&type, DW_AT_byte_size, &size) ||
		    !dw_number(&type, DW_AT_encoding, &encoding))
			return machine_malformed(m);
	}
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || size == 0 ||
	    size > 8)
		return machine_unsupported(m, op->atom);
	is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	if (sum_is_const(top))
		return 0;
	if (size * 8 <= top->bits)
		sum_cut(top, (unsigned)size * 8, is_signed ? SUM_SIGNS : SUM_ZEROES);
	else if (top->above == SUM_SIGNS && !is_signed && size < 8) /* not above these */
		top->above = SUM_UNTOLD;
	return 0;
}

static int typed_register(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	Dwarf_Word size, encoding;
	Dwarf_Die type;
	int rc;

	if (!attr || dwarf_getlocation_die(attr, op, &type) != 0 ||
	    !dw_number(&type, DW_AT_byte_size, &size) ||
	    !dw_number(&type, DW_AT_encoding, &encoding))
		return machine_malformed(m);
	if (encoding == DW_ATE_float || size == 0 || size > 8)
		return machine_unsupported(m, op->atom);
	rc = push_register(m, op, op->number, 0);
	if (rc == 0)
		m->stack[m->n - 1].bits = (uint8_t)(size * 8);
	return rc;
}

/* What puts a number on the stack, or changes what is there. */
static int compute(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return machine_push(m, sum_const(op->atom - DW_OP_lit0));
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(m, op, op->atom - DW_OP_breg0, (int64_t)op->number);
	switch (op->atom) {
	case DW_OP_nop:
		return 0;
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
		return machine_push(m, sum_const((int64_t)op->number));
	case DW_OP_bregx:
		return push_register(m, op, op->number, (int64_t)op->number2);
	case DW_OP_deref:
		return deref(m, op, m->at->addr_size);
	case DW_OP_deref_size:
		return deref(m, op, op->number);
	case DW_OP_plus_uconst:
		if (m->n == 0)
			return machine_malformed(m);
		sum_add_const(&m->stack[m->n - 1], (int64_t)op->number);
		return 0;
	case DW_OP_dup:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_drop:
	case DW_OP_swap:
		return shuffle(m, op);
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_div:
	case DW_OP_mod:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_xor:
	case DW_OP_lt:
	case DW_OP_ne:
		return binary(m, op);
	case DW_OP_convert:
	case DW_OP_reinterpret:
	case DW_OP_GNU_convert:
	case DW_OP_GNU_reinterpret:
		return convert(m, attr, op);
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		return typed_register(m, attr, op);
	default:
		return machine_push_place(m, attr, op);
	}
}

static int say_register(struct machine *m, unsigned atom, uint64_t number, struct part *part)
{
	bool is_vector;
	const char *reg = register_name(m, number, &is_vector);

	if (!reg)
		return machine_unsupported(m, atom);
	part->is_said = true;
	part->piece = (struct piece){ .kind = PIECE_REGISTER,
				      .is_vector = is_vector,
				      .sum = sum_register(reg, 0) };
	return 0;
}

static int say_bytes(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op,
		     struct part *part)
{
	Dwarf_Block block;

	if (!attr || dwarf_getlocation_implicit_value(attr, op, &block) != 0)
		return machine_malformed(m);
	part->is_said = true;
	part->piece = (struct piece){ .kind = PIECE_BYTES,
				      .bytes = block.data,
				      .n_bytes = block.length };
	return 0;
}

static int say_pointer(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op,
		       struct part *part)
{
	part->is_said = true;
	part->piece =
		(struct piece){ .kind = PIECE_POINTER, .target_offset = (int64_t)op->number2 };
	if (!attr || dwarf_getlocation_die(attr, op, &part->piece.target) != 0)
		return machine_malformed(m);
	return 0;
}

/* What says what kind of place it is. Sets *ret_is_one if @op is of these. */
static int say(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op, struct part *part,
	       bool *ret_is_one)
{
	*ret_is_one = true;
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return say_register(m, op->atom, op->atom - DW_OP_reg0, part);
	switch (op->atom) {
	case DW_OP_regx:
		return say_register(m, op->atom, op->number, part);
	case DW_OP_stack_value:
		if (m->n == 0)
			return machine_malformed(m);
		part->is_said = true;
		part->piece = (struct piece){ .kind = PIECE_VALUE, .sum = m->stack[--m->n] };
		part->piece.is_stack = machine_is_stack(m, &part->piece.sum);
		return 0;
	case DW_OP_implicit_value:
		return say_bytes(m, attr, op, part);
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return say_pointer(m, attr, op, part);
	default:
		*ret_is_one = false;
		return 0;
	}
}

static int end_part(struct machine *m, struct part *part, uint64_t bit_size,
		    struct location *location)
{
	if (location->n == LOCATION_PIECES_MAX)
		return ubp_fail(m->err, ENOTSUP, "%s lies in more than %d pieces", m->name,
				LOCATION_PIECES_MAX);
	if (!part->is_said && m->n > 0)
		part->piece = (struct piece){ .kind = PIECE_MEMORY, .sum = m->stack[--m->n] };
	else if (!part->is_said)
		part->piece = (struct piece){ .kind = PIECE_GONE };
	part->piece.bit_size = bit_size;
	location->pieces[location->n++] = part->piece;
	*part = (struct part){ 0 };
	return 0;
}

int machine_run(struct machine *m, Dwarf_Attribute *attr, Dwarf_Op *ops, size_t n_ops,
		struct location *ret_location)
{
	struct part part = { 0 };
	bool is_one;
	int rc = 0;

	if (m->depth > NESTED_MAX || n_ops > OPS_MAX)
		return machine_malformed(m);
	*ret_location = (struct location){ 0 };
	for (size_t i = 0; i < n_ops && rc == 0; i++) {
		const Dwarf_Op *op = &ops[i];

		if (op->atom == DW_OP_piece) {
			rc = op->number > UINT32_MAX
				     ? machine_malformed(m)
				     : end_part(m, &part, op->number * 8, ret_location);
		} else if (op->atom == DW_OP_bit_piece) {
			rc = op->number2 || op->number > UINT32_MAX
				     ? machine_unsupported(m, op->atom)
				     : end_part(m, &part, op->number, ret_location);
		} else {
			rc = say(m, attr, op, &part, &is_one);
			if (rc == 0 && !is_one)
				rc = part.is_said ? machine_malformed(m) : compute(m, attr, op);
		}
	}
	if (rc == 0 && (ret_location->n == 0 || part.is_said))
		rc = end_part(m, &part, 0, ret_location);
	return rc;
}

int operations_run(const struct location_at *at, Dwarf_Attribute *attr, Dwarf_Op *ops,
		   size_t n_ops, const char *name, struct location *ret_location,
		   struct ubp_err *err)
{
	struct machine m = { at, name, err, 0, { { 0 } }, 0 };

	return machine_run(&m, attr, ops, n_ops, ret_location);
}
