/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Numbers and arrays of a record's data: registers and other sources, pointers that are followed,
 * bit-fields.
 */

#include "arch/x86/gen.h"
#include "arch/x86/x86.h"

/* --- registers -------------------------------------------------------------------- */

static const int gpr_of[X86_N_REGS] = {
	[X86_R15] = G_R15,      [X86_R14] = G_R14,      [X86_R13] = G_R13,
	[X86_R12] = G_R12,      [X86_BP] = G_BP,        [X86_BX] = G_BX,
	[X86_R11] = G_R11,      [X86_R10] = G_R10,      [X86_R9] = G_R9,
	[X86_R8] = G_R8,        [X86_AX] = G_AX,        [X86_CX] = G_CX,
	[X86_DX] = G_DX,        [X86_SI] = G_SI,        [X86_DI] = G_DI,
	[X86_ORIG_AX] = G_NONE, [X86_IP] = G_NONE,      [X86_CS] = G_NONE,
	[X86_FLAGS] = G_NONE,   [X86_SP] = G_NONE,      [X86_SS] = G_NONE,
	[X86_FS_BASE] = G_NONE, [X86_GS_BASE] = G_NONE, [X86_DS] = G_NONE,
	[X86_ES] = G_NONE,      [X86_FS] = G_NONE,      [X86_GS] = G_NONE,
};

static bool can_have(unsigned user_reg)
{
	if (user_reg >= X86_N_REGS)
		return false;
	return gpr_of[user_reg] != G_NONE || user_reg == X86_SP || user_reg == X86_IP ||
	       user_reg == X86_CS || user_reg == X86_SS || user_reg == X86_ORIG_AX ||
	       user_reg == X86_FS_BASE || user_reg == X86_GS_BASE;
}

int gen64_live(const struct gen *g, unsigned user_reg)
{
	int gpr = gpr_of[user_reg];

	return gpr != G_NONE && !(g->clobbered >> gpr & 1) ? gpr : G_NONE;
}

/* Where no instruction tells it: the thread pointer is what the thread was found by, for the other the tracer is asked. */
static void take_segment_base(struct gen *g, bool is_gs, int to)
{
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

static void take_reg(struct gen *g, unsigned user_reg, int to)
{
	struct emit *e = &g->e;
	int gpr = gpr_of[user_reg];

	if (gen64_live(g, user_reg) != G_NONE)
		emit_rr(e, OP_STORE | OP_W, gpr, to);
	else if (gpr != G_NONE)
		emit_rm(e, OP_LOAD | OP_W, to, x86_slot(g, gpr));
	else if (user_reg == X86_SP)
		emit_rm(e, OP_LEA, to, MEM(G_SP, FRAME_ALL));
	else if (user_reg == X86_IP && g->probe->is_return)
		emit_rm(e, OP_LOAD | OP_W, to, MEM(G_SP, FRAME_REAL));
	else if (user_reg == X86_IP)
		emit_address(e, to, g->plan->site);
	else if (user_reg == X86_ORIG_AX) /* as at a breakpoint */
		emit_imm(e, to, UINT64_MAX);
	else if (user_reg == X86_FS_BASE || user_reg == X86_GS_BASE)
		take_segment_base(g, user_reg == X86_GS_BASE, to);
	else /* a segment register */
		emit_rr(e, 0x8c, user_reg == X86_CS ? 1 : 2, to);
}

/* A register that can be part of an address: the one that has its value, else @to with it. */
static int part(struct gen *g, unsigned user_reg, int to)
{
	int live = gen64_live(g, user_reg);

	if (live != G_NONE)
		return live;
	take_reg(g, user_reg, to);
	return to;
}

/* regs[.reg] + (regs[.index] << .shift) + .imm, to register @to, which is not rcx. Clobbers rcx. */
static void take_sum(struct gen *g, const struct fetch_op *op, int to)
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

/* --- what can be made --------------------------------------------------------------- */

static const char *check_reg(unsigned user_reg)
{
	if (user_reg == X86_FLAGS)
		return "%flags are not known to a jump";
	return can_have(user_reg) ? NULL : "a register that is not known to a jump";
}

const char *x86_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, X86_VECTORS, check_reg);
}

/* --- numbers ------------------------------------------------------------------------- */

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

/* Cut rax to @size. */
static void cut_size(struct emit *e, unsigned size)
{
	if (size < 8)
		emit_rr(e, size == 4 ? OP_LOAD : x86_load_op(size), G_AX, G_AX);
}

/* A source that needs no memory, to register @to. */
static void plain_source(struct gen *g, const struct fetch_op *op, int to)
{
	if (op->code == FETCH_REG)
		take_reg(g, op->reg, to);
	else if (op->code == FETCH_IMM)
		emit_imm(&g->e, to, (uint64_t)op->imm);
	else if (op->code == FETCH_FOFF)
		emit_imm(&g->e, to,
			 g->plan->site - g->probe->program->offset + (uint64_t)op->imm);
	else if (op->code == FETCH_DURATION)
		emit_rm(&g->e, OP_LOAD | OP_W, to, MEM(G_SP, FRAME_DURATION));
	else if (op->code == FETCH_STACK)
		take_reg(g, X86_SP, to);
	else if (op->code == FETCH_SUM)
		take_sum(g, op, to);
	else if (op->code == FETCH_VECTOR)
		emit_rr(&g->e, OP_MOVQ_FROM, op->reg, to);
	else
		emit_imm(&g->e, to, 0);
}

/* acc = word at acc + imm */
static void deref(struct gen *g, const struct fetch_op *op, uint64_t imm)
{
	int32_t disp = x86_disp(g, imm);

	gen64_check(g, disp, 8, detour_cell(g->probe, op));
	x86_load(g, OP_LOAD | OP_W, R_ACC, MEM(R_ACC, disp));
}

static void source(struct gen *g, const struct fetch_op *op)
{
	plain_source(g, op, R_ACC);
}

static void plain(struct gen *g, const struct fetch_op *op, const struct fetch_op *store)
{
	plain_source(g, op, G_AX);
	cut_size(&g->e, store->size);
}

static void load(struct gen *g, const struct fetch_op *store)
{
	int32_t disp = x86_disp(g, (uint64_t)store->imm);

	gen64_check(g, disp, store->size, detour_cell(g->probe, store));
	x86_load(g, x86_load_op(store->size), G_AX, MEM(R_ACC, disp));
}

static void address(struct gen *g, const struct fetch_op *store)
{
	emit_rr(&g->e, OP_LOAD | OP_W, G_AX, R_ACC);
	cut_size(&g->e, store->size);
}

static void store_value(struct gen *g, const struct fetch_op *store)
{
	emit_rm(&g->e, x86_store_op(store->size), G_AX, x86_data_at(g, store->at));
}

static bool store_reg(struct gen *g, unsigned user_reg, const struct fetch_op *store)
{
	emit_rm(&g->e, x86_store_op(store->size), part(g, user_reg, G_AX),
		x86_data_at(g, store->at));
	return true;
}

/* --- arrays -------------------------------------------------------------------------- */

static int32_t check_array(struct gen *g, const struct fetch_op *op, uint32_t len)
{
	int32_t disp = x86_disp(g, (uint64_t)op->imm);

	gen64_check(g, disp, len, detour_cell(g->probe, op));
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
	struct emit_mem to = x86_data_at(g, op->at);
	struct emit *e = &g->e;
	label_t loop;

	emit_rr(e, OP_XOR, G_CX, G_CX);
	loop = emit_here(e);
	x86_load(g, x86_load_op(size), G_AX, MEM_X(R_ACC, G_CX, scale, disp));
	if (op->bit_width)
		cut_bits(e, op);
	emit_rm(e, x86_store_op(size), G_AX, MEM_X(R_RECORD, G_CX, scale, to.disp));
	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_alu(e, 0, ALU_CMP, G_CX, (int32_t)n);
	emit_jcc(e, COND_B, loop);
}

const struct gen_numbers gen64_numbers = {
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
