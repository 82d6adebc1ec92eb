/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/operations.h"

#include <elf.h>
#include <elfutils/known-dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch/operand.h"
#include "engine/object/debug.h"
#include "engine/object/object.h"

#define STACK_MAX 16
#define OPS_MAX   256
/* Expressions in expressions: a frame base, that of the canonical frame, an entry value. */
#define NESTED_MAX 4

struct machine {
	const struct location_at *at;
	const char *name;
	struct ubp_err *err;
	unsigned depth;
	struct sum stack[STACK_MAX];
	size_t n;
};

/* What a chain of operations has said of the piece that it is at. */
struct part {
	bool is_said; /* a kind was told: else what is on the stack is the address */
	struct piece piece;
};

static int run(struct machine *m, Dwarf_Attribute *attr, Dwarf_Op *ops, size_t n_ops,
	       struct location *ret_location);

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

static int unsupported(struct machine *m, unsigned atom)
{
	return ubp_fail(m->err, ENOTSUP, "%s is computed (%s): no fetch arg can do that here",
			m->name, op_name(atom));
}

static int malformed(struct machine *m)
{
	return ubp_fail(m->err, ENOEXEC, "where %s is: the debug information is corrupt",
			m->name);
}

static int push(struct machine *m, struct sum sum)
{
	if (m->n == STACK_MAX)
		return malformed(m);
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

static const char *function_name(const struct machine *m)
{
	return m->at->function_name ? m->at->function_name : "the function";
}

static int push_register(struct machine *m, const Dwarf_Op *op, uint64_t number, int64_t addend)
{
	bool is_vector;
	const char *reg = register_name(m, number, &is_vector);

	if (!reg || is_vector)
		return unsupported(m, op->atom);
	return push(m, sum_register(reg, addend));
}

/* The address that the caller's stack pointer had before the call. */
static int push_cfa(struct machine *m, const Dwarf_Op *op)
{
	struct dwarf *d = m->at->d;
	Dwarf_CFI *cfis[2] = { dwarf_getcfi(d->dw), NULL };
	int64_t biases[2] = { d->bias, 0 };
	struct machine inner = { m->at, m->name, m->err, m->depth + 1, { { 0 } }, 0 };
	int rc = -ENODATA;

	cfis[1] = object_eh_cfi(d->object);
	for (size_t i = 0; i < 2 && rc == -ENODATA; i++) {
		struct location location = { 0 };
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t n_ops;

		if (!cfis[i] ||
		    dwarf_cfi_addrframe(cfis[i], m->at->elf_vaddr - (uint64_t)biases[i],
					&frame) != 0)
			continue;
		if (dwarf_frame_cfa(frame, &ops, &n_ops) == 0 && n_ops > 0)
			rc = run(&inner, NULL, ops, n_ops, &location);
		free(frame);
		if (rc == 0)
			return location.n == 1 && location.pieces[0].kind == PIECE_MEMORY
				       ? push(m, location.pieces[0].sum)
				       : unsupported(m, op->atom);
	}
	return rc != -ENODATA
		       ? rc
		       : ubp_fail(m->err, ENODATA,
				  "%s is on the frame, and nothing tells where that is here "
				  "(no call frame information)",
				  m->name);
}

static bool at_entry(const struct location_at *at)
{
	Dwarf_Die function = at->function;
	Dwarf_Addr entry;

	return at->has_function && dwarf_entrypc(&function, &entry) == 0 && entry == at->addr;
}

/*
 * At the entry of a function, is the frame still to be made? A frame base in a register is
 * right behind the prologue only. Nothing tells where that ends, but that there is one is
 * told: somewhere on, the frame is found in another way.
 */
static bool is_before_frame(const struct machine *m)
{
	struct dwarf *d = m->at->d;
	Dwarf_Die function = m->at->function;
	Dwarf_Addr start, end, high;
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *cfi;
	int64_t bias = 0;
	bool is_one;

	if (!at_entry(m->at) || dwarf_highpc(&function, &high) != 0)
		return false;
	cfi = object_eh_cfi(d->object);
	if (!cfi) {
		cfi = dwarf_getcfi(d->dw);
		bias = d->bias;
	}
	if (!cfi || dwarf_cfi_addrframe(cfi, m->at->elf_vaddr - (uint64_t)bias, &frame) != 0)
		return false;
	is_one = dwarf_frame_info(frame, &start, &end, NULL) >= 0 &&
		 end + (uint64_t)bias < dw_elf_vaddr(d, high);
	free(frame);
	return is_one;
}

/* A frame base that is a register is what that holds. */
static int push_frame_base(struct machine *m, const Dwarf_Op *op)
{
	struct machine inner = { m->at, m->name, m->err, m->depth + 1, { { 0 } }, 0 };
	Dwarf_Die function = m->at->function;
	struct location location = { 0 };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n_ops;
	int rc;

	if (!m->at->has_function || !dw_attr(&function, DW_AT_frame_base, &attr))
		return unsupported(m, op->atom);
	if (dwarf_getlocation_addr(&attr, m->at->addr, &ops, &n_ops, 1) != 1 || n_ops == 0)
		return ubp_fail(m->err, ENODATA, "%s is on the frame, which is not told here",
				m->name);
	rc = run(&inner, &attr, ops, n_ops, &location);
	if (rc < 0)
		return rc;
	if (location.n != 1 || location.pieces[0].is_vector ||
	    (location.pieces[0].kind != PIECE_MEMORY &&
	     location.pieces[0].kind != PIECE_REGISTER))
		return unsupported(m, op->atom);
	if (location.pieces[0].kind == PIECE_REGISTER && is_before_frame(m))
		return ubp_fail(
			m->err, ENODATA,
			"%s is on the frame, which is not made yet at the entry of %s: probe "
			"a line of it, or behind its first instructions",
			m->name, function_name(m));
	rc = push(m, location.pieces[0].sum);
	if (rc == 0)
		sum_add_const(&m->stack[m->n - 1], (int64_t)op->number);
	return rc;
}

/* What an expression was when the function was entered: there it is what it says. */
static int push_entry_value(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct machine inner = { m->at, m->name, m->err, m->depth + 1, { { 0 } }, 0 };
	struct location location = { 0 };
	Dwarf_Attribute value;
	Dwarf_Op *ops;
	size_t n_ops;
	int rc;

	if (!at_entry(m->at))
		return ubp_fail(
			m->err, ENODATA,
			"%s: the value that it had at the entry of %s is not kept; probe the "
			"function's entry",
			m->name, function_name(m));
	if (!attr || dwarf_getlocation_attr(attr, op, &value) != 0 ||
	    dwarf_getlocation(&value, &ops, &n_ops) != 0)
		return malformed(m);
	rc = run(&inner, &value, ops, n_ops, &location);
	if (rc < 0)
		return rc;
	if (location.n != 1 || location.pieces[0].is_vector ||
	    (location.pieces[0].kind != PIECE_REGISTER &&
	     location.pieces[0].kind != PIECE_MEMORY))
		return unsupported(m, op->atom);
	return push(m, location.pieces[0].sum);
}

/* Of a file's own: relative to the byte that is probed, as @+OFFSET has it. */
static int push_address(struct machine *m, Dwarf_Addr address)
{
	return push(m, sum_file((int64_t)(dw_elf_vaddr(m->at->d, address) - m->at->elf_vaddr +
					  m->at->foffset)));
}

static int push_indexed(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op,
			bool is_address)
{
	Dwarf_Attribute value;
	Dwarf_Addr address;
	Dwarf_Word word;

	if (!attr || dwarf_getlocation_attr(attr, op, &value) != 0)
		return malformed(m);
	if (dwarf_formaddr(&value, &address) == 0)
		return is_address ? push_address(m, address)
				  : push(m, sum_const((int64_t)address));
	return dwarf_formudata(&value, &word) == 0 ? push(m, sum_const((int64_t)word))
						   : malformed(m);
}

/* The bytes of all thread-local variables of the program, as they lie below the thread pointer. */
static bool thread_local_size(struct dwarf *d, uint64_t *ret_size)
{
	Elf *elf = dwarf_getelf(d->dw);
	GElf_Phdr phdr;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t align, first;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_TLS)
			continue;
		align = phdr.p_align ? phdr.p_align : 1;
		if (align & (align - 1) || phdr.p_memsz > INT32_MAX || align > INT32_MAX)
			return false;
		first = -phdr.p_vaddr & (align - 1);
		*ret_size = ((phdr.p_memsz - first + align - 1) & -align) + first;
		return true;
	}
	return false;
}

static int thread_local(struct machine *m, const Dwarf_Op *op)
{
	struct object *object = m->at->d->object;
	struct sum *top = m->n ? &m->stack[m->n - 1] : NULL;
	uint64_t size, at;

	if (!top || top->n)
		return malformed(m);
	if (object_soname(object) || (object_is_pie(object) && !object_interp(object)))
		return ubp_fail(
			m->err, ENOTSUP,
			"%s is thread-local: that can be had of a program only, not of a "
			"library",
			m->name);
	if (m->at->e_machine != EM_X86_64 || !thread_local_size(m->at->d, &size))
		return unsupported(m, op->atom);
	at = (uint64_t)top->addend[0];
	if (top->base == SUM_FILE) /* what looked like an address was an offset */
		at += m->at->elf_vaddr - m->at->foffset - (uint64_t)m->at->d->bias;
	else if (top->base != SUM_CONST)
		return unsupported(m, op->atom);
	*top = sum_register("fs_base", (int64_t)(at - size));
	return 0;
}

static int deref(struct machine *m, const Dwarf_Op *op, uint64_t size)
{
	struct sum *top = m->n ? &m->stack[m->n - 1] : NULL;

	if (!top)
		return malformed(m);
	if (size == 0 || size > 8 || m->at->addr_size != 8 || !sum_read(top))
		return unsupported(m, op->atom);
	top->bits = (uint8_t)(size * 8);
	return 0;
}

static int binary(struct machine *m, const Dwarf_Op *op)
{
	struct sum *a, *b;
	bool ok = false;

	if (m->n < 2)
		return malformed(m);
	b = &m->stack[--m->n];
	a = b - 1;
	switch (op->atom) {
	case DW_OP_plus:
		ok = sum_add(a, b);
		break;
	case DW_OP_minus:
		ok = sum_is_const(b);
		sum_add_const(a, (int64_t) - (uint64_t)b->addend[0]);
		break;
	case DW_OP_shl:
		ok = sum_is_const(b) && sum_shift(a, (uint64_t)b->addend[0]);
		break;
	case DW_OP_and:
		ok = sum_is_const(b) && sum_and(a, (uint64_t)b->addend[0]);
		break;
	case DW_OP_mul:
		if (sum_is_const(a) && sum_is_const(b)) {
			*a = sum_const(
				(int64_t)((uint64_t)a->addend[0] * (uint64_t)b->addend[0]));
			ok = true;
		} else if (sum_is_const(b) && b->addend[0] > 0 &&
			   !(b->addend[0] & (b->addend[0] - 1))) {
			ok = sum_shift(a, (uint64_t)__builtin_ctzll((uint64_t)b->addend[0]));
		}
		break;
	case DW_OP_or:
		ok = sum_is_const(a) && sum_is_const(b);
		a->addend[0] |= b->addend[0];
		break;
	case DW_OP_xor:
		ok = sum_is_const(a) && sum_is_const(b);
		a->addend[0] ^= b->addend[0];
		break;
	}
	return ok ? 0 : unsupported(m, op->atom);
}

static int shuffle(struct machine *m, const Dwarf_Op *op)
{
	struct sum *top = m->stack + m->n - 1, swap;
	size_t i = op->atom == DW_OP_over ? 1 : op->atom == DW_OP_pick ? op->number : 0;

	if (m->n == 0 || i >= m->n || (op->atom == DW_OP_swap && m->n < 2))
		return malformed(m);
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
		return push(m, m->stack[m->n - 1 - i]);
	}
}

/* A conversion keeps the low bits; the type is that of the entry at the operand. */
static int convert(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	struct sum *top = m->n ? &m->stack[m->n - 1] : NULL;
	Dwarf_Word size = 8, encoding = DW_ATE_unsigned;
	Dwarf_Die type;

	if (!top)
		return malformed(m);
	if (op->number) {
		if (!attr || dwarf_getlocation_die(attr, op, &type) != 0 ||
		    !dw_number(&type, DW_AT_byte_size, &size) ||
		    !dw_number(&type, DW_AT_encoding, &encoding))
			return malformed(m);
	}
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || size == 0 ||
	    size > 8)
		return unsupported(m, op->atom);
	if (!sum_is_const(top) && size * 8 < top->bits)
		top->bits = (uint8_t)(size * 8);
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
		return malformed(m);
	if (encoding == DW_ATE_float || size == 0 || size > 8)
		return unsupported(m, op->atom);
	rc = push_register(m, op, op->number, 0);
	if (rc == 0)
		m->stack[m->n - 1].bits = (uint8_t)(size * 8);
	return rc;
}

/* What puts a number on the stack, or changes what is there. */
static int compute(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, sum_const(op->atom - DW_OP_lit0));
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(m, op, op->atom - DW_OP_breg0, (int64_t)op->number);
	switch (op->atom) {
	case DW_OP_nop:
		return 0;
	case DW_OP_addr:
		return push_address(m, op->number);
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_indexed(m, attr, op, true);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return push_indexed(m, attr, op, false);
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
		return push(m, sum_const((int64_t)op->number));
	case DW_OP_bregx:
		return push_register(m, op, op->number, (int64_t)op->number2);
	case DW_OP_fbreg:
		return push_frame_base(m, op);
	case DW_OP_call_frame_cfa:
		return push_cfa(m, op);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry_value(m, attr, op);
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return thread_local(m, op);
	case DW_OP_deref:
		return deref(m, op, m->at->addr_size);
	case DW_OP_deref_size:
		return deref(m, op, op->number);
	case DW_OP_plus_uconst:
		if (m->n == 0)
			return malformed(m);
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
	case DW_OP_shl:
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_xor:
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
		return unsupported(m, op->atom);
	}
}

static int say_register(struct machine *m, unsigned atom, uint64_t number, struct part *part)
{
	bool is_vector;
	const char *reg = register_name(m, number, &is_vector);

	if (!reg)
		return unsupported(m, atom);
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
		return malformed(m);
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
		return malformed(m);
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
			return malformed(m);
		part->is_said = true;
		part->piece = (struct piece){ .kind = PIECE_VALUE, .sum = m->stack[--m->n] };
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

static int run(struct machine *m, Dwarf_Attribute *attr, Dwarf_Op *ops, size_t n_ops,
	       struct location *ret_location)
{
	struct part part = { 0 };
	bool is_one;
	int rc = 0;

	if (m->depth > NESTED_MAX || n_ops > OPS_MAX)
		return malformed(m);
	*ret_location = (struct location){ 0 };
	for (size_t i = 0; i < n_ops && rc == 0; i++) {
		const Dwarf_Op *op = &ops[i];

		if (op->atom == DW_OP_piece) {
			rc = op->number > UINT32_MAX
				     ? malformed(m)
				     : end_part(m, &part, op->number * 8, ret_location);
		} else if (op->atom == DW_OP_bit_piece) {
			rc = op->number2 || op->number > UINT32_MAX
				     ? unsupported(m, op->atom)
				     : end_part(m, &part, op->number, ret_location);
		} else {
			rc = say(m, attr, op, &part, &is_one);
			if (rc == 0 && !is_one)
				rc = part.is_said ? malformed(m) : compute(m, attr, op);
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

	return run(&m, attr, ops, n_ops, ret_location);
}
