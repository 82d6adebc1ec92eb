/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Parsed args in, a flat fetch program out. */

#include "engine/fetch/fetch.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/fetch/scratch.h"
#include "engine/spec/entry.h"
#include "engine/spec/probe.h"

/* A source, up to SPEC_DEREF_MAX dereferences of which the last may be the store, a store. */
#define OPS_PER_ARG_MAX (SPEC_DEREF_MAX + 2)
_Static_assert(SPEC_ENTRY_MAX == ENTRY_VALUES_MAX, "each has its place");

/* What tells whether it could be read: see compile_reads(). */
#define OPS_OF_READS_MAX (2 * (SPEC_DEREF_MAX + 3) + SPEC_DEREF_MAX + 1)

static bool is_vector(const struct spec_arg *arg)
{
	return arg->source == SPEC_REG && !arg->is_sum && arg->reg >= SPEC_REG_VECTOR;
}

/* What runs where the arg is stored begins with these: all but what the entry has kept. */
static unsigned n_derefs(const struct spec_arg *arg)
{
	return arg->n_derefs - arg->n_entry_derefs;
}

static struct fetch_op source_op(const struct spec_arg *arg)
{
	if (arg->is_sum)
		return (struct fetch_op){
			.code = FETCH_SUM,
			.reg = arg->reg,
			.index = arg->index_reg,
			.shift = arg->index_shift,
			.imm = arg->addend,
		};
	if (is_vector(arg))
		return (struct fetch_op){
			.code = FETCH_VECTOR,
			.reg = (uint16_t)(arg->reg - SPEC_REG_VECTOR),
		};
	switch (arg->source) {
	case SPEC_REG:
	case SPEC_RETVAL:
		return (struct fetch_op){ .code = FETCH_REG, .reg = arg->reg };
	case SPEC_STACK:
		return (struct fetch_op){ .code = FETCH_STACK, .imm = (uint32_t)arg->value };
	case SPEC_COMM:
		return (struct fetch_op){ .code = FETCH_COMM };
	case SPEC_FOFF:
		return (struct fetch_op){ .code = FETCH_FOFF, .imm = (int64_t)arg->value };
	case SPEC_DURATION:
		return (struct fetch_op){ .code = FETCH_DURATION };
	case SPEC_IMM:
	case SPEC_IMM_STRING:
		break;
	}
	return (struct fetch_op){ .code = FETCH_IMM, .imm = (int64_t)arg->value };
}

/*
 * Which store ends the arg. An immediate may be the address of a string, but an
 * array of strings there has no dereference that could be repeated: the kernel
 * never stores it. The text of \"TEXT" is lost to a uprobe in the kernel, which
 * takes its own buffer for an address of the program.
 */
static enum fetch_opcode store_code(const struct spec_arg *arg)
{
	if (arg->source == SPEC_COMM)
		return FETCH_STORE_COMM;
	if (arg->source == SPEC_IMM_STRING)
		return FETCH_STORE_FAULT;
	if (arg->type.format == SPEC_STRING)
		return n_derefs(arg) == 0 && arg->type.count > 0 ? FETCH_STORE_FAULT
								 : FETCH_STORE_STRING;
	if (arg->type.is_x87)
		return FETCH_STORE_X87;
	return n_derefs(arg) > 0 ? FETCH_STORE_MEM : FETCH_STORE_VALUE;
}

static bool regs_are_sound(const struct spec_arg *arg)
{
	if (arg->is_sum)
		return arg->source == SPEC_REG && arg->index_shift <= 3 &&
		       (arg->reg < UBP_REGS_MAX || arg->reg == SPEC_NO_REG) &&
		       (arg->index_reg < UBP_REGS_MAX || arg->index_reg == SPEC_NO_REG);
	if (is_vector(arg))
		return arg->reg - SPEC_REG_VECTOR < UBP_VECTORS;
	return (arg->source != SPEC_REG && arg->source != SPEC_RETVAL) ||
	       arg->reg < UBP_REGS_MAX;
}

/* @at: where the arg must be, since args are packed. */
static bool arg_is_sound(const struct spec_arg *arg, enum probe_kind kind, size_t at)
{
	const struct spec_type *t = &arg->type;
	bool is_string = t->format == SPEC_STRING;

	if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
		return false;
	if (t->count > SPEC_ARRAY_MAX || arg->n_derefs > SPEC_DEREF_MAX)
		return false;
	if (arg->at != at)
		return false;
	if (!regs_are_sound(arg))
		return false;
	if (t->is_x87 && (t->size != 8 || t->count || n_derefs(arg) == 0 || arg->at_entry))
		return false;
	if (arg->source == SPEC_COMM || arg->source == SPEC_IMM_STRING)
		return is_string && t->size == 4 && arg->n_derefs == 0 && t->count == 0;
	if (arg->source == SPEC_DURATION && (arg->n_derefs > 0 || kind != PROBE_RETURN))
		return false;
	if (arg->n_entry_derefs > arg->n_derefs || (arg->n_entry_derefs && !arg->at_entry) ||
	    (arg->at_entry && (kind != PROBE_RETURN || arg->entry_number >= SPEC_ENTRY_MAX)))
		return false;
	if ((arg->len_arg || arg->len_max) && (!is_string || t->count))
		return false;
	if (is_string)
		return t->size == 4 &&
		       (n_derefs(arg) > 0 || (arg->source == SPEC_IMM && !arg->at_entry));
	return n_derefs(arg) > 0 || t->count == 0;
}

/* All but the outermost dereference, which is the store's own. */
static struct fetch_op *compile_address(struct fetch_op *op, const struct spec_arg *arg)
{
	*op++ = arg->at_entry
			? (struct fetch_op){ .code = FETCH_ENTRY, .reg = arg->entry_number }
			: source_op(arg);
	for (size_t i = arg->n_entry_derefs; i + 1 < arg->n_derefs; i++)
		*op++ = (struct fetch_op){ .code = FETCH_DEREF, .imm = arg->deref[i] };
	return op;
}

/* Is its number there only when memory was read? */
static bool needs_memory(const struct spec_arg *arg)
{
	return n_derefs(arg) > 0 || (arg->source == SPEC_STACK && !arg->at_entry);
}

/* How long the text is, if that is told. */
static void compile_length(struct fetch_op *store, const struct spec_probe *probe,
			   const struct spec_arg *arg)
{
	const struct spec_arg *told = arg->len_arg ? &probe->args[arg->len_arg - 1] : NULL;

	if (!told && !arg->len_max)
		return;
	store->bit_width = arg->type.is_dump ? FETCH_DUMP : FETCH_AT_MOST;
	store->index = told ? (uint16_t)told->at : arg->len_max;
	store->shift = told ? told->type.size : 0;
	store->bit_signed = told && told->type.format == SPEC_SIGNED;
	store->bit_offset = told && needs_memory(told);
	store->read_at = told && told->at_entry ? (uint16_t)told->read_at : 0;
}

static void compile_arg(struct fetch_program *program, const struct spec_probe *probe,
			const struct spec_arg *arg)
{
	struct fetch_op *op = &program->ops[program->n_ops];
	const struct spec_type *t = &arg->type;
	enum fetch_opcode code = store_code(arg);
	struct fetch_op store = {
		.code = (uint8_t)code,
		.size = t->size,
		.bit_width = t->bit_width,
		.bit_offset = t->bit_offset,
		.bit_signed = t->bit_width && t->format == SPEC_SIGNED,
		.count = t->count,
		.at = arg->at,
	};

	if (n_derefs(arg) > 0)
		store.imm = arg->deref[arg->n_derefs - 1];
	if (t->format == SPEC_STRING) {
		store.reg = (uint16_t)program->has_strings;
		program->has_strings += t->count ? t->count : 1;
		compile_length(&store, probe, arg);
	}
	if (code == FETCH_STORE_COMM)
		program->needs_comm = 1;
	if (arg->source == SPEC_DURATION)
		program->needs_duration = 1;
	if (is_vector(arg) && !arg->at_entry)
		program->needs_vectors = 1;
	op = compile_address(op, arg);
	*op++ = store;
	program->n_ops = (uint32_t)(op - program->ops);
}

/* 1 at @at if the element that begins @behind the first one can be read whole. */
static struct fetch_op *compile_read(struct fetch_op *op, const struct spec_arg *arg,
				     size_t behind, uint32_t at)
{
	op = compile_address(op, arg);
	if (n_derefs(arg) > 0)
		*op++ = (struct fetch_op){ .code = FETCH_DEREF,
					   .size = arg->type.size,
					   .imm = (int64_t)arg->deref[arg->n_derefs - 1] +
						  (int64_t)behind };
	*op++ = (struct fetch_op){ .code = FETCH_IMM, .imm = 1 };
	*op++ = (struct fetch_op){ .code = FETCH_STORE_VALUE, .size = 1, .at = at };
	return op;
}

/*
 * What struct spec_arg.read_at says. An array lies on two pages at most, so that its first and its last element tell which of them are there,
 * and its address, which of the others are on which.
 */
static void compile_reads(struct fetch_program *program, const struct spec_arg *arg)
{
	struct fetch_op *op = &program->ops[program->n_ops];

	/* The last 8 bytes of ten: where only the first two are, they are on the page before. */
	op = compile_read(op, arg, arg->type.is_x87 ? FETCH_X87_SIZE - 8 : 0, arg->read_at);
	if (arg->type.count) {
		op = compile_read(op, arg, arg->type.size * (arg->type.count - 1u),
				  arg->read_at + 1);
		op = compile_address(op, arg);
		*op++ = (struct fetch_op){ .code = FETCH_STORE_VALUE,
					   .size = 2,
					   .at = arg->read_at + 2 };
	}
	program->n_ops = (uint32_t)(op - program->ops);
}

int fetch_compile(const struct spec_probe *probe, struct fetch_program **ret_program,
		  struct ubp_err *err)
{
	struct fetch_program *program;
	size_t at = 0, n_ops = 0;

	for (size_t i = 0; i < probe->n_args; i++) {
		const struct spec_arg *arg = &probe->args[i];

		if (!arg_is_sound(arg, probe->kind, at) || arg->len_arg > i)
			return ubp_fail(err, EINVAL, "fetch arg '%s' can't be compiled",
					arg->name);
		at += (size_t)arg->type.size * (arg->type.count ? arg->type.count : 1);
	}
	for (size_t i = 0; i < probe->n_args; i++) {
		at += spec_arg_read_size(&probe->args[i]);
		n_ops += OPS_PER_ARG_MAX + (probe->args[i].read_at ? OPS_OF_READS_MAX : 0);
	}
	if (probe->n_args > SPEC_ARGS_MAX || at > FETCH_FIXED_MAX || at != probe->fixed_size)
		return ubp_fail(err, EINVAL, "fetch args don't fit into a record");
	program = calloc(1, sizeof(*program) + n_ops * sizeof(program->ops[0]));
	if (!program)
		return ubp_fail(err, ENOMEM, "out of memory");
	program->fixed_size = (uint32_t)probe->fixed_size;
	program->offset = probe->offset;
	for (size_t i = 0; i < probe->n_args; i++)
		compile_arg(program, probe, &probe->args[i]);
	for (size_t i = 0; i < probe->n_args; i++)
		if (probe->args[i].read_at)
			compile_reads(program, &probe->args[i]);
	*ret_program = program;
	return 0;
}

/* --- what is kept of the entry -------------------------------------------------------- */

/* The first arg with value @number, or NULL. */
static const struct spec_arg *find_kept(const struct spec_probe *probe, unsigned number)
{
	for (size_t i = 0; i < probe->n_args; i++)
		if (probe->args[i].at_entry && probe->args[i].entry_number == number)
			return &probe->args[i];
	return NULL;
}

static struct fetch_op *compile_entry_value(struct fetch_op *op, const struct spec_arg *arg)
{
	*op = source_op(arg);
	op->count = op->code == FETCH_STACK; /* a fault is no 0 */
	op++;
	for (size_t i = 0; i < arg->n_entry_derefs; i++)
		*op++ = (struct fetch_op){ .code = FETCH_DEREF,
					   .size = i + 1u == arg->n_entry_derefs
							   ? (uint8_t)spec_entry_size(arg)
							   : 0,
					   .imm = arg->deref[i] };
	return op;
}

int fetch_compile_entry(const struct spec_probe *probe, struct fetch_program **ret_program,
			struct ubp_err *err)
{
	const size_t n_ops = (size_t)SPEC_ENTRY_MAX * 2 * (SPEC_DEREF_MAX + 3);
	const struct spec_arg *arg;
	struct fetch_program *program;
	struct fetch_op *op;

	*ret_program = NULL;
	if (!find_kept(probe, 0))
		return 0;
	program = calloc(1, sizeof(*program) + n_ops * sizeof(program->ops[0]));
	if (!program)
		return ubp_fail(err, ENOMEM, "out of memory");
	program->fixed_size = ENTRY_DATA;
	program->offset = probe->offset;
	op = program->ops;
	for (uint32_t i = 0; i < SPEC_ENTRY_MAX && (arg = find_kept(probe, i)); i++) {
		program->needs_vectors |= is_vector(arg);
		op = compile_entry_value(op, arg);
		*op++ = (struct fetch_op){ .code = FETCH_STORE_VALUE, .size = 8, .at = 8 * i };
		op = compile_entry_value(op, arg);
		*op++ = (struct fetch_op){ .code = FETCH_IMM, .imm = 1 };
		*op++ = (struct fetch_op){ .code = FETCH_STORE_VALUE,
					   .size = 1,
					   .at = ENTRY_KNOWN + i };
	}
	program->n_ops = (uint32_t)(op - program->ops);
	*ret_program = program;
	return 0;
}
