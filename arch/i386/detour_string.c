/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings in a record. */

#include "arch/i386/gen.h"

#define WORD 4

static void start(struct gen *g, uint32_t at)
{
	emit_rm(&g->e, OP_LEA, G_AX, gen32_data_at(at));
	emit_rm(&g->e, OP_STORE, G_AX, MEM(G_SP, FRAME_END));
}

/* The word of a string; an element of an array has its number in ecx. */
static struct emit_mem word_of(struct gen *g, const struct fetch_op *op)
{
	if (op->count == 0)
		return gen32_data_at(op->at);
	emit_rm(&g->e, OP_LOAD, G_CX, MEM(G_SP, FRAME_INDEX));
	return MEM_X(R_RECORD, G_CX, 2, RECORD_DATA + (int32_t)op->at);
}

/* eax = offset of FRAME_END in the data */
static void end_offset(struct emit *e)
{
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_END));
	emit_rr(e, OP_SUB, G_AX, R_RECORD);
	emit_alu(e, 0, ALU_SUB, G_AX, RECORD_DATA);
}

static void string_begins(struct gen *g, const struct fetch_op *op)
{
	end_offset(&g->e);
	emit_rm(&g->e, OP_STORE, G_AX, word_of(g, op));
}

/* Its length is what FRAME_END has grown by. */
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

/*
 * Where in the word eax lies the first NUL? To @none if nowhere, else edx: its byte.
 * w - 0x01.. & ~w & 0x80.. has the high bit of the first byte that is 0.
 */
static void find_nul(struct gen *g, label_t none)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_DX, MEM(G_AX, -0x01010101));
	emit_rr(e, 0xf7, 2, G_AX); /* not */
	emit_rr(e, OP_AND, G_DX, G_AX);
	emit_alu(e, 0, ALU_AND, G_DX, (int32_t)0x80808080);
	emit_jcc(e, COND_E, none);
	emit_rr(e, OP_BSF, G_DX, G_DX);
	emit_shift(e, 0, SHIFT_R, G_DX, 3);
}

/* The last bytes in front of a limit, ecx of them; one must be the NUL. */
static void copy_tail(struct gen *g)
{
	struct emit *e = &g->e;
	label_t loop;

	emit_alu(e, 0, ALU_ADD, G_CX, WORD);
	loop = emit_here(e);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_B, g->fail);
	gen32_load(g, OP_MOVZX8, G_AX, MEM(R_ACC, 0));
	emit_rm(e, OP_STORE8, G_AX, MEM(R_END, 0));
	emit_alu(e, 0, ALU_ADD, R_ACC, 1);
	emit_alu(e, 0, ALU_ADD, R_END, 1);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_NE, loop);
}

/* Copy the string at R_ACC + @imm to FRAME_END, up to its NUL. */
static void copy_string(struct gen *g, uint64_t imm, uint32_t cell)
{
	int32_t disp = gen32_disp(imm);
	int32_t limit = RECORD_DATA + DATA_MAX(g->probe->is_return);
	label_t loop, next, tail, done, in_range;
	struct emit *e = &g->e;

	tail = emit_label(e);
	next = emit_label(e);
	done = emit_label(e);
	in_range = emit_label(e);
	gen32_check(g, disp, 1, cell);
	emit_rm(e, OP_LOAD, R_END, MEM(G_SP, FRAME_END));
	/* ecx: how many bytes there may be, in the range and in the record */
	emit_rr(e, OP_SUB, G_AX, G_CX);
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_LEA, G_CX, MEM(R_RECORD, limit));
	emit_rr(e, OP_SUB, G_CX, R_END);
	emit_rr(e, OP_CMP, G_CX, G_AX);
	emit_jcc(e, COND_BE, in_range);
	emit_rr(e, OP_LOAD, G_CX, G_AX);
	emit_set(e, in_range);
	if (disp)
		emit_rm(e, OP_LEA, R_ACC, MEM(R_ACC, disp));
	loop = emit_here(e);
	emit_alu(e, 0, ALU_SUB, G_CX, WORD);
	emit_jcc(e, COND_B, tail);
	gen32_load(g, OP_LOAD, G_AX, MEM(R_ACC, 0));
	emit_rm(e, OP_STORE, G_AX, MEM(R_END, 0));
	find_nul(g, next);
	emit_rm(e, OP_LEA, R_END, MEM_X(R_END, G_DX, 0, 1));
	emit_jmp(e, done);
	emit_set(e, next);
	emit_alu(e, 0, ALU_ADD, R_ACC, WORD);
	emit_alu(e, 0, ALU_ADD, R_END, WORD);
	emit_jmp(e, loop);
	emit_set(e, tail);
	copy_tail(g);
	emit_set(e, done);
	emit_rm(e, OP_STORE, R_END, MEM(G_SP, FRAME_END));
}

static void array(struct gen *g, const struct fetch_op *op)
{
	int32_t disp = gen32_disp((uint64_t)op->imm);
	struct emit *e = &g->e;

	gen32_check(g, disp, WORD * op->count, detour_cell(g->probe, op));
	emit_rm(e, OP_LEA, R_ACC, MEM(R_ACC, disp));
	emit_rm(e, OP_STORE, R_ACC, MEM(G_SP, FRAME_ARRAY));
	emit_store_imm(e, 0, MEM(G_SP, FRAME_INDEX), 0);
}

/* Its number is in ecx since string_begins(). */
static void element(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, R_ACC, MEM(G_SP, FRAME_ARRAY));
	gen32_load(g, OP_LOAD, R_ACC, MEM_X(R_ACC, G_CX, 2, 0));
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
		emit_rm(&g->e, OP_STORE, G_AX, gen32_data_at(at + 4 * i));
}

const struct gen_strings gen32_strings = {
	.start = start,
	.begin = string_begins,
	.end = string_ends,
	.copy = copy_string,
	.array = array,
	.element = element,
	.next = next_element,
	.fault = fault,
};
