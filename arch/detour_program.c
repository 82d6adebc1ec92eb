/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What plans and fetch programs tell before a detour's code is written. */

#include "arch/detour_parts.h"

bool detour_has_return(const struct detour_plan *plan)
{
	for (size_t i = 0; i < plan->n_probes; i++)
		if (plan->probes[i].kind == PROBE_RETURN)
			return true;
	return false;
}

bool detour_needs_duration(const struct detour_plan *plan)
{
	for (size_t i = 0; i < plan->n_probes; i++)
		if (plan->probes[i].kind == PROBE_RETURN &&
		    plan->probes[i].program->needs_duration)
			return true;
	return false;
}

static bool is_string(const struct fetch_op *op)
{
	return op->code == FETCH_STORE_STRING || op->code == FETCH_STORE_COMM ||
	       op->code == FETCH_STORE_FAULT;
}

const struct fetch_op *detour_store_of(const struct fetch_op *op)
{
	while (!detour_is_store(op))
		op++;
	return op;
}

/* --- what can be made --------------------------------------------------------------- */

static const char *check_store(const struct fetch_op *op, uint32_t *at)
{
	if (op->size != 1 && op->size != 2 && op->size != 4 && op->size != 8)
		return "a value of odd size";
	if (op->at != *at || (is_string(op) && op->size != 4))
		return "args that are not packed";
	if (op->code == FETCH_STORE_VALUE && op->count)
		return "an array in a register";
	if (op->code == FETCH_STORE_X87)
		return "long doubles are read where the thread stops";
	if (op->code == FETCH_STORE_STRING && op->bit_width)
		return "texts with a length are read where the thread stops";
	*at += op->size * detour_n_elements(op);
	return NULL;
}

static const char *check_sum(const struct fetch_op *op,
			     const char *(*check_reg)(unsigned user_reg))
{
	const char *problem = NULL;

	if (op->shift > 3)
		return "a scale that is none";
	if (op->reg != FETCH_NO_REG)
		problem = check_reg(op->reg);
	return problem || op->index == FETCH_NO_REG ? problem : check_reg(op->index);
}

/* All that no store is: what is not known here is not made, and takes a breakpoint. */
static const char *check_source(const struct fetch_op *op, unsigned n_vectors,
				const char *(*check_reg)(unsigned user_reg))
{
	switch ((enum fetch_opcode)op->code) {
	case FETCH_REG:
		return check_reg(op->reg);
	case FETCH_VECTOR:
		return op->reg < n_vectors ? NULL : "a register that is not known to a jump";
	case FETCH_SUM:
		return check_sum(op, check_reg);
	case FETCH_STACK:
	case FETCH_IMM:
	case FETCH_FOFF:
	case FETCH_COMM:
	case FETCH_DURATION:
	case FETCH_DEREF:
		return NULL;
	case FETCH_ENTRY:
	case FETCH_STORE_VALUE:
	case FETCH_STORE_MEM:
	case FETCH_STORE_STRING:
	case FETCH_STORE_COMM:
	case FETCH_STORE_FAULT:
	case FETCH_STORE_X87:
		break;
	}
	return "an operator that is not known to a jump";
}

const char *detour_check_program(const struct fetch_program *program, unsigned n_vectors,
				 const char *(*check_reg)(unsigned user_reg))
{
	const struct fetch_op *op;
	const char *problem = NULL;
	uint32_t at = 0;

	for (op = program->ops; op < detour_end_of(program) && !problem; op++)
		problem = detour_is_store(op) ? check_store(op, &at)
					      : check_source(op, n_vectors, check_reg);
	if (problem)
		return problem;
	if (program->n_ops && !detour_is_store(op - 1))
		return "a program without an end";
	return at == program->fixed_size && at <= FETCH_FIXED_MAX ? NULL
								  : "args that are not packed";
}

/* --- what it takes ------------------------------------------------------------------ */

static uint32_t cells_of(const struct fetch_op *op)
{
	switch ((enum fetch_opcode)op->code) {
	case FETCH_STACK:
	case FETCH_DEREF:
	case FETCH_STORE_MEM:
		return 1;
	case FETCH_STORE_STRING:
		return op->count ? 2 : 1;
	default:
		return 0;
	}
}

uint32_t detour_cells(const struct fetch_program *program)
{
	uint32_t n = 0;

	for (const struct fetch_op *op = program->ops; op < detour_end_of(program); op++)
		n += cells_of(op);
	return n;
}

uint32_t detour_cell(const struct detour_probe *probe, const struct fetch_op *op)
{
	uint32_t n = probe->cell;

	for (const struct fetch_op *o = probe->program->ops; o < op; o++)
		n += cells_of(o);
	return n % RING_CELLS;
}

bool detour_needs_acc(const struct fetch_program *program)
{
	return program->has_strings || detour_cells(program) > 0;
}

uint32_t detour_record_max(const struct fetch_program *program, enum probe_kind kind)
{
	uint32_t max = DATA_MAX(kind), len = program->fixed_size;

	for (const struct fetch_op *op = program->ops; op < detour_end_of(program) && len < max;
	     op++) {
		if (op->code == FETCH_STORE_STRING)
			len = max;
	}
	if (len > max)
		len = max;
	/* The last word of a string may be written whole. */
	return (uint32_t)(RECORD_DATA + len + (program->has_strings ? 16 : 0) + 7) & ~7u;
}

bool detour_is_near(const struct fetch_op *source, const struct fetch_op *op, unsigned sp,
		    unsigned word)
{
	if (op == source)
		return op->code == FETCH_STACK && (uint64_t)op->imm < DETOUR_NEAR_SP / word;
	return op == source + 1 && source->code == FETCH_REG && source->reg == sp &&
	       (op->code == FETCH_DEREF || op->code == FETCH_STORE_MEM) &&
	       (uint64_t)op->imm < DETOUR_NEAR_SP;
}
