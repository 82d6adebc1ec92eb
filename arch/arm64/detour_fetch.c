/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A record's data: fetch programs as machine code. The result is that of the interpreter
 * (engine/fetch/run.c), or a jump to gen.fail: whatever cannot be read, or read whole,
 * is for the interpreter.
 */

#include "arch/arm64/arm64.h"
#include "arch/arm64/gen.h"

/* Arrays of up to that many words are copied without a loop. */
#define UNROLL 4

/* --- registers -------------------------------------------------------------------- */

int make_live(const struct gen *g, unsigned user_reg)
{
	if (user_reg > ARM64_X30 || (g->clobbered & BIT(user_reg)))
		return G_NONE;
	return (int)user_reg;
}

static void take_reg(struct gen *g, unsigned user_reg, int to)
{
	struct emit *e = &g->e;
	int live = make_live(g, user_reg);

	if (live != G_NONE)
		a64_mov(e, to, live);
	else if (user_reg <= ARM64_X30)
		a64_ldst(e, OP_LDR64, to, MEM(G_SP, make_slot((int)user_reg)));
	else if (user_reg == ARM64_SP)
		a64_add(e, to, G_SP, FRAME_ALL);
	else if (user_reg == ARM64_TP)
		a64_insn(e, OP_GET_TP | (uint32_t)to);
	else if (g->probe->is_return) /* the pc */
		a64_ldst(e, OP_LDR64, to, MEM(G_SP, FRAME_REAL));
	else
		a64_address(e, to, g->plan->site);
}

/* A register that has the value: the one that is there, else @to. */
static int part(struct gen *g, unsigned user_reg, int to)
{
	int live = make_live(g, user_reg);

	if (live != G_NONE)
		return live;
	take_reg(g, user_reg, to);
	return to;
}

/* regs[.reg] + (regs[.index] << .shift) + .imm, to register @to, which is not R_B. Clobbers R_B. */
static void take_sum(struct gen *g, const struct fetch_op *op, int to)
{
	struct emit *e = &g->e;
	int base = G_ZR, index = G_ZR;

	if (op->reg != FETCH_NO_REG)
		base = part(g, op->reg, to);
	if (op->index != FETCH_NO_REG)
		index = part(g, op->index, R_B);
	a64_op(e, OP_ADD | OP_X | op_lsl(op->shift), to, base, index);
	a64_add(e, to, to, op->imm);
}

/* --- what can be made --------------------------------------------------------------- */

static const char *check_reg(unsigned user_reg)
{
	if (user_reg == ARM64_PSTATE)
		return "%pstate is not known to a jump";
	return user_reg < ARM64_N_REGS ? NULL : "a register that is not known to a jump";
}

static const char *check_source(const struct fetch_op *op)
{
	const char *problem = NULL;

	if (op->code == FETCH_VECTOR && op->reg >= ARM64_VECTORS)
		return "a register that is not known to a jump";
	if (op->code == FETCH_REG)
		return check_reg(op->reg);
	if (op->code != FETCH_SUM)
		return NULL;
	if (op->shift > 3)
		return "a scale that is none";
	if (op->reg != FETCH_NO_REG)
		problem = check_reg(op->reg);
	return problem || op->index == FETCH_NO_REG ? problem : check_reg(op->index);
}

const char *arm64_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, check_source);
}

/* --- numbers ------------------------------------------------------------------------- */

static uint32_t load_op(unsigned size)
{
	return size == 1 ? OP_LDR8 : size == 2 ? OP_LDR16 : size == 4 ? OP_LDR32 : OP_LDR64;
}

static uint32_t store_op(unsigned size)
{
	return size == 1 ? OP_STR8 : size == 2 ? OP_STR16 : size == 4 ? OP_STR32 : OP_STR64;
}

static void cut_bits(struct emit *e, const struct fetch_op *op, int reg)
{
	unsigned unused;

	if (op->bit_offset >= 64) {
		a64_imm(e, reg, 0);
		return;
	}
	if (op->bit_offset)
		a64_lsr(e, OP_X, reg, reg, op->bit_offset);
	if (op->bit_width >= 64)
		return;
	unused = 64u - op->bit_width;
	a64_lsl(e, OP_X, reg, reg, unused);
	if (op->bit_signed)
		a64_asr(e, OP_X, reg, reg, unused);
	else
		a64_lsr(e, OP_X, reg, reg, unused);
}

/* Cut R_A to @size. */
static void cut_size(struct emit *e, unsigned size)
{
	if (size < 8)
		a64_zero_extend(e, R_A, R_A, 8 * size);
}

/* A source that needs no memory, to register @to. */
static void plain_source(struct gen *g, const struct fetch_op *op, int to)
{
	struct emit *e = &g->e;

	if (op->code == FETCH_REG)
		take_reg(g, op->reg, to);
	else if (op->code == FETCH_IMM)
		a64_imm(e, to, (uint64_t)op->imm);
	else if (op->code == FETCH_FOFF)
		a64_imm(e, to, g->plan->site - g->probe->program->offset + (uint64_t)op->imm);
	else if (op->code == FETCH_DURATION)
		a64_ldst(e, OP_LDR64, to, MEM(G_SP, FRAME_DURATION));
	else if (op->code == FETCH_STACK)
		take_reg(g, ARM64_SP, to);
	else if (op->code == FETCH_SUM)
		take_sum(g, op, to);
	else if (op->code == FETCH_VECTOR)
		a64_op(e, 0x9e660000, to, op->reg, 0); /* fmov to, dN */
	else
		a64_imm(e, to, 0);
}

/* acc = word at acc + imm */
static void deref(struct gen *g, const struct fetch_op *op, uint64_t imm)
{
	make_check(g, (int64_t)imm, 8, detour_cell(g->probe, op));
	make_load(g, OP_LDR64, R_ACC, MEM(R_ADDRESS, 0));
}

static bool is_plain(const struct fetch_op *op)
{
	return op->code != FETCH_STACK && detour_is_store(op + 1);
}

/* All that comes in front of the store, to the accumulator. Returns the store. */
static const struct fetch_op *address(struct gen *g, const struct fetch_op *op)
{
	for (; !detour_is_store(op); op++) {
		if (op->code == FETCH_DEREF) {
			deref(g, op, (uint64_t)op->imm);
			continue;
		}
		plain_source(g, op, R_ACC);
		if (op->code == FETCH_STACK)
			deref(g, op, 8 * (uint64_t)op->imm);
	}
	return op;
}

void make_value(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = detour_store_of(op);
	struct emit *e = &g->e;

	if (store->code == FETCH_STORE_MEM) {
		address(g, op);
		make_check(g, store->imm, store->size, detour_cell(g->probe, store));
		make_load(g, load_op(store->size), R_A, MEM(R_ADDRESS, 0));
	} else if (is_plain(op)) {
		plain_source(g, op, R_A);
		cut_size(e, store->size);
	} else {
		address(g, op);
		a64_mov(e, R_A, R_ACC);
		cut_size(e, store->size);
	}
	if (store->bit_width)
		cut_bits(e, store, R_A);
	if (store->bit_signed)
		cut_size(e, store->size);
}

/* From a register right into the record. */
static bool store_plain(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = op + 1;

	if (!is_plain(op) || op->code != FETCH_REG || store->code != FETCH_STORE_VALUE ||
	    store->bit_width)
		return false;
	a64_ldst(&g->e, store_op(store->size), part(g, op->reg, R_A), make_data_at(store->at));
	return true;
}

static void copy_piece(struct gen *g, const struct fetch_op *op, uint32_t at, unsigned size)
{
	make_load(g, load_op(size), R_A, MEM(R_ADDRESS, at));
	a64_ldst(&g->e, store_op(size), R_A, make_data_at(op->at + at));
}

/* @n elements of @size bytes, bit-fields cut. */
static void copy_loop(struct gen *g, const struct fetch_op *op, unsigned size, uint32_t n)
{
	struct emit *e = &g->e;
	label_t loop;

	a64_add(e, R_C, R_RECORD, make_data_at(op->at).disp);
	a64_imm(e, R_B, 0);
	loop = emit_here(e);
	make_load(g, load_op(size), R_A, MEM_X(R_ADDRESS, R_B));
	if (op->bit_width)
		cut_bits(e, op, R_A);
	a64_ldst(e, store_op(size), R_A, MEM_X(R_C, R_B));
	a64_add(e, R_B, R_B, 1);
	a64_cmp(e, OP_X, R_B, n);
	a64_bcond(e, COND_LO, loop);
}

static void store_array(struct gen *g, const struct fetch_op *op)
{
	uint32_t len = op->size * detour_n_elements(op), at = 0;

	make_check(g, op->imm, len, detour_cell(g->probe, op));
	if (op->bit_width) {
		copy_loop(g, op, op->size, detour_n_elements(op));
		return;
	}
	if (len / 8 > UNROLL) {
		copy_loop(g, op, 8, len / 8);
		at = len / 8 * 8;
	}
	for (unsigned size = 8; size; size /= 2)
		for (; len - at >= size; at += size)
			copy_piece(g, op, at, size);
}

/* --- all of it --------------------------------------------------------------------------- */

static void store_arg(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = detour_store_of(op);

	switch ((enum fetch_opcode)store->code) {
	case FETCH_STORE_COMM:
		make_comm(g, store);
		break;
	case FETCH_STORE_FAULT:
		make_fault(g, store);
		break;
	case FETCH_STORE_STRING:
		address(g, op);
		make_string(g, store);
		break;
	case FETCH_STORE_MEM:
		if (store->count) {
			address(g, op);
			store_array(g, store);
			break;
		}
		/* fall through */
	default:
		if (store_plain(g, op))
			break;
		make_value(g, op);
		a64_ldst(&g->e, store_op(store->size), R_A, make_data_at(store->at));
		break;
	}
}

void make_data(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;

	if (program->has_strings)
		a64_add(&g->e, R_END, R_RECORD, make_data_at(program->fixed_size).disp);
	for (const struct fetch_op *op = program->ops; op < detour_end_of(program);
	     op = detour_store_of(op) + 1)
		store_arg(g, op);
}
