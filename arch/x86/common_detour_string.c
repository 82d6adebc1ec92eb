/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings in a record, for both widths. */

#include "arch/x86/common_detour_string.h"

#include "arch/x86/common_detour.h"

void x86_load_end(struct gen *g)
{
	const struct x86_gen *x = x86_gen(g);

	if (x->frame.end != X86_STAYS)
		emit_rm(&g->e, OP_LOAD | OP_W, x->regs.end, MEM(G_SP, x->frame.end));
}

void x86_store_end(struct gen *g, int reg)
{
	const struct x86_gen *x = x86_gen(g);

	if (x->frame.end != X86_STAYS)
		emit_rm(&g->e, OP_STORE | OP_W, reg, MEM(G_SP, x->frame.end));
}

void x86_end_offset(struct gen *g, unsigned w)
{
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;

	if (x->frame.end == X86_STAYS) {
		emit_rm(e, (OP_LEA & ~OP_W) | w, G_AX, MEM(x->regs.end, -RECORD_DATA));
		emit_rr(e, OP_SUB | w, G_AX, x->regs.record);
	} else {
		emit_rm(e, OP_LOAD | w, G_AX, MEM(G_SP, x->frame.end));
		emit_rr(e, OP_SUB | w, G_AX, x->regs.record);
		emit_alu(e, w, ALU_SUB, G_AX, RECORD_DATA);
	}
}

static void start(struct gen *g, uint32_t at)
{
	const struct x86_gen *x = x86_gen(g);
	int to = x->frame.end == X86_STAYS ? x->regs.end : G_AX;

	emit_rm(&g->e, OP_LEA, to, x86_data_at(g, at));
	x86_store_end(g, to);
}

/* The word of a string; an element of an array has its number in rcx. */
static struct emit_mem word_of(struct gen *g, const struct fetch_op *op)
{
	const struct x86_gen *x = x86_gen(g);

	if (op->count == 0)
		return x86_data_at(g, op->at);
	emit_rm(&g->e, OP_LOAD, G_CX, MEM(G_SP, x->frame.index));
	return MEM_X(x->regs.record, G_CX, 2, RECORD_DATA + (int32_t)op->at);
}

static void begin(struct gen *g, const struct fetch_op *op)
{
	x86_end_offset(g, 0);
	emit_rm(&g->e, OP_STORE, G_AX, word_of(g, op));
}

/* Its length is what the end has moved by. */
static void end(struct gen *g, const struct fetch_op *op)
{
	struct emit *e = &g->e;
	struct emit_mem word;

	x86_end_offset(g, 0);
	word = word_of(g, op);
	emit_rm(e, OP_LOAD, G_DX, word);
	emit_rr(e, OP_SUB, G_AX, G_DX);
	emit_shift(e, 0, SHIFT_L, G_AX, 16);
	emit_rr(e, OP_OR, G_AX, G_DX);
	emit_rm(e, OP_STORE, G_AX, word);
}

/* The last bytes in front of a limit, rcx of them; one must be the NUL. */
static void copy_tail(struct gen *g)
{
	int to = x86_gen(g)->regs.end;
	struct emit *e = &g->e;
	label_t loop;

	emit_alu(e, OP_W, ALU_ADD, G_CX, x86_word(g));
	loop = emit_here(e);
	emit_alu(e, OP_W, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_B, g->fail);
	x86_load(g, OP_MOVZX8, G_AX, MEM(X86_ACC, 0));
	emit_rm(e, OP_STORE8, G_AX, MEM(to, 0));
	emit_alu(e, OP_W, ALU_ADD, X86_ACC, 1);
	emit_alu(e, OP_W, ALU_ADD, to, 1);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_NE, loop);
}

/* Copy the string at the accumulator + @imm to the end, up to its NUL. */
static void copy(struct gen *g, uint64_t imm, uint32_t cell)
{
	const struct x86_gen *x = x86_gen(g);
	int32_t disp = x86_disp(g, imm), word = x86_word(g);
	label_t loop, next, tail, done;
	struct emit *e = &g->e;
	int to = x->regs.end;

	tail = emit_label(e);
	next = emit_label(e);
	done = emit_label(e);
	g->read.done = done;
	x->check(g, disp, 1, cell);
	x86_load_end(g);
	x->string_room(g, RECORD_DATA + DATA_MAX(g->probe->kind));
	if (disp)
		emit_rm(e, OP_LEA, X86_ACC, MEM(X86_ACC, disp));
	loop = emit_here(e);
	emit_alu(e, OP_W, ALU_SUB, G_CX, word);
	emit_jcc(e, COND_B, tail);
	x86_load(g, OP_LOAD | OP_W, G_AX, MEM(X86_ACC, 0));
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(to, 0));
	x->find_nul(g, next);
	emit_rm(e, OP_LEA, to, MEM_X(to, G_DX, 0, 1));
	emit_jmp(e, done);
	emit_set(e, next);
	emit_alu(e, OP_W, ALU_ADD, X86_ACC, word);
	emit_alu(e, OP_W, ALU_ADD, to, word);
	emit_jmp(e, loop);
	emit_set(e, tail);
	copy_tail(g);
	emit_set(e, done);
	x86_store_end(g, to);
}

static void array(struct gen *g, const struct fetch_op *op)
{
	int32_t disp = x86_disp(g, (uint64_t)op->imm);
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;

	x->check(g, disp, (uint32_t)x86_word(g) * op->count, detour_cell(g->probe, op));
	emit_rm(e, OP_LEA, X86_ACC, MEM(X86_ACC, disp));
	emit_rm(e, OP_STORE | OP_W, X86_ACC, MEM(G_SP, x->frame.array));
	emit_store_imm(e, 0, MEM(G_SP, x->frame.index), 0);
}

/* Its number is in rcx since begin(). */
static void element(struct gen *g)
{
	uint8_t scale = x86_word(g) == 8 ? 3 : 2;

	emit_rm(&g->e, OP_LOAD | OP_W, X86_ACC, MEM(G_SP, x86_gen(g)->frame.array));
	x86_load(g, OP_LOAD | OP_W, X86_ACC, MEM_X(X86_ACC, G_CX, scale, 0));
}

static void next_element(struct gen *g, const struct fetch_op *op, label_t loop)
{
	struct emit *e = &g->e;

	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_rm(e, OP_STORE, G_CX, MEM(G_SP, x86_gen(g)->frame.index));
	emit_alu(e, 0, ALU_CMP, G_CX, op->count);
	emit_jcc(e, COND_B, loop);
}

static void fault(struct gen *g, uint32_t at, uint32_t n)
{
	x86_end_offset(g, 0);
	for (uint32_t i = 0; i < n; i++)
		emit_rm(&g->e, OP_STORE, G_AX, x86_data_at(g, at + 4 * i));
}

const struct gen_strings x86_strings = {
	.start = start,
	.begin = begin,
	.end = end,
	.copy = copy,
	.array = array,
	.element = element,
	.next = next_element,
	.fault = fault,
};
