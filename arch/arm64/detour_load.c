/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Loads of the program's memory: is the pointer known to lead to something that can be read?
 * The range that held the last one is in a cell of its own for each load; only if that is not
 * the one, all ranges are searched, in code at the end of the block.
 *
 * A pointer with something in its highest byte is in no range: the processor would not look at that,
 * but whether the kernel would read there depends on the thread, and the tracer knows.
 */

#include "arch/arm64/gen.h"

static uint32_t cell_at(uint32_t cell)
{
	return (uint32_t)offsetof(struct ring_head, cells) + 8 * cell;
}

void make_check(struct gen *g, int64_t disp, uint32_t n, uint32_t cell)
{
	struct emit *e = &g->e;
	struct gen_miss miss = { .at = emit_label(e), .fail = g->fail, .n = n, .cell = cell };

	a64_add(e, R_ADDRESS, R_ACC, disp);
	a64_ldst(e, OP_LDR64, R_A, MEM(R_BASE, cell_at(cell)));
	miss.retry = emit_here(e);
	/* R_A, a range: its start, in pages; R_B: its length less @n. */
	a64_zero_extend(e, R_B, R_A, RING_RANGE_BITS);
	a64_lsr(e, OP_X, R_A, R_A, RING_RANGE_BITS);
	a64_lsl(e, OP_X, R_B, R_B, RING_PAGE_SHIFT);
	a64_subs(e, R_B, R_B, n);
	a64_bcond(e, COND_LO, miss.at);
	a64_op(e, OP_SUB | OP_X | op_lsl(RING_PAGE_SHIFT), R_C, R_ADDRESS, R_A);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_C, R_B);
	a64_bcond(e, COND_HI, miss.at);
	gen_miss(g, &miss);
}

void make_load(struct gen *g, uint32_t op, int reg, struct emit_mem mem)
{
	mem = a64_reach(&g->e, op, mem);
	gen_may_fault(g, g->fail);
	a64_ldst(&g->e, op, reg, mem);
}

/*
 * The range in the cell is not that of the address. All ranges are searched, the one that
 * holds the bytes is put into the cell; R_A: the range, or 0. In: R_ADDRESS, R_B the bytes,
 * R_A where the cell is. R_RETURN: where to go then.
 */
#define R_NEXT 6

static void search(struct gen *g)
{
	struct emit *e = &g->e;
	label_t next, give_up = emit_label(e), out = emit_label(e);

	_Static_assert(FRAME_SEARCH % 8 == 0 && FRAME_SEARCH + 8 < FRAME_LEN, "room for it");
	a64_ldst(e, OP_STR64, R_A, MEM(G_SP, FRAME_CELL));
	a64_ldst(e, OP_STR64, R_NEXT, MEM(G_SP, FRAME_SEARCH));
	a64_ldst(e, OP_LDR64, R_NEXT, MEM(R_BASE, offsetof(struct ring_head, n_ranges)));
	a64_imm(e, R_A, RING_RANGES);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_NEXT, R_A);
	a64_csel(e, COND_HI, R_NEXT, R_A, R_NEXT);
	next = emit_here(e);
	a64_subs(e, R_NEXT, R_NEXT, 1);
	a64_bcond(e, COND_LO, give_up);
	a64_add(e, G_TMP, R_BASE, offsetof(struct ring_head, ranges));
	a64_ldst(e, OP_LDR64, R_A, MEM_X(G_TMP, R_NEXT));
	a64_zero_extend(e, G_TMP, R_A, RING_RANGE_BITS);
	a64_lsl(e, OP_X, G_TMP, G_TMP, RING_PAGE_SHIFT);
	a64_op(e, OP_SUBS | OP_X, G_TMP, G_TMP, R_B);
	a64_bcond(e, COND_LO, next);
	a64_lsr(e, OP_X, R_A, R_A, RING_RANGE_BITS);
	a64_op(e, OP_SUB | OP_X | op_lsl(RING_PAGE_SHIFT), R_A, R_ADDRESS, R_A);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, G_TMP);
	a64_bcond(e, COND_HI, next);
	a64_add(e, G_TMP, R_BASE, offsetof(struct ring_head, ranges));
	a64_ldst(e, OP_LDR64, R_A, MEM_X(G_TMP, R_NEXT));
	a64_ldst(e, OP_LDR64, G_TMP, MEM(G_SP, FRAME_CELL));
	a64_ldst(e, OP_STR64, R_A, MEM_BYTES(R_BASE, G_TMP));
	a64_b(e, out);
	emit_set(e, give_up);
	a64_imm(e, R_A, 0);
	emit_set(e, out);
	a64_ldst(e, OP_LDR64, R_NEXT, MEM(G_SP, FRAME_SEARCH));
	a64_br(e, R_RETURN);
}

static void missed(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;
	label_t back = emit_label(e);

	a64_ldst(e, OP_STR64, R_RETURN, MEM(G_SP, FRAME_RETURN));
	a64_imm(e, R_A, cell_at(m->cell));
	a64_imm(e, R_B, m->n);
	a64_adr(e, R_RETURN, back);
	a64_b(e, g->search);
	emit_set(e, back);
	a64_ldst(e, OP_LDR64, R_RETURN, MEM(G_SP, FRAME_RETURN));
	a64_cbnz(e, OP_X, R_A, m->retry);
	a64_b(e, m->fail);
}

const struct gen_loads make_loads = { .miss = missed, .search = search };
