/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fetch programs: what FETCHARGS are compiled to. Kept in base because two
 * rooms that do not know each other read it: the interpreter (engine/fetch) and
 * the instruction sets, which make machine code of the same program.
 *
 * A program is a flat list of ops. Each fetch arg is a run of ops: one source
 * op, any number of dereferences, then exactly one store op, which says where
 * in the record's data the value goes. There is one accumulator, 64 bits wide.
 *
 *   FETCH_REG 5           acc = regs[5]
 *   FETCH_DEREF 8         acc = *(u64 *)(acc + 8)        (an inner one)
 *   FETCH_STORE_MEM -4    data[at] = *(type *)(acc - 4)  (the outermost one)
 *
 * A read that fails in FETCH_DEREF ends the arg: numeric data stays zero, a
 * string is marked as failed. A read that fails in FETCH_STORE_MEM keeps the
 * bytes before the fault and zeroes the rest, each array element by itself.
 * An inner read that gets only some of its bytes has failed.
 *
 * Where faults are to be told (struct spec_arg.read_at), args that nobody has written follow: what they store says whether
 * memory could be read. A FETCH_DEREF that gets all of its bytes, then a FETCH_IMM of 1, are stored as 1; else it is 0.
 *
 * A word is an address of the program's: 8 bytes, or 4 in a 32-bit one, then
 * zero-extended; addresses wrap around there.
 */

#ifndef UBP_BASE_FETCH_OP_H
#define UBP_BASE_FETCH_OP_H

#include <stdint.h>

enum fetch_opcode {
	/* Sources: set the accumulator. */
	FETCH_REG, /* regs[.reg] */
	FETCH_STACK, /* memory word at sp + .imm words; unreadable: 0, or with .count 1, as a FETCH_DEREF */
	FETCH_IMM,      /* .imm */
	FETCH_FOFF,     /* hit address - probe OFFSET + .imm: the address @+OFF means */
	FETCH_COMM,     /* no value; followed by FETCH_STORE_COMM only */
	FETCH_DURATION, /* returns: nanoseconds since the function was entered */
	FETCH_SUM,      /* regs[.reg] + (regs[.index] << .shift) + .imm; either register may be
			 * FETCH_NO_REG, which counts 0 */
	FETCH_VECTOR,   /* low 64 bits of vector register .reg */
	FETCH_ENTRY,    /* returns: value .reg of the function's entry (struct entry_values) */
	/* Steps. A FETCH_IMM may be one, too. */
	FETCH_DEREF, /* acc = word at acc + .imm; or, with .size, so many bytes there */
	/* Stores; end the arg, and come last in this list. .at, .size, .count and the
	 * bit-field members apply. */
	FETCH_STORE_VALUE,  /* accumulator, cut to .size bytes */
	FETCH_STORE_MEM,    /* .size bytes (times .count for an array) at acc + .imm */
	FETCH_STORE_STRING, /* C string at acc + .imm; .count > 0: at acc + .imm an
			     * array of .count words, pointers to strings */
	FETCH_STORE_COMM,   /* the task's name, as a string */
	FETCH_STORE_FAULT,  /* a string (or .count of them) that always prints (fault) */
	FETCH_STORE_X87, /* FETCH_X87_SIZE bytes at acc + .imm, an x87's long double, as a double */
};

struct fetch_op {
	uint8_t code; /* enum fetch_opcode */
	uint8_t size; /* stores: element size in bytes 1 2 4 8 (strings: 4); FETCH_DEREF: 0, or the same */
	uint8_t bit_width; /* stores: 0 = no bit-field; FETCH_STORE_STRING: enum fetch_length */
	uint8_t bit_offset; /* bits the container is shifted right by; FETCH_STORE_STRING: enum fetch_length */
	uint16_t reg;       /* FETCH_REG: index into struct ubp_regs; stores of
			     * strings: number of the (first) string in the program */
	uint16_t count;     /* stores: array elements, 0 = scalar */
	uint16_t at;        /* stores: byte offset in the record's data */
	uint16_t read_at;   /* FETCH_STORE_STRING: enum fetch_length */
	uint16_t index;     /* FETCH_SUM; FETCH_STORE_STRING: enum fetch_length */
	uint8_t shift;      /* the same */
	uint8_t bit_signed; /* stores: the bit-field's, or the length's, highest bit is its sign */
	int64_t imm;
};

#define FETCH_NO_REG   UINT16_MAX
#define FETCH_X87_SIZE 10

/*
 * Strings with a length, which no array has. .shift 0: .index bytes; else a number of .shift bytes at .index in the record's data, another arg's,
 * says how many. If that is less than 0, or fewer can be read, the string has failed; 0 bytes need no memory. Nothing behind them is read.
 * .bit_offset 1: that number needs memory, so that the string waits for it. .read_at, if not 0: where the data has a byte that is 0 if the
 * number could not be read, and then the string has failed, too.
 */
enum fetch_length {
	FETCH_TO_NUL,  /* none */
	FETCH_AT_MOST, /* or up to a NUL, if one comes first */
	FETCH_DUMP,    /* all, as hexadecimal digits: "48 69 0a" */
};

/*
 * What a return probe keeps of the function's entry: entry(EXPR). Bit k of .known: value k could be read. One that could not ends
 * the arg, as a FETCH_DEREF that fails; a string is marked as failed.
 */
#define ENTRY_VALUES_MAX 8

struct entry_values {
	uint32_t known;
	uint64_t value[ENTRY_VALUES_MAX];
};

/*
 * Strings in a record's data: a 32-bit word in the fixed area, length << 16 |
 * offset, where offset counts from the start of the data and length includes
 * the NUL. Length 0 is a string that could not be read: "(fault)".
 *
 * As in the kernel, strings are first measured (a string that cannot be read to
 * its NUL, or takes more than FETCH_STRING_MAX bytes with it, counts 0), then
 * each gets what is left of the sum. Two accidents follow from that, and filters
 * and users of the kernel's tracer see both, so they are kept: a string without
 * a NUL takes the room of those behind it if it has enough bytes to fill it; and
 * a scalar string whose inner dereference failed describes all the room left, so
 * it reads as the string behind it.
 */
#define FETCH_STRING_MAX  4096
#define FETCH_STRINGS_MAX 768 /* fixed area of 3072 bytes / 4 */
#define FETCH_FIXED_MAX   3072

struct fetch_program {
	uint32_t n_ops;
	uint32_t fixed_size;     /* bytes of the fixed area, at most FETCH_FIXED_MAX */
	uint32_t has_strings;    /* strings stored, each array element counted; 0 means
			       * the data's size is fixed_size */
	uint32_t needs_comm;     /* a FETCH_STORE_COMM is in it */
	uint32_t needs_duration; /* a FETCH_DURATION is in it */
	uint32_t needs_vectors;  /* a FETCH_VECTOR is in it */
	uint64_t offset;         /* the probe's OFFSET, for FETCH_FOFF */
	struct fetch_op ops[];
};

#endif
