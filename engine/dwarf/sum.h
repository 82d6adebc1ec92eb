/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a fetch arg can compute: registers and a number, the memory at that sum, a number
 * added, the memory at that... Pure. DWARF's operations are carried out on these in place of
 * numbers.
 */

#ifndef UBP_DWARF_SUM_H
#define UBP_DWARF_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUM_READS_MAX 12

enum sum_base {
	SUM_CONST, /* nothing but addends */
	SUM_REG,   /* .reg, .index << .shift */
	SUM_FILE,  /* @+addend: a place of the probed file, in the process */
};

/* What stands above the .bits that are right. */
enum sum_above {
	SUM_UNTOLD,
	SUM_ZEROES, /* a mask took them away */
	SUM_SIGNS,  /* the highest of them, again and again */
};

struct sum {
	enum sum_base base;
	const char *reg, *index; /* names without '%'; either may be NULL */
	uint8_t shift;           /* of .index, 0..3 */
	uint8_t bits;            /* so many low ones are right; 64: all */
	enum sum_above above;
	uint8_t low;  /* bits that are gone below these: the value was shifted to the right */
	uint8_t up;   /* zeroes that it was shifted to the left by, behind that */
	uint8_t back; /* bits that were right, with .low, when it had been shifted to the left and back; 0: it was not */
	bool is_lost; /* something was done to it that cannot be written */
	uint8_t n;    /* reads of memory */
	int64_t addend[SUM_READS_MAX + 1]; /* [0] to the base, [i] to what the ith read gave */
};

struct sum sum_const(int64_t value);
struct sum sum_register(const char *name, int64_t addend);
struct sum sum_file(int64_t offset);

static inline bool sum_is_const(const struct sum *s)
{
	return s->base == SUM_CONST && s->n == 0;
}

void sum_add_const(struct sum *s, int64_t value);
/* Each is true, or false where a fetch arg can't; @s is then of no use. */
bool sum_add(struct sum *s, const struct sum *other);
bool sum_shift(struct sum *s, uint64_t bits); /* to the left */
bool sum_shift_right(struct sum *s, uint64_t bits, bool is_signed);
bool sum_multiply(struct sum *s, int64_t by);
bool sum_divide(struct sum *s, int64_t by); /* as signed numbers */
bool sum_rest(struct sum *s, uint64_t by);  /* of a division, as unsigned ones */
bool sum_and(struct sum *s, uint64_t mask);
bool sum_is_below_zero(struct sum *s); /* 1 or 0 */
bool sum_read(struct sum *s);          /* the word at it */
/* Only the low @bits stay right, as far as they are. */
void sum_cut(struct sum *s, unsigned bits, enum sum_above above);

/*
 * As fetch args: the memory at @s, or @s itself, of which .low and .bits tell a part. Return the length, or 0: it can't be written,
 * or not in @size bytes.
 */
/* Bits that are read for the value: of memory no more than it takes. */
unsigned sum_container(const struct sum *s);
size_t sum_memory_text(const struct sum *s, char *text, size_t size);
size_t sum_value_text(const struct sum *s, char *text, size_t size);

#endif
