/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files that write detours (arch/NAME/detour*.c) share, whatever the machine: what a
 * plan, its programs and its filters tell before any code is written.
 */

#ifndef UBP_ARCH_DETOUR_PARTS_H
#define UBP_ARCH_DETOUR_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"
#include "engine/base/ring.h"

#define RECORD_DATA ((int)sizeof(struct ring_record))

/* Longest data: as EVENT_RECORD_LIMIT less the kernel's head (engine/event/record.h). */
#define DATA_MAX(kind) (4072 - (int)probe_kind_head(kind))

/* --- plans (detour_program.c) ---------------------------------------------------------- */

bool detour_has_return(const struct detour_plan *plan);
/* Does a probe ask how long the call took? */
bool detour_needs_duration(const struct detour_plan *plan);

/* --- fetch programs (detour_program.c) ------------------------------------------------- */

/* Does it end an arg? */
static inline bool detour_is_store(const struct fetch_op *op)
{
	return op->code >= FETCH_STORE_VALUE;
}

static inline const struct fetch_op *detour_end_of(const struct fetch_program *program)
{
	return program->ops + program->n_ops;
}

/* How many values a store makes. */
static inline uint32_t detour_n_elements(const struct fetch_op *op)
{
	return op->count ? op->count : 1;
}

/* The op that ends the arg of @op. */
const struct fetch_op *detour_store_of(const struct fetch_op *op);

/* The first op of the arg whose value is @at in the data; detour_end_of(): there is none. */
static inline const struct fetch_op *detour_arg_at(const struct fetch_program *program,
						   uint32_t at)
{
	const struct fetch_op *op = program->ops;

	while (op < detour_end_of(program) && detour_store_of(op)->at != at)
		op = detour_store_of(op) + 1;
	return op;
}

/*
 * NULL, or why no code is made of the program: a constant text. @check_reg says so of a register
 * that it takes; there are @n_vectors of the others.
 */
const char *detour_check_program(const struct fetch_program *program, unsigned n_vectors,
				 const char *(*check_reg)(unsigned user_reg));

/* Cell of the first load of @op, of @probe's program. */
uint32_t detour_cell(const struct detour_probe *probe, const struct fetch_op *op);

/* Is there more than what goes from a register or an immediate right into the record? */
bool detour_needs_acc(const struct fetch_program *program);

/* So far from the stack pointer, a stack is not at its end. */
#define DETOUR_NEAR_SP 1024

/*
 * Does @op read from the stack, so near to the stack pointer that there is no doubt that it can? It is @source, the arg's first op, or one behind
 * it. @sp: the stack pointer's number; @word: bytes of an address.
 */
bool detour_is_near(const struct fetch_op *source, const struct fetch_op *op, unsigned sp,
		    unsigned word);

/* Bytes to reserve for a record. */
uint32_t detour_record_max(const struct fetch_program *program, enum probe_kind kind);

/* --- filters (detour_filter.c) --------------------------------------------------------- */

/* What a predicate looks at. */
enum detour_pred {
	DETOUR_UNKNOWN, /* not now */
	DETOUR_CONST,   /* always the same */
	DETOUR_NUMBER,
	DETOUR_TEXT,
};

/* What a filter needs and tells before there is a record. */
struct detour_early {
	bool useful; /* it decides something */
	bool unsure; /* not all: the record must be looked at, too */
	bool loads;  /* it reads the program's memory */
	bool sums;   /* it adds registers */
	bool wide;   /* it compares 64 bits */
	bool far; /* it compares 64 bits with what 32 bits, extended with their sign, can't tell */
};

/*
 * A filter is looked at once before there is a record (.early) and, where that could not tell
 * all, once with it. .late_reg, a register (FETCH_NO_REG: none), has no value yet before.
 */
struct detour_look {
	const struct detour_plan *plan;
	const struct detour_probe *probe; /* with a filter */
	unsigned late_reg;
	bool early;
};

static inline bool detour_is_text(const struct filter_pred *pred)
{
	return pred->test >= FILTER_SAME;
}

/* The arg whose value is at .at of the record, or NULL; also if only a part of one is. */
const struct fetch_op *detour_arg_of(const struct fetch_program *program,
				     const struct filter_pred *pred);

enum detour_pred detour_pred_of(const struct detour_look *look, const struct filter_pred *pred);

/* Where to go on behind one that is DETOUR_UNKNOWN: if it says no there, it is no either way. */
uint16_t detour_other_way(const struct filter_pred *pred);

/* What comes of one that is DETOUR_CONST. */
bool detour_outcome(const struct detour_look *look, const struct filter_pred *pred);

/* All that is reached of @look's filter, early. Out of memory, or without a filter: .unsure. */
struct detour_early detour_look_early(const struct detour_look *look);

#endif
