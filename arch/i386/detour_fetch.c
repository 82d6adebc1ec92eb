/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A record's data: fetch programs as machine code. The result is that of the interpreter
 * (engine/fetch/run.c), or a jump to gen.fail: whatever cannot be read, or read whole,
 * is for the interpreter.
 */

#include "arch/i386/gen.h"
#include "arch/i386/i386.h"

/* Arrays of up to that many words are copied without a loop. */
#define UNROLL 4

#define WORD 4u

const char *i386_detour_check(const struct fetch_program *program)
{
	return detour_check_program(program, gen32_check_source);
}

/* --- values and arrays ------------------------------------------------------------------ */

/* From a register right into the record. */
static bool store_plain(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = op + 1;
	int live = op->code == FETCH_REG ? gen32_live(g, op->reg) : G_NONE;

	if (live == G_NONE || store->code != FETCH_STORE_VALUE || store->bit_width ||
	    store->size != 4)
		return false;
	emit_rm(&g->e, OP_STORE, live, gen32_data_at(store->at));
	return true;
}

static void store_value(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = detour_store_of(op);

	if (store_plain(g, op))
		return;
	gen32_value(g, op);
	emit_rm(&g->e, gen32_store_op(store->size), G_AX, gen32_data_at(store->at));
	if (store->size == 8)
		emit_rm(&g->e, OP_STORE, G_DX, gen32_data_at(store->at + 4));
}

static void copy_piece(struct gen *g, int32_t disp, const struct fetch_op *op, uint32_t at,
		       unsigned size)
{
	gen32_load(g, gen32_load_op(size), G_AX, MEM(R_ACC, disp + (int32_t)at));
	emit_rm(&g->e, gen32_store_op(size), G_AX, gen32_data_at(op->at + at));
}

/* @n elements of @size bytes, bit-fields cut. */
static void copy_loop(struct gen *g, int32_t disp, const struct fetch_op *op, unsigned size,
		      uint32_t n)
{
	uint8_t scale = (uint8_t)(size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3);
	struct emit_mem from = MEM_X(R_ACC, G_CX, scale, disp);
	struct emit_mem to = MEM_X(R_RECORD, G_CX, scale, gen32_data_at(op->at).disp);
	struct emit *e = &g->e;
	label_t loop;

	emit_rr(e, OP_XOR, G_CX, G_CX);
	loop = emit_here(e);
	gen32_load(g, gen32_load_op(size), G_AX, from);
	if (size == 8)
		gen32_load(g, OP_LOAD, G_DX, gen32_upper(from));
	if (op->bit_width)
		gen32_cut_bits(e, op);
	emit_rm(e, gen32_store_op(size), G_AX, to);
	if (size == 8)
		emit_rm(e, OP_STORE, G_DX, gen32_upper(to));
	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_alu(e, 0, ALU_CMP, G_CX, (int32_t)n);
	emit_jcc(e, COND_B, loop);
}

static void store_array(struct gen *g, const struct fetch_op *op)
{
	uint32_t len = op->size * detour_n_elements(op), at = 0;
	int32_t disp = gen32_disp((uint64_t)op->imm);

	gen32_check(g, disp, len, detour_cell(g->probe, op));
	if (op->bit_width) {
		copy_loop(g, disp, op, op->size, detour_n_elements(op));
		return;
	}
	if (len / WORD > UNROLL) {
		copy_loop(g, disp, op, WORD, len / WORD);
		at = len / WORD * WORD;
	}
	for (unsigned size = WORD; size; size /= 2)
		for (; len - at >= size; at += size)
			copy_piece(g, disp, op, at, size);
}

/* --- all of it --------------------------------------------------------------------------- */

static void store_arg(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = detour_store_of(op);

	switch ((enum fetch_opcode)store->code) {
	case FETCH_STORE_COMM:
		gen32_comm(g, store);
		break;
	case FETCH_STORE_FAULT:
		gen32_fault(g, store);
		break;
	case FETCH_STORE_STRING:
		gen32_address(g, op);
		gen32_string(g, store);
		break;
	case FETCH_STORE_MEM:
		if (store->count) {
			gen32_address(g, op);
			store_array(g, store);
			break;
		}
		/* fall through */
	default:
		store_value(g, op);
		break;
	}
}

void gen32_data(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;

	if (program->has_strings) {
		emit_rm(&g->e, OP_LEA, G_AX, gen32_data_at(program->fixed_size));
		emit_rm(&g->e, OP_STORE, G_AX, MEM(G_SP, FRAME_END));
	}
	for (const struct fetch_op *op = program->ops; op < detour_end_of(program);
	     op = detour_store_of(op) + 1)
		store_arg(g, op);
}
