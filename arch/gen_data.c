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

/* How the next check's memory is read, @op of the arg that begins with @source. */
static void read_by(struct gen *g, const struct fetch_op *source, const struct fetch_op *op,
		    struct gen_read read)
{
	read.store = detour_store_of(op);
	if (detour_is_near(source, op, g->isa->numbers->sp, g->isa->bits / 8))
		read.kind = GEN_READ_NEAR;
	g->read = read;
}

/* All that comes in front of the store, to the accumulator. What cannot be read on the way may lead to @fault. */
static void put_address(struct gen *g, const struct fetch_op *op, label_t fault)
{
	const struct gen_numbers *isa = g->isa->numbers;
	const struct fetch_op *source = op;

	for (; !detour_is_store(op); op++) {
		if (op->code == FETCH_DEREF) {
			read_by(g, source, op,
				(struct gen_read){ .kind = GEN_READ_WORD, .fault = fault });
			isa->deref(g, op, (uint64_t)op->imm);
			continue;
		}
		isa->source(g, op);
		if (op->code != FETCH_STACK)
			continue;
		read_by(g, source, op, (struct gen_read){ .kind = GEN_READ_STACK });
		isa->deref(g, op, g->isa->bits / 8 * (uint64_t)op->imm);
	}
}

void gen_value(struct gen *g, const struct fetch_op *op)
{
	const struct gen_numbers *isa = g->isa->numbers;
	const struct fetch_op *store = detour_store_of(op);
	label_t fault = emit_label(&g->e);

	if (store->code == FETCH_STORE_MEM) {
		put_address(g, op, fault);
		read_by(g, op, store, (struct gen_read){ .kind = GEN_READ_VALUE });
		isa->load(g, store);
	} else if (is_plain(op)) {
		isa->plain(g, op, store);
	} else {
		put_address(g, op, fault);
		isa->address(g, store);
	}
	emit_set(&g->e, fault);
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

static void copy_array(struct gen *g, const struct fetch_op *store)
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

/* What is at @fault, and at @strings, is out of the way. */
static void put_fault(struct gen *g, label_t fault, label_t strings,
		      const struct fetch_op *store)
{
	const struct gen_fault what = { .at = fault,
					.strings = strings,
					.next = emit_here(&g->e),
					.fail = g->fail,
					.store = store,
					.probe = g->probe };

	if (g->plan->reads)
		gen_fault(g, &what);
}

static void put_array(struct gen *g, const struct fetch_op *op, const struct fetch_op *store)
{
	label_t fault = emit_label(&g->e);

	put_address(g, op, fault);
	read_by(g, op, store, (struct gen_read){ .kind = GEN_READ_ARRAY });
	copy_array(g, store);
	put_fault(g, fault, fault, store);
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
	g->read = (struct gen_read){ .kind = GEN_READ_STRING, .store = store };
	isa->copy(g, (uint64_t)store->imm, detour_cell(g->probe, store));
	isa->end(g, store);
}

static void put_strings(struct gen *g, const struct fetch_op *store, label_t strings)
{
	const struct gen_strings *isa = g->isa->strings;
	label_t loop;

	g->read =
		(struct gen_read){ .kind = GEN_READ_STRINGS, .store = store, .done = strings };
	isa->array(g, store);
	g->read = (struct gen_read){ .kind = GEN_READ_NOT };
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
	label_t fault, strings;

	switch ((enum fetch_opcode)store->code) {
	case FETCH_STORE_COMM:
		break; /* such a program is not for detours: detour_stops() */
	case FETCH_STORE_FAULT:
		g->isa->strings->fault(g, store->at, detour_n_elements(store));
		break;
	case FETCH_STORE_STRING:
		fault = emit_label(&g->e);
		strings = emit_label(&g->e);
		put_address(g, op, fault);
		if (store->count)
			put_strings(g, store, strings);
		else
			put_string(g, store);
		put_fault(g, fault, strings, store);
		break;
	case FETCH_STORE_MEM:
		if (store->count) {
			put_array(g, op, store);
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

/* --- out of the way ------------------------------------------------------------------------ */

/* By calls of the kernel. A pointer that cannot be read ends the array. */
static void put_strings_read(struct gen *g, const struct gen_fault *fault)
{
	const struct gen_strings *isa = g->isa->strings;
	label_t loop, rest = emit_label(&g->e);

	emit_set(&g->e, fault->strings);
	loop = emit_here(&g->e);
	isa->begin(g, fault->store);
	g->isa->loads->element(g, rest);
	g->isa->loads->string(g);
	isa->end(g, fault->store);
	isa->next(g, fault->store, loop);
	g->isa->jump(&g->e, fault->next);
	emit_set(&g->e, rest);
	loop = emit_here(&g->e);
	isa->begin(g, fault->store);
	isa->next(g, fault->store, loop);
	g->isa->jump(&g->e, fault->next);
}

/* Nothing of the arg can be read. A string, of several, is then as long as all that come behind it: for the tracer, or missed. */
static void put_fault_data(struct gen *g, const struct gen_fault *fault)
{
	const struct fetch_op *store = fault->store;
	bool is_string = store->code == FETCH_STORE_STRING;

	emit_set(&g->e, fault->at);
	if (is_string && !store->count && g->probe->program->has_strings > 1) {
		g->isa->jump(&g->e, fault->fail);
		return;
	}
	if (is_string)
		g->isa->strings->fault(g, store->at, detour_n_elements(store));
	else
		g->isa->numbers->zero(g, store);
	g->isa->jump(&g->e, fault->next);
}

void gen_put_faults(struct gen *g)
{
	for (size_t i = 0; i < g->n_faults; i++) {
		const struct gen_fault *fault = &g->faults[i];

		g->probe = fault->probe;
		g->fail = fault->fail;
		put_fault_data(g, fault);
		if (fault->store->code == FETCH_STORE_STRING && fault->store->count)
			put_strings_read(g, fault);
	}
}
