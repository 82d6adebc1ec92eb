/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Numbers and arrays of a record's data: registers and other sources, pointers that are followed,
 * bit-fields.
 */

#include "arch/arm64/detour.h"
#include "arch/arm64/gen.h"
#include "arch/arm64/regs.h"
#include "arch/x86/regs.h"

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
		a64_add(e, to, G_SP, make_up(g));
	else if (user_reg == ARM64_TP)
		a64_insn(e, OP_GET_TP | (uint32_t)to);
	else if (g->probe->kind == PROBE_RETURN) /* the pc */
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

const char *arm64_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, ARM64_VECTORS, check_reg);
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

static void cut_bits(struct emit *e, const struct fetch_op *op)
{
	const int reg = R_A;
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

/* acc = word at acc + imm, or .size bytes there */
static void deref(struct gen *g, const struct fetch_op *op, uint64_t imm)
{
	unsigned n = op->size ? op->size : 8;

	make_check(g, (int64_t)imm, n, detour_cell(g->probe, op));
	make_load(g, load_op(n), R_ACC, MEM(R_ADDRESS, 0));
}

static void source(struct gen *g, const struct fetch_op *op)
{
	plain_source(g, op, R_ACC);
}

static void plain(struct gen *g, const struct fetch_op *op, const struct fetch_op *store)
{
	plain_source(g, op, R_A);
	cut_size(&g->e, store->size);
}

static void load(struct gen *g, const struct fetch_op *store)
{
	make_check(g, store->imm, store->size, detour_cell(g->probe, store));
	make_load(g, load_op(store->size), R_A, MEM(R_ADDRESS, 0));
}

static void address(struct gen *g, const struct fetch_op *store)
{
	a64_mov(&g->e, R_A, R_ACC);
	cut_size(&g->e, store->size);
}

static void store_value(struct gen *g, const struct fetch_op *store)
{
	a64_ldst(&g->e, store_op(store->size), R_A, make_data_at(store->at));
}

static bool store_reg(struct gen *g, unsigned user_reg, const struct fetch_op *store)
{
	a64_ldst(&g->e, store_op(store->size), part(g, user_reg, R_A), make_data_at(store->at));
	return true;
}

/* --- arrays, from R_ADDRESS on --------------------------------------------------------- */

static int32_t check_array(struct gen *g, const struct fetch_op *op, uint32_t len)
{
	make_check(g, op->imm, len, detour_cell(g->probe, op));
	return 0;
}

static void copy_piece(struct gen *g, int32_t disp, const struct fetch_op *op, uint32_t at,
		       unsigned size)
{
	make_load(g, load_op(size), R_A, MEM(R_ADDRESS, disp + (int64_t)at));
	a64_ldst(&g->e, store_op(size), R_A, make_data_at(op->at + at));
}

static void copy_loop(struct gen *g, int32_t disp, const struct fetch_op *op, unsigned size,
		      uint32_t n)
{
	struct emit *e = &g->e;
	label_t loop;

	(void)disp; /* none is left */
	a64_add(e, R_C, R_RECORD, make_data_at(op->at).disp);
	a64_imm(e, R_B, 0);
	loop = emit_here(e);
	make_load(g, load_op(size), R_A, MEM_X(R_ADDRESS, R_B));
	if (op->bit_width)
		cut_bits(e, op);
	a64_ldst(e, store_op(size), R_A, MEM_X(R_C, R_B));
	a64_add(e, R_B, R_B, 1);
	a64_cmp(e, OP_X, R_B, n);
	a64_bcond(e, COND_LO, loop);
}

const struct gen_numbers make_numbers = {
	.source = source,
	.deref = deref,
	.plain = plain,
	.load = load,
	.address = address,
	.cut_bits = cut_bits,
	.cut_size = cut_size,
	.store = store_value,
	.store_reg = store_reg,
	.check_array = check_array,
	.copy_loop = copy_loop,
	.copy_piece = copy_piece,
};
