/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files that write detours share: detour.c the block, detour_record.c the record,
 * detour_fetch.c its data, detour_load.c pointers in the program, detour_string.c strings,
 * detour_filter.c filters, detour_return.c the way back, detour_time.c how long it took,
 * detour_stack.c the stack.
 *
 * The code uses few registers, each for one thing: none of those that arguments and results
 * come in, nor any that a function keeps for its caller. What the program had in them is in the
 * frame below its stack; the stack pointer moves once.
 */

#ifndef UBP_ARCH_ARM64_GEN_H
#define UBP_ARCH_ARM64_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arm64/emit.h"
#include "arch/detour_parts.h"
#include "engine/base/ring.h"

/* Scratch, beside G_TMP. */
#define R_A 16
#define R_B 17
#define R_C 8

#define R_ADDRESS 15 /* of what is loaded next, from the program */
#define R_BASE    14 /* of the rings */
#define R_THREAD  13 /* struct ring_thread */
#define R_RECORD  12
#define R_ACC     11 /* the accumulator: addresses in the program */
#define R_END     10 /* where the next string goes */
#define R_RETURN  7  /* search only: where it goes on */

#define BIT(reg) (1u << (reg))

/*
 * The frame, below what a program may have below its stack. Its first store is to its lowest words and moves the stack
 * pointer: if there is no stack, that one faults and has done nothing.
 */
enum {
	FRAME_A = 0, /* pairs that are stored at once, as they are used */
	FRAME_B = 8,
	FRAME_BASE = 16,
	FRAME_TMP = 24,
	FRAME_ADDRESS = 32,
	FRAME_C = 40,
	FRAME_ACC = 48,
	FRAME_END = 56,
	FRAME_THREAD = 64,
	FRAME_RECORD = 72,
	FRAME_FLAGS = 80,
	FRAME_POS = 88,       /* position of what is reserved */
	FRAME_ARRAY = 96,     /* array of strings: where its pointers are */
	FRAME_STACK = 96,     /* the stack: where it is in the record */
	FRAME_REAL = 104,     /* return: the real return address */
	FRAME_DURATION = 112, /* return: nanoseconds since entry */
	FRAME_INDEX = 120,    /* element of an array of strings */
	FRAME_CELL = 128,     /* search: offset of the cell */
	FRAME_RETURN = 136,   /* search: registers */
	FRAME_SEARCH = 144,
	FRAME_LEN = 160,
};

/* Go keeps data there, as x86-64 programs do. */
#define BELOW_STACK 128
#define FRAME_ALL   (BELOW_STACK + FRAME_LEN)

/* A check of a pointer that did not find its range in its cell. */
struct gen_miss {
	label_t at, retry, fail;
	uint32_t n;
	uint32_t cell;
};

/* Bytes behind the code. */
struct gen_literal {
	label_t label;
	const void *bytes;
	size_t len;
};

struct gen {
	struct emit e;
	const struct detour_plan *plan;
	struct detour *out;
	const struct detour_probe *probe; /* the one at hand */
	uint32_t used;                    /* registers the code uses: bit by number */
	uint32_t early;     /* ... before it is known that there is something to record */
	uint32_t clobbered; /* those whose value is in the frame now */
	label_t fail;       /* where what can't be done leads now */
	label_t search;
	struct gen_miss *misses;
	size_t n_misses, cap_misses;
	struct gen_literal *literals;
	size_t n_literals, cap_literals;
	size_t cap_loads;
};

/* --- detour.c ----------------------------------------------------------------------- */

/* Where in the frame a register's value is. */
int make_slot(int reg);
/* The next instruction may fault; the thread goes on at the label then. */
void make_may_fault(struct gen *g, label_t fixup);
/* Bytes that code refers to, 8-aligned. They must live as long as @g. */
label_t make_literal(struct gen *g, const void *bytes, size_t len);
/* Out of memory. */
void make_fail(struct gen *g, int error);
/* The first of all: the frame, with R_A and R_B in it. One instruction. */
void make_frame(struct emit *e);
/* Then the flags, and the registers of @which; none was clobbered before. */
void make_save_first(struct gen *g, uint32_t which);
/* The gate, to @reg. */
void make_gate(struct gen *g, int reg, label_t trap);
/* Flags, the registers of @which, which R_A and R_B are among, the stack pointer. */
void make_restore(struct gen *g, uint32_t which);

/* --- detour_record.c ---------------------------------------------------------------- */

/* From the filter's yes on, for probe @i of the plan. Then to @done; to @trap where it can't be
 * done. */
void make_record(struct gen *g, label_t done, label_t trap, size_t i);
/* The filter said no. */
void make_count_dropped(struct gen *g);

/* --- detour_return.c ---------------------------------------------------------------- */

/* What the common return code has saved when it goes on in a detour's; the address of the
 * entry is in GEN_HIJACK then. The code that makes an entry uses the same ones. */
#define GEN_HIJACK R_BASE
#define GEN_HIJACK_REGS                                                                        \
	(BIT(R_A) | BIT(R_B) | BIT(R_BASE) | BIT(G_TMP) | BIT(R_ADDRESS) | BIT(R_C) |          \
	 BIT(R_THREAD))

/* Is it a table that the code can use? */
bool make_can_hijack(uint64_t hijacks, uint64_t mask);
/* Does the function return twice? */
bool make_returns_twice(const struct detour_plan *plan);
/* On entry, with GEN_HIJACK_REGS saved: replace the return address. To @trap: it can't be
 * done; to @leave: the gate has changed. @back: the detour's return code. */
void make_hijack(struct gen *g, label_t back, label_t trap, label_t leave);
/* On return, as it comes from the common code: the entry is over, the real address is in
 * the frame and in the link register. To @gone if it was over just now. */
void make_come_back(struct gen *g, label_t gone);

/* --- detour_time.c ------------------------------------------------------------------ */

/* Both are needed if detour_needs_duration() says so. */
/* On entry, with the address of its entry in GEN_HIJACK. Clobbers R_A. */
void make_note_entry(struct gen *g, label_t trap);
/* On return, with the address of its entry in GEN_HIJACK: FRAME_DURATION. Clobbers R_A, R_B,
 * R_C. */
void make_duration(struct gen *g);

/* --- detour_fetch.c ----------------------------------------------------------------- */

/* The register that has the value of @user_reg now, or G_NONE. */
int make_live(const struct gen *g, unsigned user_reg);
/* Value of a numeric arg: the accumulator of @op's arg, or what it points to, in R_A with
 * bit-fields cut and zeros above its size. Clobbers R_B, R_C, and R_ADDRESS, R_ACC where it has
 * loads. */
void make_value(struct gen *g, const struct fetch_op *op);
/* All data of the record. */
void make_data(struct gen *g);

/* Data of the record, that many bytes behind its start. */
static inline struct emit_mem make_data_at(uint32_t at)
{
	return MEM(R_RECORD, RECORD_DATA + (int64_t)at);
}

/* --- detour_load.c ------------------------------------------------------------------ */

/*
 * May @n bytes at R_ACC + @disp be read? Else to gen.fail. That address in R_ADDRESS, in R_C how
 * far it lies behind the start of the range, in R_B its length less @n. Clobbers R_A.
 */
void make_check(struct gen *g, int64_t disp, uint32_t n, uint32_t cell);
/* A load of what was checked; memory may have gone meanwhile: then to gen.fail. */
void make_load(struct gen *g, uint32_t op, int reg, struct emit_mem mem);
/* At the end of the block: checks that missed. */
void make_misses(struct gen *g);

/* --- detour_string.c ---------------------------------------------------------------- */

/* The string at the accumulator, or all those of an array of pointers there. */
void make_string(struct gen *g, const struct fetch_op *op);
/* The thread's name. */
void make_comm(struct gen *g, const struct fetch_op *op);
/* R_ADDRESS = where the thread's name is. */
void make_comm_address(struct emit *e);
/* What could not be read: a place and no length. */
void make_fault(struct gen *g, const struct fetch_op *op);

/* --- detour_stack.c ----------------------------------------------------------------- */

/* Bytes that it takes in a record of so many; at most. */
uint32_t make_stack_max(const struct gen *g);
/* The stack, behind the data that ends before R_END; moves that on. Clobbers R_A, R_B, R_C,
 * R_ADDRESS, R_ACC. */
void make_stack(struct gen *g);

/* --- detour_filter.c ---------------------------------------------------------------- */

/* What its filter needs and tells before there is a record. */
struct detour_early make_filter_look(const struct gen *g, const struct detour_probe *probe);
/* Code that goes to @drop, or on to what follows. */
void make_filter_early(struct gen *g, label_t drop);
/* The same with the record. Returns whether the reader need not look any more. */
bool make_filter_late(struct gen *g, label_t drop);

#endif
