/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings in a record. */

#include "arch/x86/gen.h"

static void start(struct gen *g, uint32_t at)
{
	emit_rm(&g->e, OP_LEA, R_END, gen64_data_at(at));
}

/* The word of a string; an element of an array has its number in rcx. */
static struct emit_mem word_of(struct gen *g, const struct fetch_op *op)
{
	if (op->count == 0)
		return gen64_data_at(op->at);
	emit_rm(&g->e, OP_LOAD, G_CX, MEM(G_SP, FRAME_INDEX));
	return MEM_X(R_RECORD, G_CX, 2, RECORD_DATA + (int32_t)op->at);
}

/* eax = offset of R_END in the data */
static void end_offset(struct emit *e)
{
	emit_rm(e, OP_LEA & ~OP_W, G_AX, MEM(R_END, -RECORD_DATA));
	emit_rr(e, OP_SUB, G_AX, R_RECORD);
}

static void string_begins(struct gen *g, const struct fetch_op *op)
{
	end_offset(&g->e);
	emit_rm(&g->e, OP_STORE, G_AX, word_of(g, op));
}

/* Its length is what R_END has grown by. */
static void string_ends(struct gen *g, const struct fetch_op *op)
{
	struct emit *e = &g->e;
	struct emit_mem word;

	end_offset(e);
	word = word_of(g, op);
	emit_rm(e, OP_LOAD, G_DX, word);
	emit_rr(e, OP_SUB, G_AX, G_DX);
	emit_shift(e, 0, SHIFT_L, G_AX, 16);
	emit_rr(e, OP_OR, G_AX, G_DX);
	emit_rm(e, OP_STORE, G_AX, word);
}

/* Where in the word rax lies the first NUL? To @none if nowhere, else rdx: its byte. */
static void find_nul(struct gen *g, label_t none)
{
	struct emit *e = &g->e;

	g->needs_words = true;
	emit_rm(e, OP_LOAD | OP_W, G_DX, MEM_LABEL(g->low_bits));
	emit_rr(e, OP_ADD | OP_W, G_DX, G_AX);
	emit_rr(e, 0xf7 | OP_W, 2, G_AX); /* not */
	emit_rr(e, OP_AND | OP_W, G_DX, G_AX);
	emit_rm(e, OP_AND | OP_W, G_DX, MEM_LABEL(g->high_bits));
	emit_jcc(e, COND_E, none);
	emit_rr(e, OP_BSF | OP_W, G_DX, G_DX);
	emit_shift(e, 0, SHIFT_R, G_DX, 3);
}

/* The last bytes in front of a limit, rcx of them; one must be the NUL. */
static void copy_tail(struct gen *g)
{
	struct emit *e = &g->e;
	label_t loop;

	emit_alu(e, OP_W, ALU_ADD, G_CX, 8);
	loop = emit_here(e);
	emit_alu(e, OP_W, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_B, g->fail);
	gen64_load(g, OP_MOVZX8, G_AX, MEM(R_ACC, 0));
	emit_rm(e, OP_STORE8, G_AX, MEM(R_END, 0));
	emit_alu(e, OP_W, ALU_ADD, R_ACC, 1);
	emit_alu(e, OP_W, ALU_ADD, R_END, 1);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_NE, loop);
}

/* Copy the string at R_ACC + @imm to R_END, up to its NUL. */
static void copy_string(struct gen *g, uint64_t imm, uint32_t cell)
{
	int32_t disp = gen64_disp(g, imm);
	int32_t limit = RECORD_DATA + DATA_MAX(g->probe->is_return);
	label_t loop, next, tail, done;
	struct emit *e = &g->e;

	tail = emit_label(e);
	next = emit_label(e);
	done = emit_label(e);
	gen64_check(g, disp, 1, cell);
	/* rcx: how many bytes there may be, in the range and in the record */
	emit_rr(e, OP_SUB | OP_W, G_CX, G_DX);
	emit_alu(e, OP_W, ALU_ADD, G_CX, 1);
	emit_rm(e, OP_LEA, G_DX, MEM(R_RECORD, limit));
	emit_rr(e, OP_SUB | OP_W, G_DX, R_END);
	emit_rr(e, OP_CMP | OP_W, G_CX, G_DX);
	emit_rr(e, OP_CMOV(COND_A) | OP_W, G_CX, G_DX);
	if (disp)
		emit_rm(e, OP_LEA, R_ACC, MEM(R_ACC, disp));
	loop = emit_here(e);
	emit_alu(e, OP_W, ALU_SUB, G_CX, 8);
	emit_jcc(e, COND_B, tail);
	gen64_load(g, OP_LOAD | OP_W, G_AX, MEM(R_ACC, 0));
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(R_END, 0));
	find_nul(g, next);
	emit_rm(e, OP_LEA, R_END, MEM_X(R_END, G_DX, 0, 1));
	emit_jmp(e, done);
	emit_set(e, next);
	emit_alu(e, OP_W, ALU_ADD, R_ACC, 8);
	emit_alu(e, OP_W, ALU_ADD, R_END, 8);
	emit_jmp(e, loop);
	emit_set(e, tail);
	copy_tail(g);
	emit_set(e, done);
}

static void array(struct gen *g, const struct fetch_op *op)
{
	int32_t disp = gen64_disp(g, (uint64_t)op->imm);
	struct emit *e = &g->e;

	gen64_check(g, disp, 8u * op->count, detour_cell(g->probe, op));
	emit_rm(e, OP_LEA, R_ACC, MEM(R_ACC, disp));
	emit_rm(e, OP_STORE | OP_W, R_ACC, MEM(G_SP, FRAME_ARRAY));
	emit_store_imm(e, 0, MEM(G_SP, FRAME_INDEX), 0);
}

/* Its number is in rcx since string_begins(). */
static void element(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, R_ACC, MEM(G_SP, FRAME_ARRAY));
	gen64_load(g, OP_LOAD | OP_W, R_ACC, MEM_X(R_ACC, G_CX, 3, 0));
}

static void next_element(struct gen *g, const struct fetch_op *op, label_t loop)
{
	struct emit *e = &g->e;

	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_rm(e, OP_STORE, G_CX, MEM(G_SP, FRAME_INDEX));
	emit_alu(e, 0, ALU_CMP, G_CX, op->count);
	emit_jcc(e, COND_B, loop);
}

static void fault(struct gen *g, uint32_t at, uint32_t n)
{
	end_offset(&g->e);
	for (uint32_t i = 0; i < n; i++)
		emit_rm(&g->e, OP_STORE, G_AX, gen64_data_at(at + 4 * i));
}

const struct gen_strings gen64_strings = {
	.start = start,
	.begin = string_begins,
	.end = string_ends,
	.copy = copy_string,
	.array = array,
	.element = element,
	.next = next_element,
	.fault = fault,
};
