/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Numbers and arrays of a record's data: registers and other sources, pointers that are followed,
 * bit-fields. The interpreter computes in 64 bits, but for addresses, which wrap around at 32. So
 * only of what goes into the record, and has 8 bytes there, the upper half matters.
 */

#include "arch/i386/gen.h"
#include "arch/i386/i386.h"

#define WORD 4

/* 32-bit programs have no more. */
#define VECTORS 8

/* --- registers -------------------------------------------------------------------- */

static int gpr_of(unsigned user_reg)
{
	switch (user_reg) {
	case X86_AX:
		return G_AX;
	case X86_CX:
		return G_CX;
	case X86_DX:
		return G_DX;
	case X86_BX:
		return G_BX;
	case X86_BP:
		return G_BP;
	case X86_SI:
		return G_SI;
	case X86_DI:
		return G_DI;
	default:
		return G_NONE;
	}
}

int gen32_live(const struct gen *g, unsigned user_reg)
{
	int gpr = gpr_of(user_reg);

	return gpr != G_NONE && !(g->clobbered >> gpr & 1) ? gpr : G_NONE;
}

/* To register @to. */
static void take_reg(struct gen *g, unsigned user_reg, int to)
{
	struct emit *e = &g->e;
	int gpr = gpr_of(user_reg);

	if (gen32_live(g, user_reg) != G_NONE)
		emit_rr(e, OP_STORE, gpr, to);
	else if (gpr != G_NONE)
		emit_rm(e, OP_LOAD, to, x86_slot(g, gpr));
	else if (user_reg == X86_SP)
		emit_rm(e, OP_LEA, to, MEM(G_SP, FRAME_ALL));
	else if (user_reg == X86_IP && g->probe->is_return)
		emit_rm(e, OP_LOAD, to, MEM(G_SP, FRAME_REAL));
	else if (user_reg == X86_IP)
		emit_imm(e, to, g->plan->site);
	else if (user_reg == X86_GS_BASE) {
		/* It is what the thread was found by. */
		emit_rm(e, OP_LOAD, to, MEM(G_SP, FRAME_THREAD));
		emit_rm(e, OP_LOAD, to, MEM(to, offsetof(struct ring_thread, key)));
		emit_alu(e, 0, ALU_SUB, to, 1);
	} else { /* a segment register */
		emit_rr(e, 0x8c, user_reg == X86_CS ? 1 : 2, to);
	}
}

static const char *check_reg(unsigned user_reg)
{
	if (user_reg == X86_FLAGS)
		return "%flags are not known to a jump";
	if (gpr_of(user_reg) == G_NONE && user_reg != X86_SP && user_reg != X86_IP &&
	    user_reg != X86_CS && user_reg != X86_SS && user_reg != X86_GS_BASE)
		return "a register that is not known to a jump";
	return NULL;
}

const char *i386_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, VECTORS, check_reg);
}

/* --- sources ------------------------------------------------------------------------ */

/* The lower half of regs[.reg] + (regs[.index] << .shift) + .imm, to register @to, which is not ecx.
 * Clobbers ecx. */
static void sum_low(struct gen *g, const struct fetch_op *op, int to)
{
	struct emit *e = &g->e;

	if (op->reg == FETCH_NO_REG)
		emit_imm(e, to, 0);
	else
		take_reg(g, op->reg, to);
	if (op->index == FETCH_NO_REG) {
		emit_rm(e, OP_LEA, to, MEM(to, x86_disp(g, (uint64_t)op->imm)));
		return;
	}
	take_reg(g, op->index, G_CX);
	emit_rm(e, OP_LEA, to, MEM_X(to, G_CX, op->shift, x86_disp(g, (uint64_t)op->imm)));
}

/* All of it, to edx and eax. Clobbers ecx. */
static void sum_wide(struct gen *g, const struct fetch_op *op)
{
	uint64_t imm = (uint64_t)op->imm;
	struct emit *e = &g->e;

	if (op->reg == FETCH_NO_REG)
		emit_imm(e, G_AX, 0);
	else
		take_reg(g, op->reg, G_AX);
	emit_imm(e, G_DX, 0);
	if (op->index != FETCH_NO_REG) {
		take_reg(g, op->index, G_CX);
		if (op->shift) {
			emit_rr(e, OP_SHLD, G_CX, G_DX);
			emit_u8(e, op->shift);
			emit_shift(e, 0, SHIFT_L, G_CX, op->shift);
		}
		emit_rr(e, OP_ADD, G_AX, G_CX);
		emit_alu(e, 0, ALU_ADC, G_DX, 0);
	}
	emit_alu(e, 0, ALU_ADD, G_AX, (int32_t)(uint32_t)imm);
	emit_alu(e, 0, ALU_ADC, G_DX, (int32_t)(imm >> 32));
}

/* The lower half of a source that needs no memory, to register @to. */
static void source_low(struct gen *g, const struct fetch_op *op, int to)
{
	const struct detour_plan *plan = g->plan;
	struct emit *e = &g->e;

	switch ((enum fetch_opcode)op->code) {
	case FETCH_REG:
		take_reg(g, op->reg, to);
		break;
	case FETCH_IMM:
		emit_imm(e, to, (uint64_t)op->imm);
		break;
	case FETCH_FOFF:
		emit_imm(e, to, plan->site - g->probe->program->offset + (uint64_t)op->imm);
		break;
	case FETCH_DURATION:
		emit_rm(e, OP_LOAD, to, MEM(G_SP, FRAME_DURATION));
		break;
	case FETCH_STACK:
		take_reg(g, X86_SP, to);
		break;
	case FETCH_SUM:
		sum_low(g, op, to);
		break;
	case FETCH_VECTOR:
		emit_rr(e, OP_MOVD_FROM, op->reg, to);
		break;
	default:
		emit_imm(e, to, 0);
		break;
	}
}

/* What stands above it: mostly nothing. */
static void source_high(struct gen *g, const struct fetch_op *op, int to)
{
	uint64_t imm = (uint64_t)op->imm;
	struct emit *e = &g->e;

	switch ((enum fetch_opcode)op->code) {
	case FETCH_FOFF:
		imm += g->plan->site - g->probe->program->offset;
		/* fall through */
	case FETCH_IMM:
		emit_imm(e, to, imm >> 32);
		break;
	case FETCH_DURATION:
		emit_rm(e, OP_LOAD, to, MEM(G_SP, FRAME_DURATION + 4));
		break;
	case FETCH_VECTOR:
		emit_rm(e, OP_MOVQ_TO, op->reg, MEM(G_SP, FRAME_T0));
		emit_rm(e, OP_LOAD, to, MEM(G_SP, FRAME_T1));
		break;
	default:
		emit_imm(e, to, 0);
		break;
	}
}

/* --- pointers ------------------------------------------------------------------------ */

/* acc = word at acc + imm */
static void deref(struct gen *g, const struct fetch_op *op, uint64_t imm)
{
	int32_t disp = x86_disp(g, imm);

	gen32_check(g, disp, WORD, detour_cell(g->probe, op));
	x86_load(g, OP_LOAD, R_ACC, MEM(R_ACC, disp));
}

static void source(struct gen *g, const struct fetch_op *op)
{
	source_low(g, op, R_ACC);
}

/* --- bits ------------------------------------------------------------------------------ */

/* Cut eax to @size. */
static void cut_size(struct emit *e, unsigned size)
{
	if (size < 4)
		emit_rr(e, x86_load_op(size), G_AX, G_AX);
}

/* Keep the lowest @width bits of register @reg, with zeros or their sign above. */
static void keep_bits(struct emit *e, int reg, unsigned width, bool is_signed)
{
	if (width >= 32)
		return;
	emit_shift(e, 0, SHIFT_L, reg, (uint8_t)(32 - width));
	emit_shift(e, 0, is_signed ? SHIFT_SIGNED : SHIFT_R, reg, (uint8_t)(32 - width));
}

static void cut_wide(struct emit *e, const struct fetch_op *op)
{
	unsigned by = op->bit_offset, width = op->bit_width;

	if (by >= 64) {
		emit_rr(e, OP_XOR, G_AX, G_AX);
		emit_rr(e, OP_XOR, G_DX, G_DX);
		return;
	}
	if (by >= 32) {
		emit_rr(e, OP_LOAD, G_AX, G_DX);
		emit_rr(e, OP_XOR, G_DX, G_DX);
		by -= 32;
	}
	if (by) {
		emit_rr(e, OP_SHRD, G_DX, G_AX);
		emit_u8(e, (uint8_t)by);
		emit_shift(e, 0, SHIFT_R, G_DX, (uint8_t)by);
	}
	if (width > 32) {
		keep_bits(e, G_DX, width - 32, op->bit_signed);
		return;
	}
	keep_bits(e, G_AX, width, op->bit_signed);
	emit_rr(e, OP_XOR, G_DX, G_DX);
	if (op->bit_signed) {
		emit_rr(e, OP_LOAD, G_DX, G_AX);
		emit_shift(e, 0, SHIFT_SIGNED, G_DX, 31);
	}
}

static void cut_bits(struct emit *e, const struct fetch_op *op)
{
	if (op->size == 8) {
		cut_wide(e, op);
		return;
	}
	if (op->bit_offset >= 32) {
		emit_rr(e, OP_XOR, G_AX, G_AX);
		return;
	}
	if (op->bit_offset)
		emit_shift(e, 0, SHIFT_R, G_AX, op->bit_offset);
	keep_bits(e, G_AX, op->bit_width, op->bit_signed);
}

/* --- values ------------------------------------------------------------------------------ */

static void load(struct gen *g, const struct fetch_op *store)
{
	int32_t disp = x86_disp(g, (uint64_t)store->imm);

	gen32_check(g, disp, store->size, detour_cell(g->probe, store));
	if (store->size == 8)
		x86_load(g, OP_LOAD, G_DX, MEM(R_ACC, disp + 4));
	x86_load(g, x86_load_op(store->size), G_AX, MEM(R_ACC, disp));
}

static void plain(struct gen *g, const struct fetch_op *op, const struct fetch_op *store)
{
	if (op->code == FETCH_SUM && store->size == 8) {
		sum_wide(g, op);
		return;
	}
	source_low(g, op, G_AX);
	if (store->size == 8)
		source_high(g, op, G_DX);
	cut_size(&g->e, store->size);
}

static void address(struct gen *g, const struct fetch_op *store)
{
	emit_rr(&g->e, OP_LOAD, G_AX, R_ACC);
	if (store->size == 8)
		emit_rr(&g->e, OP_XOR, G_DX, G_DX);
	cut_size(&g->e, store->size);
}

static void store_value(struct gen *g, const struct fetch_op *store)
{
	struct emit_mem mem = x86_data_at(g, store->at);

	emit_rm(&g->e, x86_store_op(store->size), G_AX, mem);
	if (store->size == 8)
		emit_rm(&g->e, OP_STORE, G_DX, x86_upper(mem));
}

static bool store_reg(struct gen *g, unsigned user_reg, const struct fetch_op *store)
{
	int live = gen32_live(g, user_reg);

	if (live == G_NONE || store->size != 4)
		return false;
	emit_rm(&g->e, OP_STORE, live, x86_data_at(g, store->at));
	return true;
}

/* --- arrays -------------------------------------------------------------------------- */

static int32_t check_array(struct gen *g, const struct fetch_op *op, uint32_t len)
{
	int32_t disp = x86_disp(g, (uint64_t)op->imm);

	gen32_check(g, disp, len, detour_cell(g->probe, op));
	return disp;
}

static void copy_piece(struct gen *g, int32_t disp, const struct fetch_op *op, uint32_t at,
		       unsigned size)
{
	x86_load(g, x86_load_op(size), G_AX, MEM(R_ACC, disp + (int32_t)at));
	emit_rm(&g->e, x86_store_op(size), G_AX, x86_data_at(g, op->at + at));
}

static void copy_loop(struct gen *g, int32_t disp, const struct fetch_op *op, unsigned size,
		      uint32_t n)
{
	uint8_t scale = (uint8_t)(size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3);
	struct emit_mem from = MEM_X(R_ACC, G_CX, scale, disp);
	struct emit_mem to = MEM_X(R_RECORD, G_CX, scale, x86_data_at(g, op->at).disp);
	struct emit *e = &g->e;
	label_t loop;

	emit_rr(e, OP_XOR, G_CX, G_CX);
	loop = emit_here(e);
	x86_load(g, x86_load_op(size), G_AX, from);
	if (size == 8)
		x86_load(g, OP_LOAD, G_DX, x86_upper(from));
	if (op->bit_width)
		cut_bits(e, op);
	emit_rm(e, x86_store_op(size), G_AX, to);
	if (size == 8)
		emit_rm(e, OP_STORE, G_DX, x86_upper(to));
	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_alu(e, 0, ALU_CMP, G_CX, (int32_t)n);
	emit_jcc(e, COND_B, loop);
}

const struct gen_numbers gen32_numbers = {
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
