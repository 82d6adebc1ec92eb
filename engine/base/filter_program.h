/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The inside of a filter, for those who evaluate it: the interpreter
 * (engine/fetch/match.c), and the instruction sets, which make machine code of it.
 *
 * A filter is a flat list of predicates. Each tests one field of a record and
 * names its successor for either outcome: a predicate further on, or one of
 * the two ends. Evaluation starts at predicate 0 and only ever moves forward,
 * so it ends after at most n_preds steps; there are no loops, no stack, and
 * negation is nothing but the two successors exchanged.
 *
 *   n == 1 && !(s ~ "a*" || cpu < 2)
 *
 *   0: n EQ 1          true: 1      false: DROP
 *   1: s PREFIX "a"    true: DROP   false: 2
 *   2: cpu LT 2        true: DROP   false: PASS
 *
 * For the same reason there are only four tests of integers: != is EQ, >= is LT
 * and > is LE with exchanged successors. A compiler emits one load, one
 * compare and two branches per predicate, in order.
 */

#ifndef UBP_BASE_FILTER_PROGRAM_H
#define UBP_BASE_FILTER_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* Successors that are no predicate; both are larger than any index. */
#define FILTER_PASS 0xffff
#define FILTER_DROP 0xfffe

/* Where in a record the field is. */
enum filter_source {
	FILTER_FROM_DATA,    /* the event's own arg, at .at in the record's data */
	FILTER_FROM_IP,      /* record ip, u64 */
	FILTER_FROM_FUNC,    /* record func, u64 */
	FILTER_FROM_TID,     /* record tid, s32 */
	FILTER_FROM_CPU,     /* record cpu, as s32 */
	FILTER_FROM_COMM,    /* record comm: string tests only */
	FILTER_FROM_NOWHERE, /* the number 0: fields that only the kernel has */
};

/*
 * Numbers are loaded with .size bytes, extended to 64 bits (with sign if
 * .is_signed) and tested against .value, which parsing has cut to the same
 * size and extended in the same way.
 */
enum filter_test {
	FILTER_NEVER,  /* false */
	FILTER_EQ,     /* equal */
	FILTER_LT,     /* less, signed if .is_signed */
	FILTER_LE,     /* less or equal, signed if .is_signed */
	FILTER_AND,    /* a common bit */
	FILTER_IS_CPU, /* unsigned number less than .value, the machine's CPUs */
	FILTER_IN_SET, /* unsigned number less than .value, its bit set at .text */
	/*
	 * Floating-point numbers: .size is 4 or 8, .value holds a double. A field that is
	 * no number passes none of these, hence greater has tests of its own.
	 */
	FILTER_FLOAT_EQ,
	FILTER_FLOAT_LT,
	FILTER_FLOAT_LE,
	FILTER_FLOAT_GT,
	FILTER_FLOAT_GE,
	/* Strings, against .text_len bytes at .text. */
	FILTER_SAME,
	FILTER_PREFIX,
	FILTER_SUFFIX, /* false for a string that could not be read */
	FILTER_MIDDLE, /* anywhere inside */
	FILTER_GLOB,   /* pattern with * ? [a-z] [!a] \x */
};

struct filter_pred {
	uint8_t test;   /* enum filter_test */
	uint8_t source; /* enum filter_source */
	uint8_t size;   /* numbers: 1 2 4 8 */
	bool is_signed;
	uint16_t on_true; /* index of the next predicate, FILTER_PASS or FILTER_DROP */
	uint16_t on_false;
	uint32_t at;   /* FILTER_FROM_DATA: byte offset; strings: of their u32 */
	uint32_t text; /* byte offset in filter->bytes */
	uint32_t text_len;
	uint64_t value;
};

struct filter {
	uint32_t n_preds; /* at least 1 */
	uint8_t *bytes;   /* patterns and CPU sets (bit n of byte n / 8) */
	char *text;       /* as it was written, without blanks behind; NULL: nobody wrote it */
	struct filter_pred preds[];
};

static inline bool filter_is_float(const struct filter_pred *pred)
{
	return pred->test >= FILTER_FLOAT_EQ && pred->test <= FILTER_FLOAT_GE;
}

/* Cut @value to @size bytes (1 2 4 8) and extend it to 64 bits again. */
static inline uint64_t filter_extend(uint64_t value, unsigned size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)value : (uint8_t)value;
	case 2:
		return is_signed ? (uint64_t)(int16_t)value : (uint16_t)value;
	case 4:
		return is_signed ? (uint64_t)(int32_t)value : (uint32_t)value;
	default:
		return value;
	}
}

#endif
