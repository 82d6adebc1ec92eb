/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The stack by frame pointers, as the tracer walks it (engine/hit/stack.c), or the trap: the
 * tracer reads what is not known to be readable, and knows what it replaced itself.
 *
 * R_ACC has the frame pointer, R_END is where the next entry goes.
 */

#include <stddef.h>

#include "arch/guard.h"
#include "arch/i386/gen.h"
#include "arch/i386/i386.h"

#define WORD 4

/* Entries of the table that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

#define ENTRY_SHIFT 5

static void put_entry(struct emit *e, int reg)
{
	emit_rm(e, OP_STORE, reg, MEM(R_END, 0));
	emit_store_imm(e, 0, MEM(R_END, 4), 0);
	emit_alu(e, 0, ALU_ADD, R_END, 8);
}

/* Room for their number, and the first: where the program is. */
static void begin(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	struct emit *e = &g->e;

	if (program->has_strings) {
		/* Records begin at multiples of 8, as their positions do. */
		emit_rm(e, OP_LOAD, R_END, MEM(G_SP, FRAME_END));
		emit_alu(e, 0, ALU_ADD, R_END, 7);
		emit_alu(e, 0, ALU_AND, R_END, -8);
	} else {
		emit_rm(e, OP_LEA, R_END, x86_data_at(g, (program->fixed_size + 7) & ~7u));
	}
	emit_rm(e, OP_STORE, R_END, MEM(G_SP, FRAME_STACK));
	emit_alu(e, 0, ALU_ADD, R_END, 8);
	if (g->probe->is_return)
		emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_REAL));
	else
		emit_imm(e, G_AX, g->plan->site);
	put_entry(e, G_AX);
}

/* eax = the real address, by the entry of the word at R_ACC + 4; or to the trap. Clobbers ecx, edx. */
static void look_up(struct gen *g)
{
	const int32_t mask = (int32_t)(g->plan->hijacks_mask << ENTRY_SHIFT);
	const uint32_t table = (uint32_t)g->plan->hijacks;
	struct emit_mem word = MEM(G_DX, table + offsetof(struct guard_hijack, word));
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);

	emit_rm(e, OP_LEA, G_AX, MEM(R_ACC, WORD));
	emit_rr(e, OP_LOAD, G_DX, G_AX);
	emit_shift(e, 0, SHIFT_L, G_DX, ENTRY_SHIFT - 3);
	emit_alu(e, 0, ALU_AND, G_DX, mask);
	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP, G_AX, word);
	emit_jcc(e, COND_E, found);
	gen_may_fault(g, g->fail);
	emit_alu_mem(e, 0, ALU_CMP, word, 0);
	emit_jcc(e, COND_NE, next);
	emit_jmp(e, g->fail);
	emit_set(e, next);
	emit_alu(e, 0, ALU_ADD, G_DX, 1 << ENTRY_SHIFT);
	emit_alu(e, 0, ALU_AND, G_DX, mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, g->fail);
	emit_set(e, found);
	x86_load(g, OP_LOAD, G_AX, MEM(G_DX, table + offsetof(struct guard_hijack, real)));
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_E, g->fail);
}

/* eax is a return address: what it was. */
static void real_address(struct gen *g)
{
	const struct detour_plan *plan = g->plan;
	struct emit *e = &g->e;
	label_t real = emit_label(e);

	if (plan->trampoline) {
		emit_alu(e, 0, ALU_CMP, G_AX, (int32_t)plan->trampoline);
		emit_jcc(e, COND_E, g->fail);
	}
	if (!plan->return_vaddr ||
	    !g->isa->returns->can_hijack(plan->hijacks, plan->hijacks_mask))
		return;
	emit_alu(e, 0, ALU_CMP, G_AX, (int32_t)plan->return_vaddr);
	emit_jcc(e, COND_NE, real);
	look_up(g);
	emit_set(e, real);
}

/* Frames upwards from that of the frame pointer, then to @done. */
static void walk(struct gen *g, uint32_t cell, label_t done)
{
	struct emit *e = &g->e;
	label_t next;

	emit_rm(e, OP_LOAD, R_ACC, MEM(G_SP, FRAME_BP));
	emit_rm(e, OP_LEA, G_AX, MEM(G_SP, FRAME_ALL));
	emit_rr(e, OP_CMP, R_ACC, G_AX);
	emit_jcc(e, COND_B, done);
	next = emit_here(e);
	emit_test(e, 0, R_ACC, WORD - 1);
	emit_jcc(e, COND_NE, done);
	gen32_check(g, 0, 2 * WORD, cell);
	x86_load(g, OP_LOAD, G_AX, MEM(R_ACC, WORD));
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_E, done);
	real_address(g);
	put_entry(e, G_AX);
	x86_load(g, OP_LOAD, G_AX, MEM(R_ACC, 0));
	emit_rr(e, OP_CMP, G_AX, R_ACC);
	emit_jcc(e, COND_BE, done);
	emit_rr(e, OP_LOAD, R_ACC, G_AX);
	emit_rr(e, OP_LOAD, G_CX, R_END);
	emit_rm(e, OP_SUB, G_CX, MEM(G_SP, FRAME_STACK));
	emit_alu(e, 0, ALU_CMP, G_CX, 8 + 8 * g->plan->frames);
	emit_jcc(e, COND_B, next);
}

static void end(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_STORE, R_END, MEM(G_SP, FRAME_END));
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_STACK));
	emit_rr(e, OP_LOAD, G_CX, R_END);
	emit_rr(e, OP_SUB, G_CX, G_AX);
	emit_shift(e, 0, SHIFT_R, G_CX, 3);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_rm(e, OP_STORE, G_CX, MEM(G_AX, 0));
	emit_store_imm(e, 0, MEM(G_AX, 4), 0);
}

const struct gen_stacks gen32_stacks = { .begin = begin, .walk = walk, .end = end };
