/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A record's data: fetch programs as machine code. The result is that of the interpreter
 * (engine/fetch/run.c), or a jump to gen.fail: whatever cannot be read, or read whole,
 * is for the interpreter.
 */

#include "arch/gen.h"

/* Arrays of up to that many words are copied without a loop. */
#define UNROLL 4

/* --- numbers ------------------------------------------------------------------------- */

/* A source that needs no memory, right into the store. */
static bool is_plain(const struct fetch_op *op)
{
	return op->code != FETCH_STACK && detour_is_store(op + 1);
}

/* All that comes in front of the store, to the accumulator. */
static void put_address(struct gen *g, const struct fetch_op *op)
{
	const struct gen_numbers *isa = g->isa->numbers;

	for (; !detour_is_store(op); op++) {
		if (op->code == FETCH_DEREF) {
			isa->deref(g, op, (uint64_t)op->imm);
			continue;
		}
		isa->source(g, op);
		if (op->code == FETCH_STACK)
			isa->deref(g, op, g->isa->bits / 8 * (uint64_t)op->imm);
	}
}

void gen_value(struct gen *g, const struct fetch_op *op)
{
	const struct gen_numbers *isa = g->isa->numbers;
	const struct fetch_op *store = detour_store_of(op);

	if (store->code == FETCH_STORE_MEM) {
		put_address(g, op);
		isa->load(g, store);
	} else if (is_plain(op)) {
		isa->plain(g, op, store);
	} else {
		put_address(g, op);
		isa->address(g, store);
	}
	if (store->bit_width)
		isa->cut_bits(&g->e, store);
	if (store->bit_signed)
		isa->cut_size(&g->e, store->size);
}

static void put_value(struct gen *g, const struct fetch_op *op)
{
	const struct gen_numbers *isa = g->isa->numbers;
	const struct fetch_op *store = detour_store_of(op);

	if (op->code == FETCH_REG && op + 1 == store && store->code == FETCH_STORE_VALUE &&
	    !store->bit_width && isa->store_reg(g, op->reg, store))
		return;
	gen_value(g, op);
	isa->store(g, store);
}

static void put_array(struct gen *g, const struct fetch_op *store)
{
	uint32_t n = detour_n_elements(store), len = store->size * n, at = 0;
	const struct gen_numbers *isa = g->isa->numbers;
	int32_t disp = isa->check_array(g, store, len);
	unsigned word = g->isa->bits / 8;

	if (store->bit_width) {
		isa->copy_loop(g, disp, store, store->size, n);
		return;
	}
	if (len / word > UNROLL) {
		isa->copy_loop(g, disp, store, word, len / word);
		at = len / word * word;
	}
	for (unsigned size = word; size; size /= 2)
		for (; len - at >= size; at += size)
			isa->copy_piece(g, disp, store, at, size);
}

/* --- strings ------------------------------------------------------------------------- */

/*
 * Text that ends with its NUL goes behind what has a fixed size, in whose word stand its place
 * and length. What has no end in time is for the interpreter.
 */
static void put_string(struct gen *g, const struct fetch_op *store)
{
	const struct gen_strings *isa = g->isa->strings;

	isa->begin(g, store);
	isa->copy(g, (uint64_t)store->imm, detour_cell(g->probe, store));
	isa->end(g, store);
}

static void put_strings(struct gen *g, const struct fetch_op *store)
{
	const struct gen_strings *isa = g->isa->strings;
	label_t loop;

	isa->array(g, store);
	loop = emit_here(&g->e);
	isa->begin(g, store);
	isa->element(g);
	isa->copy(g, 0, (detour_cell(g->probe, store) + 1) % RING_CELLS);
	isa->end(g, store);
	isa->next(g, store, loop);
}

/* --- all of it --------------------------------------------------------------------------- */

static void put_arg(struct gen *g, const struct fetch_op *op)
{
	const struct fetch_op *store = detour_store_of(op);

	switch ((enum fetch_opcode)store->code) {
	case FETCH_STORE_COMM:
		break; /* such a program is not for detours: detour_stops() */
	case FETCH_STORE_FAULT:
		g->isa->strings->fault(g, store->at, detour_n_elements(store));
		break;
	case FETCH_STORE_STRING:
		put_address(g, op);
		(store->count ? put_strings : put_string)(g, store);
		break;
	case FETCH_STORE_MEM:
		if (store->count) {
			put_address(g, op);
			put_array(g, store);
			break;
		}
		/* fall through */
	default:
		put_value(g, op);
		break;
	}
}

void gen_data(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;

	if (program->has_strings)
		g->isa->strings->start(g, program->fixed_size);
	for (const struct fetch_op *op = program->ops; op < detour_end_of(program);
	     op = detour_store_of(op) + 1)
		put_arg(g, op);
}
