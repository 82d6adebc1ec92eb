/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The stack by frame pointers, as the tracer walks it (engine/hit/stack.c), or the trap: the
 * tracer reads what is not known to be readable, and knows what return addresses were that have
 * been replaced. (What a detour replaced is found by the stack pointer at the function's
 * entry, which frames do not tell.)
 *
 * R_ACC has the frame pointer, R_END is where the next entry goes.
 */

#include <stddef.h>

#include "arch/arm64/gen.h"
#include "arch/arm64/regs.h"

static void put_entry(struct emit *e, int reg)
{
	a64_ldst(e, OP_STR64, reg, MEM(R_END, 0));
	a64_add(e, R_END, R_END, 8);
}

/* Room for their number, and the first: where the program is. */
static void begin(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	struct emit *e = &g->e;

	if (program->has_strings) {
		a64_add(e, R_END, R_END, 7);
		a64_logic(e, OP_AND | OP_X, R_END, R_END, ~7ULL);
	} else {
		a64_add(e, R_END, R_RECORD, make_data_at((program->fixed_size + 7) & ~7u).disp);
	}
	a64_ldst(e, OP_STR64, R_END, MEM(G_SP, FRAME_STACK));
	a64_add(e, R_END, R_END, 8);
	if (g->probe->kind == PROBE_RETURN)
		a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_REAL));
	else
		a64_address(e, R_A, g->plan->site);
	put_entry(e, R_A);
}

/* R_A, a return address, without a signature. Clobbers R_B. */
static void strip(struct emit *e)
{
	a64_mov(e, R_B, G_LINK);
	a64_mov(e, G_LINK, R_A);
	a64_insn(e, INSN_XPACLRI);
	a64_mov(e, R_A, G_LINK);
	a64_mov(e, G_LINK, R_B);
}

/* R_A was replaced by this: only the tracer knows what it was. */
static void refuse(struct gen *g, uint64_t vaddr)
{
	struct emit *e = &g->e;

	if (!vaddr)
		return;
	a64_address(e, R_B, vaddr);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, R_B);
	a64_bcond(e, COND_EQ, g->fail);
}

/* Frames upwards from that of the frame pointer, then to @done. */
static void walk(struct gen *g, uint32_t cell, label_t done)
{
	struct emit *e = &g->e;
	label_t next;

	a64_mov(e, R_ACC, ARM64_X29);
	a64_add(e, R_A, G_SP, make_up(g));
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_ACC, R_A);
	a64_bcond(e, COND_LO, done);
	next = emit_here(e);
	a64_logic(e, OP_ANDS | OP_X, G_ZR, R_ACC, 7);
	a64_bcond(e, COND_NE, done);
	make_check(g, 0, 16, cell);
	make_load(g, OP_LDR64, R_A, MEM(R_ADDRESS, 8));
	a64_cbz(e, OP_X, R_A, done);
	strip(e);
	refuse(g, g->plan->trampoline);
	refuse(g, g->plan->return_vaddr);
	put_entry(e, R_A);
	make_load(g, OP_LDR64, R_A, MEM(R_ADDRESS, 0));
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, R_ACC);
	a64_bcond(e, COND_LS, done);
	a64_mov(e, R_ACC, R_A);
	a64_ldst(e, OP_LDR64, R_B, MEM(G_SP, FRAME_STACK));
	a64_op(e, OP_SUB | OP_X, R_B, R_END, R_B);
	a64_cmp(e, OP_X, R_B, 8 + 8ull * g->plan->frames);
	a64_bcond(e, COND_LO, next);
}

static void end(struct gen *g)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_STACK));
	a64_op(e, OP_SUB | OP_X, R_B, R_END, R_A);
	a64_lsr(e, OP_X, R_B, R_B, 3);
	a64_add(e, R_B, R_B, -1);
	a64_ldst(e, OP_STR64, R_B, MEM(R_A, 0));
}

const struct gen_stacks make_stacks = { .begin = begin, .walk = walk, .end = end };
