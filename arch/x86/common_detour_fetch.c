/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Numbers and arrays of a record's data, for both widths: registers and other sources, pointers
 * that are followed. The interpreter computes in 64 bits, but for addresses, which in 32-bit
 * programs wrap around. So there only of what goes into the record, and has 8 bytes in it, the upper half
 * matters: that is in rdx then.
 */

#include "arch/x86/common_detour_fetch.h"

#include "arch/x86/common_detour.h"
#include "arch/x86/regs.h"

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

const char *x86_check_reg(unsigned bits, unsigned user_reg)
{
	static const char unknown[] = "a register that is not known to a jump";

	if (user_reg == X86_FLAGS)
		return "%flags are not known to a jump";
	if (user_reg >= X86_N_REGS)
		return unknown;
	if (gpr_of[user_reg] != G_NONE)
		return gpr_of[user_reg] < G_R8 || bits == 64 ? NULL : unknown;
	switch (user_reg) {
	case X86_SP:
	case X86_IP:
	case X86_CS:
	case X86_SS:
	case X86_GS_BASE:
		return NULL;
	case X86_ORIG_AX:
	case X86_FS_BASE:
		return bits == 64 ? NULL : unknown;
	default:
		return unknown;
	}
}

int x86_live(const struct gen *g, unsigned user_reg)
{
	int gpr = gpr_of[user_reg];

	return gpr != G_NONE && !(g->clobbered >> gpr & 1) ? gpr : G_NONE;
}

void x86_take_reg(struct gen *g, unsigned user_reg, int to)
{
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;
	int gpr = gpr_of[user_reg];

	if (x86_live(g, user_reg) != G_NONE)
		emit_rr(e, OP_STORE | OP_W, gpr, to);
	else if (gpr != G_NONE)
		emit_rm(e, OP_LOAD | OP_W, to, x86_slot(g, gpr));
	else if (user_reg == X86_SP)
		emit_rm(e, OP_LEA, to, x86_stack(g, 0));
	else if (user_reg == X86_IP && g->probe->kind == PROBE_RETURN)
		emit_rm(e, OP_LOAD | OP_W, to, MEM(G_SP, x->frame.real));
	else if (user_reg == X86_IP)
		emit_address(e, to, g->plan->site);
	else if (user_reg == X86_ORIG_AX) /* as at a breakpoint */
		emit_imm(e, to, UINT64_MAX);
	else if (user_reg == X86_FS_BASE || user_reg == X86_GS_BASE)
		x->segment_base(g, user_reg, to);
	else /* a segment register */
		emit_rr(e, 0x8c, user_reg == X86_CS ? 1 : 2, to);
}

/* --- sources ---------------------------------------------------------------------------- */

void x86_plain_source(struct gen *g, const struct fetch_op *op, int to)
{
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;

	switch ((enum fetch_opcode)op->code) {
	case FETCH_REG:
		x86_take_reg(g, op->reg, to);
		break;
	case FETCH_IMM:
		emit_imm(e, to, (uint64_t)op->imm);
		break;
	case FETCH_FOFF:
		emit_unlike(e);
		emit_imm(e, to, g->plan->site - g->probe->program->offset + (uint64_t)op->imm);
		break;
	case FETCH_DURATION:
		emit_rm(e, OP_LOAD | OP_W, to, MEM(G_SP, x->frame.duration));
		break;
	case FETCH_STACK:
		x86_take_reg(g, X86_SP, to);
		break;
	case FETCH_SUM:
		x->sum(g, op, to);
		break;
	case FETCH_VECTOR:
		emit_rr(e, OP_MOVQ_FROM, op->reg, to);
		break;
	default:
		emit_imm(e, to, 0);
		break;
	}
}

void x86_source(struct gen *g, const struct fetch_op *op)
{
	x86_plain_source(g, op, X86_ACC);
}

/* From the stack pointer on: what is not further away is mostly on a page that is known to be there. */
#define NEAR_SP 1024

/*
 * x86_gen.check() for @n bytes at the accumulator + @disp, of an arg's @op. Is it arguments on the stack? A thread that is new has them
 * there, too, whose stack no range has yet.
 */
static void check(struct gen *g, const struct fetch_op *op, int32_t disp, uint32_t n)
{
	bool is_near =
		op->code == FETCH_STACK || (op[-1].code == FETCH_REG && op[-1].reg == X86_SP);
	size_t at = g->n_misses;

	x86_gen(g)->check(g, disp, n, detour_cell(g->probe, op));
	if (is_near && disp >= 0 && disp < NEAR_SP && g->n_misses > at) {
		g->misses[at].near = true;
		g->misses[at].on = emit_here(&g->e);
	}
}

/* acc = word at acc + imm, or .size bytes there */
void x86_deref(struct gen *g, const struct fetch_op *op, uint64_t imm)
{
	uint32_t word = (uint32_t)x86_word(g), n = op->size ? op->size : word;
	int32_t disp = x86_disp(g, imm);

	check(g, op, disp, n);
	x86_load(g, n < word ? x86_load_op(n) : OP_LOAD | OP_W, X86_ACC, MEM(X86_ACC, disp));
}

/* --- values ------------------------------------------------------------------------------ */

void x86_cut_size(struct emit *e, unsigned size)
{
	if (size < e->bits / 8)
		emit_rr(e, x86_load_op(size), G_AX, G_AX);
}

void x86_load_value(struct gen *g, const struct fetch_op *store)
{
	int32_t disp = x86_disp(g, (uint64_t)store->imm);
	struct emit_mem from = MEM(X86_ACC, disp);

	check(g, store, disp, store->size);
	if (x86_takes_two(g, store->size))
		x86_load(g, OP_LOAD, G_DX, x86_upper(from));
	x86_load(g, x86_load_op(store->size), G_AX, from);
}

void x86_address_value(struct gen *g, const struct fetch_op *store)
{
	emit_rr(&g->e, OP_LOAD | OP_W, G_AX, X86_ACC);
	if (x86_takes_two(g, store->size))
		emit_rr(&g->e, OP_XOR, G_DX, G_DX);
	x86_cut_size(&g->e, store->size);
}

static void store_to(struct gen *g, unsigned size, struct emit_mem to)
{
	emit_rm(&g->e, x86_store_op(size), G_AX, to);
	if (x86_takes_two(g, size))
		emit_rm(&g->e, OP_STORE, G_DX, x86_upper(to));
}

void x86_store_value(struct gen *g, const struct fetch_op *store)
{
	store_to(g, store->size, x86_data_at(g, store->at));
}

/* --- arrays -------------------------------------------------------------------------- */

void x86_zero_array(struct gen *g, const struct fetch_op *op)
{
	struct emit_mem to = x86_data_at(g, op->at);
	struct emit *e = &g->e;
	label_t loop;

	emit_rr(e, OP_XOR, G_AX, G_AX);
	emit_imm(e, G_CX, op->size * (uint64_t)(op->count ? op->count : 1));
	loop = emit_here(e);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_rm(e, OP_STORE8, G_AX, MEM_X(to.base, G_CX, 0, to.disp));
	emit_jcc(e, COND_NE, loop);
}

int32_t x86_check_array(struct gen *g, const struct fetch_op *op, uint32_t len)
{
	int32_t disp = x86_disp(g, (uint64_t)op->imm);

	x86_gen(g)->check(g, disp, len, detour_cell(g->probe, op));
	return disp;
}

void x86_copy_piece(struct gen *g, int32_t disp, const struct fetch_op *op, uint32_t at,
		    unsigned size)
{
	x86_load(g, x86_load_op(size), G_AX, MEM(X86_ACC, disp + (int32_t)at));
	emit_rm(&g->e, x86_store_op(size), G_AX, x86_data_at(g, op->at + at));
}

void x86_copy_loop(struct gen *g, int32_t disp, const struct fetch_op *op, unsigned size,
		   uint32_t n)
{
	uint8_t scale = (uint8_t)(size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3);
	struct emit_mem from = MEM_X(X86_ACC, G_CX, scale, disp);
	struct emit_mem to = x86_data_at(g, op->at);
	struct emit *e = &g->e;
	label_t loop;

	to = MEM_X(to.base, G_CX, scale, to.disp);
	emit_rr(e, OP_XOR, G_CX, G_CX);
	loop = emit_here(e);
	x86_load(g, x86_load_op(size), G_AX, from);
	if (x86_takes_two(g, size))
		x86_load(g, OP_LOAD, G_DX, x86_upper(from));
	if (op->bit_width)
		g->isa->numbers->cut_bits(e, op);
	store_to(g, size, to);
	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_alu(e, 0, ALU_CMP, G_CX, (int32_t)n);
	emit_jcc(e, COND_B, loop);
}
