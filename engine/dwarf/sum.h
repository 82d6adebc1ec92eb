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
	uint8_t n;                         /* reads of memory */
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
bool sum_and(struct sum *s, uint64_t mask);
bool sum_read(struct sum *s); /* the word at it */
/* Only the low @bits stay right, as far as they are. */
void sum_cut(struct sum *s, unsigned bits, enum sum_above above);

/*
 * As fetch args: the memory at @s, or @s itself. Return the length, or 0: it can't be written,
 * or not in @size bytes.
 */
size_t sum_memory_text(const struct sum *s, char *text, size_t size);
size_t sum_value_text(const struct sum *s, char *text, size_t size);

#endif
