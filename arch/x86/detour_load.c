/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Loads of the program's memory: is the pointer known to lead to something that can be read?
 * The range that held the last one is in a cell of its own for each load; only if that is not
 * the one, all ranges are searched, in code at the end of the block. While nobody traces the process there are no ranges, and
 * detour_read.c has the rest.
 */

#include "arch/x86/gen.h"

/* Make of rax, a range, its start, and of rcx its length less @n; to @miss if it has not that many. */
static void split_range(struct emit *e, uint32_t n, label_t miss)
{
	emit_rr(e, OP_STORE, G_AX, G_CX);
	emit_shift(e, OP_W, SHIFT_R, G_AX, RING_RANGE_BITS - RING_PAGE_SHIFT);
	emit_alu(e, 0, ALU_AND, G_CX, (1 << RING_RANGE_BITS) - 1);
	emit_alu(e, OP_W, ALU_AND, G_AX, -(1 << RING_PAGE_SHIFT));
	emit_shift(e, OP_W, SHIFT_L, G_CX, RING_PAGE_SHIFT);
	emit_alu(e, OP_W, ALU_SUB, G_CX, (int32_t)n);
	emit_jcc(e, COND_B, miss);
}

static int32_t cell_at(uint32_t cell)
{
	return (int32_t)(offsetof(struct ring_head, cells) + 8 * cell);
}

void gen64_check(struct gen *g, int32_t disp, uint32_t n, uint32_t cell)
{
	struct emit *e = &g->e;
	struct gen_miss miss = { .at = emit_label(e),
				 .fail = g->fail,
				 .read = g->read,
				 .probe = g->probe,
				 .disp = disp,
				 .n = n,
				 .cell = cell };

	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(R_BASE, cell_at(cell)));
	miss.retry = emit_here(e);
	split_range(e, n, miss.at);
	emit_rm(e, OP_LEA, G_DX, MEM(R_ACC, disp));
	emit_rr(e, OP_SUB | OP_W, G_DX, G_AX);
	emit_rr(e, OP_CMP | OP_W, G_DX, G_CX);
	emit_jcc(e, COND_A, miss.at);
	miss.done = emit_here(e);
	gen_miss(g, &miss);
}

/*
 * The range in the cell is not that of the address. All ranges are searched, the one that
 * holds the bytes is put into the cell; rax: the range, or 0. In: rdx the address, ecx
 * the bytes, FRAME_CELL where the cell is. R_RETURN: where to go then.
 */
void gen64_search(struct gen *g)
{
	struct emit *e = &g->e;
	label_t next, give_up = emit_label(e), out = emit_label(e);

	emit_rm(e, OP_STORE | OP_W, G_R8, MEM(G_SP, FRAME_T8));
	emit_rm(e, OP_STORE | OP_W, G_R9, MEM(G_SP, FRAME_T9));
	emit_rm(e, OP_LOAD | OP_W, G_R8, MEM(R_BASE, offsetof(struct ring_head, n_ranges)));
	emit_imm(e, G_R9, RING_RANGES);
	emit_rr(e, OP_CMP | OP_W, G_R8, G_R9);
	emit_rr(e, OP_CMOV(COND_A) | OP_W, G_R8, G_R9);
	next = emit_here(e);
	emit_alu(e, OP_W, ALU_SUB, G_R8, 1);
	emit_jcc(e, COND_B, give_up);
	emit_rm(e, OP_LOAD | OP_W, G_AX,
		MEM_X(R_BASE, G_R8, 3, offsetof(struct ring_head, ranges)));
	emit_rr(e, OP_STORE, G_AX, G_R9);
	emit_shift(e, OP_W, SHIFT_R, G_AX, RING_RANGE_BITS - RING_PAGE_SHIFT);
	emit_alu(e, 0, ALU_AND, G_R9, (1 << RING_RANGE_BITS) - 1);
	emit_alu(e, OP_W, ALU_AND, G_AX, -(1 << RING_PAGE_SHIFT));
	emit_shift(e, OP_W, SHIFT_L, G_R9, RING_PAGE_SHIFT);
	emit_rr(e, OP_SUB | OP_W, G_R9, G_CX);
	emit_jcc(e, COND_B, next);
	emit_rr(e, 0xf7 | OP_W, 3, G_AX); /* neg */
	emit_rr(e, OP_ADD | OP_W, G_AX, G_DX);
	emit_rr(e, OP_CMP | OP_W, G_AX, G_R9);
	emit_jcc(e, COND_A, next);
	emit_rm(e, OP_LOAD | OP_W, G_AX,
		MEM_X(R_BASE, G_R8, 3, offsetof(struct ring_head, ranges)));
	emit_rm(e, OP_LOAD, G_R9, MEM(G_SP, FRAME_CELL));
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM_X(R_BASE, G_R9, 0, 0));
	emit_jmp(e, out);
	emit_set(e, give_up);
	emit_rr(e, OP_XOR, G_AX, G_AX);
	emit_set(e, out);
	emit_rm(e, OP_LOAD | OP_W, G_R8, MEM(G_SP, FRAME_T8));
	emit_rm(e, OP_LOAD | OP_W, G_R9, MEM(G_SP, FRAME_T9));
	emit_rr(e, 0xff, 4, R_RETURN); /* jmp *%r10 */
	if (g->plan->reads)
		gen64_put_read(g);
}

void gen64_missed(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;
	label_t back = emit_label(e);

	emit_rm(e, OP_STORE | OP_W, G_R10, MEM(G_SP, FRAME_T10));
	emit_store_imm(e, 0, MEM(G_SP, FRAME_CELL), (uint32_t)cell_at(m->cell));
	emit_rm(e, OP_LEA, G_DX, MEM(R_ACC, m->disp));
	emit_imm(e, G_CX, m->n);
	emit_rm(e, OP_LEA, R_RETURN, MEM_LABEL(back));
	emit_jmp(e, g->search);
	emit_set(e, back);
	emit_rm(e, OP_LOAD | OP_W, G_R10, MEM(G_SP, FRAME_T10));
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NE, m->retry);
	if (g->plan->reads)
		gen64_read_alone(g, m);
	else
		emit_jmp(e, m->fail);
}
