/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Loads of the program's memory: is the pointer known to lead to something that can be read?
 * The range that held the last one is in a cell of its own for each load; only if that is not
 * the one, all ranges are searched, in code at the end of the block.
 *
 * A cell is read and written by halves, and other threads may do so at the same time. Halves
 * of two ranges are one that nobody vouched for: a load of it may fault, and goes to its fixup.
 */

#include "arch/i386/gen.h"

/* The part of the page number that a range has in its lower half. */
#define LOW_BITS (32 - RING_RANGE_BITS)

/* Make of @high and eax, a range, its start, in @high, and its length in eax. */
static void split_range(struct emit *e, int high)
{
	emit_rr(e, OP_SHLD, G_AX, high);
	emit_u8(e, LOW_BITS);
	emit_shift(e, 0, SHIFT_L, high, RING_PAGE_SHIFT);
	emit_alu(e, 0, ALU_AND, G_AX, (1 << RING_RANGE_BITS) - 1);
	emit_shift(e, 0, SHIFT_L, G_AX, RING_PAGE_SHIFT);
}

static struct emit_mem cell_mem(uint32_t cell)
{
	return MEM(R_BASE, offsetof(struct ring_head, cells) + 8 * cell);
}

void gen32_check(struct gen *g, int32_t disp, uint32_t n, uint32_t cell)
{
	struct emit *e = &g->e;
	struct gen_miss miss = {
		.at = emit_label(e), .fail = g->fail, .disp = disp, .n = n, .cell = cell
	};

	emit_rm(e, OP_LOAD, G_DX, x86_upper(cell_mem(cell)));
	emit_rm(e, OP_LOAD, G_AX, cell_mem(cell));
	miss.retry = emit_here(e);
	split_range(e, G_DX);
	emit_alu(e, 0, ALU_SUB, G_AX, (int32_t)n);
	emit_jcc(e, COND_B, miss.at);
	emit_rm(e, OP_LEA, G_CX, MEM(R_ACC, disp));
	emit_rr(e, OP_SUB, G_CX, G_DX);
	emit_rr(e, OP_CMP, G_CX, G_AX);
	emit_jcc(e, COND_A, miss.at);
	gen_miss(g, &miss);
}

/*
 * The range in the cell is not that of the address. All ranges are searched, the one that
 * holds the bytes is put into the cell; edx, eax: the range, or eax is 0. In: edx the address, ecx
 * the bytes, FRAME_CELL where the cell is, FRAME_RETURN where to go then.
 */
static void search(struct gen *g)
{
	struct emit_mem range = MEM_X(R_BASE, G_BX, 3, offsetof(struct ring_head, ranges));
	static const struct {
		int gpr, at;
	} kept[] = { { G_BX, FRAME_T0 }, { G_DI, FRAME_T1 }, { G_BP, FRAME_T2 } };
	struct emit *e = &g->e;
	label_t next, few = emit_label(e), give_up = emit_label(e), out = emit_label(e);

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		emit_rm(e, OP_STORE, kept[i].gpr, MEM(G_SP, kept[i].at));
	emit_rm(e, OP_LOAD, G_BX, MEM(R_BASE, offsetof(struct ring_head, n_ranges)));
	emit_alu(e, 0, ALU_CMP, G_BX, RING_RANGES);
	emit_jcc(e, COND_BE, few);
	emit_imm(e, G_BX, RING_RANGES);
	emit_set(e, few);
	next = emit_here(e);
	emit_alu(e, 0, ALU_SUB, G_BX, 1);
	emit_jcc(e, COND_B, give_up);
	emit_rm(e, OP_LOAD, G_DI, x86_upper(range));
	emit_rm(e, OP_LOAD, G_AX, range);
	split_range(e, G_DI);
	emit_rr(e, OP_SUB, G_AX, G_CX);
	emit_jcc(e, COND_B, next);
	emit_rr(e, OP_LOAD, G_BP, G_DX);
	emit_rr(e, OP_SUB, G_BP, G_DI);
	emit_rr(e, OP_CMP, G_BP, G_AX);
	emit_jcc(e, COND_A, next);
	emit_rm(e, OP_LOAD, G_DX, x86_upper(range));
	emit_rm(e, OP_LOAD, G_AX, range);
	emit_rm(e, OP_LOAD, G_CX, MEM(G_SP, FRAME_CELL));
	emit_rm(e, OP_STORE, G_AX, MEM_X(R_BASE, G_CX, 0, 0));
	emit_rm(e, OP_STORE, G_DX, MEM_X(R_BASE, G_CX, 0, 4));
	emit_jmp(e, out);
	emit_set(e, give_up);
	emit_rr(e, OP_XOR, G_AX, G_AX);
	emit_set(e, out);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		emit_rm(e, OP_LOAD, kept[i].gpr, MEM(G_SP, kept[i].at));
	emit_rm(e, 0xff, 4, MEM(G_SP, FRAME_RETURN)); /* jmp */
}

/* Stacks of threads have more than that below the thread pointer, which they end behind. */
#define STACK_LEAST 0x2000

/* eax = the page of the address in edx + @more, less that of the frame. */
static void page_from_frame(struct emit *e, int32_t more)
{
	emit_rm(e, OP_LEA, G_AX, MEM(G_DX, more));
	emit_rr(e, OP_XOR, G_AX, G_CX);
	emit_test(e, 0, G_AX, -(1 << RING_PAGE_SHIFT));
}

/*
 * Arguments of a function lie right above the stack pointer: then on a page that the frame is on, too, where something was
 * written just now; or between there and the thread pointer, if a thread has not used much of its stack yet. So those of a thread are
 * known whose stack is new: where nobody traces the process, nobody tells of ranges.
 */
static void look_near(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;
	label_t far = emit_label(e), none = emit_label(e);

	emit_rm(e, OP_LEA, G_DX, MEM(R_ACC, m->disp));
	emit_rm(e, OP_LEA, G_CX, MEM(G_SP, FRAME_FLAGS));
	page_from_frame(e, 0);
	emit_jcc(e, COND_NE, far);
	page_from_frame(e, (int32_t)m->n - 1);
	emit_jcc(e, COND_E, m->on);
	emit_set(e, far);
	emit_rr(e, 0x8c, 5, G_AX); /* mov %gs,%eax */
	emit_test(e, 0, G_AX, 0xfffc);
	emit_jcc(e, COND_E, none);
	gen_may_fault(g, m->fail);
	emit_bytes(e, "\x65\xa1\0\0\0\0", 6); /* mov %gs:0,%eax */
	emit_rr(e, OP_SUB, G_AX, G_DX);
	emit_alu(e, 0, ALU_SUB, G_AX, (int32_t)m->n);
	emit_alu(e, 0, ALU_CMP, G_AX, STACK_LEAST);
	emit_jcc(e, COND_B, m->on);
	emit_set(e, none);
}

static void missed(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;
	label_t back = emit_label(e);

	if (m->near)
		look_near(g, m);
	emit_store_imm(e, 0, MEM(G_SP, FRAME_CELL), (uint32_t)cell_mem(m->cell).disp);
	emit_rm(e, OP_LEA, G_DX, MEM(R_ACC, m->disp));
	emit_imm(e, G_CX, m->n);
	emit_store_label(e, MEM(G_SP, FRAME_RETURN), back);
	emit_jmp(e, g->search);
	emit_set(e, back);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_NE, m->retry);
	emit_jmp(e, m->fail);
}

const struct gen_loads gen32_loads = { .miss = missed, .search = search, .claim = x86_claim };
