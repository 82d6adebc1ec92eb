/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers: what 64 bits do in another way (common_detour_fetch.c has the rest). */

#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_fetch.h"
#include "arch/x86/cpu.h"
#include "arch/x86/detour.h"
#include "arch/x86/gen.h"
#include "arch/x86/regs.h"

/* --- what can be made --------------------------------------------------------------- */

static const char *check_reg(unsigned user_reg)
{
	return x86_check_reg(64, user_reg);
}

const char *x86_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, X86_VECTORS, check_reg);
}

/* --- sources ------------------------------------------------------------------------ */

/* Where no instruction tells it: the thread pointer is what the thread was found by, for the other the tracer is asked. */
void gen64_segment_base(struct gen *g, unsigned user_reg, int to)
{
	bool is_gs = user_reg == X86_GS_BASE;
	struct emit *e = &g->e;

	if (g->plan->has & X86_HAS_FSGSBASE) {
		emit_u8(e, 0xf3);
		emit_rr(e, 0xae | OP_0F | OP_W, is_gs ? 1 : 0, to); /* rdfsbase, rdgsbase */
	} else if (is_gs) {
		emit_jmp(e, g->fail);
	} else {
		gen64_thread_pointer(g, to);
	}
}

/* A register that can be part of an address: the one that has its value, else @to with it. */
static int part(struct gen *g, unsigned user_reg, int to)
{
	int live = x86_live(g, user_reg);

	if (live != G_NONE)
		return live;
	x86_take_reg(g, user_reg, to);
	return to;
}

void gen64_sum(struct gen *g, const struct fetch_op *op, int to)
{
	uint64_t imm = (uint64_t)op->imm;
	struct emit *e = &g->e;
	int base = to;

	if (op->reg == FETCH_NO_REG)
		emit_imm(e, to, 0);
	else
		base = part(g, op->reg, to);
	emit_rm(e, OP_LEA, to,
		(struct emit_mem){
			.base = base,
			.index = op->index == FETCH_NO_REG ? G_NONE : part(g, op->index, G_CX),
			.scale = op->index == FETCH_NO_REG ? 0 : op->shift,
			.disp = emit_fits(imm) ? (int32_t)imm : 0,
		});
	if (!emit_fits(imm)) {
		emit_imm(e, G_CX, imm);
		emit_rr(e, OP_ADD | OP_W, to, G_CX);
	}
}

/* --- values -------------------------------------------------------------------------- */

static void cut_bits(struct emit *e, const struct fetch_op *op)
{
	const int reg = G_AX;
	uint8_t unused;

	if (op->bit_offset >= 64) {
		emit_rr(e, OP_XOR, reg, reg);
		return;
	}
	if (op->bit_offset)
		emit_shift(e, OP_W, SHIFT_R, reg, op->bit_offset);
	if (op->bit_width >= 64)
		return;
	unused = (uint8_t)(64 - op->bit_width);
	emit_shift(e, OP_W, SHIFT_L, reg, unused);
	emit_shift(e, OP_W, op->bit_signed ? SHIFT_SIGNED : SHIFT_R, reg, unused);
}

static void plain(struct gen *g, const struct fetch_op *op, const struct fetch_op *store)
{
	x86_plain_source(g, op, G_AX);
	x86_cut_size(&g->e, store->size);
}

static bool store_reg(struct gen *g, unsigned user_reg, const struct fetch_op *store)
{
	emit_rm(&g->e, x86_store_op(store->size), part(g, user_reg, G_AX),
		x86_data_at(g, store->at));
	return true;
}

const struct gen_numbers gen64_numbers = {
	.sp = X86_SP,
	.source = x86_source,
	.deref = x86_deref,
	.plain = plain,
	.load = x86_load_value,
	.address = x86_address_value,
	.cut_bits = cut_bits,
	.cut_size = x86_cut_size,
	.store = x86_store_value,
	.store_reg = store_reg,
	.zero = x86_zero_array,
	.check_array = x86_check_array,
	.copy_loop = x86_copy_loop,
	.copy_piece = x86_copy_piece,
};
