/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings in a record. */

#include "arch/arm64/gen.h"

/* A byte of each: w - ones & ~w & tops has the top of the first byte that is 0. */
#define ONES   0x0101010101010101ULL
#define TOPS   0x8080808080808080ULL
#define R_ONES R_ACC /* while text is copied */

static void start(struct gen *g, uint32_t at)
{
	a64_add(&g->e, R_END, R_RECORD, make_data_at(at).disp);
}

/* The word of a string, by way of R_B if it is an element of an array. */
static struct emit_mem word_of(struct gen *g, const struct fetch_op *op)
{
	struct emit *e = &g->e;

	if (op->count == 0)
		return make_data_at(op->at);
	a64_ldst(e, OP_LDR64, R_B, MEM(G_SP, FRAME_INDEX));
	a64_op(e, OP_ADD | OP_X | op_lsl(2), R_B, R_RECORD, R_B);
	return MEM(R_B, RECORD_DATA + (int64_t)op->at);
}

/* R_A = offset of R_END in the data */
static void end_offset(struct emit *e)
{
	a64_op(e, OP_SUB | OP_X, R_A, R_END, R_RECORD);
	a64_add(e, R_A, R_A, -RECORD_DATA);
}

static void string_begins(struct gen *g, const struct fetch_op *op)
{
	end_offset(&g->e);
	a64_ldst(&g->e, OP_STR32, R_A, word_of(g, op));
}

/* Its length is what R_END has grown by. */
static void string_ends(struct gen *g, const struct fetch_op *op)
{
	struct emit *e = &g->e;
	struct emit_mem word;

	end_offset(e);
	word = a64_reach(e, OP_LDR32, word_of(g, op));
	a64_ldst(e, OP_LDR32, R_C, word);
	a64_op(e, OP_SUB, R_A, R_A, R_C);
	a64_op(e, OP_ORR | op_lsl(16), R_A, R_C, R_A);
	a64_ldst(e, OP_STR32, R_A, word);
}

/* Where in the word R_A lies the first NUL? To @none if nowhere, else R_C: its byte. */
static void find_nul(struct gen *g, label_t none)
{
	struct emit *e = &g->e;

	a64_op(e, OP_SUB | OP_X, R_C, R_A, R_ONES);
	a64_op(e, OP_BIC | OP_X, R_C, R_C, R_A);
	a64_logic(e, OP_ANDS | OP_X, R_C, R_C, TOPS);
	a64_bcond(e, COND_EQ, none);
	a64_op(e, OP_RBIT | OP_X, R_C, R_C, 0);
	a64_op(e, OP_CLZ | OP_X, R_C, R_C, 0);
	a64_lsr(e, OP_X, R_C, R_C, 3);
}

/* R_END is behind the NUL in byte R_C of the word there. */
static void end_behind(struct emit *e)
{
	a64_op(e, OP_ADD | OP_X, R_END, R_END, R_C);
	a64_add(e, R_END, R_END, 1);
}

/* The last bytes in front of a limit, R_B of them and 8 less; one must be the NUL. */
static void copy_tail(struct gen *g)
{
	struct emit *e = &g->e;
	label_t loop;

	a64_add(e, R_B, R_B, 8);
	loop = emit_here(e);
	a64_subs(e, R_B, R_B, 1);
	a64_bcond(e, COND_LO, g->fail);
	make_load(g, OP_LDR8, R_A, MEM(R_ADDRESS, 0));
	a64_ldst(e, OP_STR8, R_A, MEM(R_END, 0));
	a64_add(e, R_ADDRESS, R_ADDRESS, 1);
	a64_add(e, R_END, R_END, 1);
	a64_cbnz(e, 0, R_A, loop);
}

/* Copy the string at R_ACC + @imm to R_END, up to its NUL. */
static void copy_string(struct gen *g, uint64_t imm, uint32_t cell)
{
	int64_t limit = RECORD_DATA + DATA_MAX(g->probe->kind);
	label_t loop, next, tail, done;
	struct emit *e = &g->e;

	tail = emit_label(e);
	next = emit_label(e);
	done = emit_label(e);
	make_check(g, (int64_t)imm, 1, cell);
	/* R_B: how many bytes there may be, in the range and in the record */
	a64_op(e, OP_SUB | OP_X, R_B, R_B, R_C);
	a64_add(e, R_B, R_B, 1);
	a64_add(e, R_A, R_RECORD, limit);
	a64_op(e, OP_SUB | OP_X, R_A, R_A, R_END);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_B, R_A);
	a64_csel(e, COND_HI, R_B, R_A, R_B);
	a64_imm(e, R_ONES, ONES);
	loop = emit_here(e);
	a64_subs(e, R_B, R_B, 8);
	a64_bcond(e, COND_LO, tail);
	make_load(g, OP_LDR64, R_A, MEM(R_ADDRESS, 0));
	a64_ldst(e, OP_STR64, R_A, MEM(R_END, 0));
	find_nul(g, next);
	end_behind(e);
	a64_b(e, done);
	emit_set(e, next);
	a64_add(e, R_ADDRESS, R_ADDRESS, 8);
	a64_add(e, R_END, R_END, 8);
	a64_b(e, loop);
	emit_set(e, tail);
	copy_tail(g);
	emit_set(e, done);
}

static void array(struct gen *g, const struct fetch_op *op)
{
	struct emit *e = &g->e;

	make_check(g, op->imm, 8u * op->count, detour_cell(g->probe, op));
	a64_ldst(e, OP_STR64, R_ADDRESS, MEM(G_SP, FRAME_ARRAY));
	a64_ldst(e, OP_STR64, G_ZR, MEM(G_SP, FRAME_INDEX));
}

static void element(struct gen *g)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_B, MEM(G_SP, FRAME_INDEX));
	a64_ldst(e, OP_LDR64, R_ACC, MEM(G_SP, FRAME_ARRAY));
	make_load(g, OP_LDR64, R_ACC, MEM_X(R_ACC, R_B));
}

static void next_element(struct gen *g, const struct fetch_op *op, label_t loop)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_B, MEM(G_SP, FRAME_INDEX));
	a64_add(e, R_B, R_B, 1);
	a64_ldst(e, OP_STR64, R_B, MEM(G_SP, FRAME_INDEX));
	a64_cmp(e, OP_X, R_B, op->count);
	a64_bcond(e, COND_LO, loop);
}

static void fault(struct gen *g, uint32_t at, uint32_t n)
{
	end_offset(&g->e);
	for (uint32_t i = 0; i < n; i++)
		a64_ldst(&g->e, OP_STR32, R_A, make_data_at(at + 4 * i));
}

const struct gen_strings make_strings = {
	.start = start,
	.begin = string_begins,
	.end = string_ends,
	.copy = copy_string,
	.array = array,
	.element = element,
	.next = next_element,
	.fault = fault,
};
