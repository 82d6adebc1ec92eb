/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers: what 32 bits do in another way (arch/x86/common_detour_fetch.c has the rest). */

#include "arch/i386/detour.h"
#include "arch/i386/gen.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_fetch.h"
#include "arch/x86/regs.h"

/* 32-bit programs have no more. */
#define VECTORS 8

/* --- what can be made --------------------------------------------------------------- */

static const char *check_reg(unsigned user_reg)
{
	return x86_check_reg(32, user_reg);
}

const char *i386_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, VECTORS, check_reg);
}

/* --- sources ------------------------------------------------------------------------ */

/* The base of %gs is what the thread was found by. */
void gen32_segment_base(struct gen *g, unsigned user_reg, int to)
{
	struct emit *e = &g->e;

	(void)user_reg;
	emit_rm(e, OP_LOAD, to, MEM(G_SP, FRAME_THREAD));
	emit_rm(e, OP_LOAD, to, MEM(to, offsetof(struct ring_thread, key)));
	emit_alu(e, 0, ALU_SUB, to, 1);
}

void gen32_sum(struct gen *g, const struct fetch_op *op, int to)
{
	struct emit *e = &g->e;

	if (op->reg == FETCH_NO_REG)
		emit_imm(e, to, 0);
	else
		x86_take_reg(g, op->reg, to);
	if (op->index == FETCH_NO_REG) {
		emit_rm(e, OP_LEA, to, MEM(to, x86_disp(g, (uint64_t)op->imm)));
		return;
	}
	x86_take_reg(g, op->index, G_CX);
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
		x86_take_reg(g, op->reg, G_AX);
	emit_imm(e, G_DX, 0);
	if (op->index != FETCH_NO_REG) {
		x86_take_reg(g, op->index, G_CX);
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

/* What stands above x86_plain_source(): mostly nothing. */
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

/* --- bits ------------------------------------------------------------------------------ */

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

static void plain(struct gen *g, const struct fetch_op *op, const struct fetch_op *store)
{
	if (op->code == FETCH_SUM && store->size == 8) {
		sum_wide(g, op);
		return;
	}
	x86_plain_source(g, op, G_AX);
	if (store->size == 8)
		source_high(g, op, G_DX);
	x86_cut_size(&g->e, store->size);
}

/* All registers are in the frame when the record is written. */
static bool store_reg(struct gen *g, unsigned user_reg, const struct fetch_op *store)
{
	(void)g;
	(void)user_reg;
	(void)store;
	return false;
}

const struct gen_numbers gen32_numbers = {
	.source = x86_source,
	.deref = x86_deref,
	.plain = plain,
	.load = x86_load_value,
	.address = x86_address_value,
	.cut_bits = cut_bits,
	.cut_size = x86_cut_size,
	.store = x86_store_value,
	.store_reg = store_reg,
	.check_array = x86_check_array,
	.copy_loop = x86_copy_loop,
	.copy_piece = x86_copy_piece,
};
