/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files that write detours share: detour.c ways in and out, detour_record.c the record,
 * detour_fetch.c numbers, detour_load.c pointers in the program, detour_string.c strings,
 * detour_filter.c predicates, detour_return.c the way back, detour_time.c how long it took,
 * detour_stack.c the stack. In which order all that is done is in arch/gen*.c.
 *
 * The registers are none of those that arguments and results come in, nor any that a function
 * keeps for its caller. The stack pointer moves once.
 */

#ifndef UBP_ARCH_ARM64_GEN_H
#define UBP_ARCH_ARM64_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arm64/emit.h"
#include "arch/gen.h"
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

extern const struct gen_loads make_loads;
extern const struct gen_returns make_returns;
extern const struct gen_records make_records;
extern const struct gen_numbers make_numbers;
extern const struct gen_strings make_strings;
extern const struct gen_stacks make_stacks;
extern const struct gen_filters make_filters;

/*
 * How far above the frame what the stack pointer was in front of the lead is; on return, what it is. The
 * frame is below what the lead may have put there.
 */
static inline int64_t make_up(const struct gen *g)
{
	bool is_entry =
		g->plan && g->plan->lead && !(g->probe && g->probe->kind == PROBE_RETURN);

	return FRAME_ALL + (is_entry ? (int64_t)g->plan->lead->sp_down : 0);
}

/* --- detour.c ----------------------------------------------------------------------- */

/* Where in the frame a register's value is. */
int make_slot(int reg);
/* The first of all: the frame with R_A and R_B in it, the flags, and the registers of @which. */
void make_begin(struct gen *g, uint32_t which);
/* Flags, the registers of @which, which R_A and R_B are among, the stack pointer. */
void make_restore(struct gen *g, uint32_t which, enum gen_way way);
/* The gate, to @reg. */
void make_gate(struct gen *g, int reg, label_t trap);

/* --- detour_return.c ---------------------------------------------------------------- */

/* What the common return code has saved when it goes on in a detour's; the address of the
 * entry is in GEN_HIJACK then. The code that makes an entry uses the same ones. */
#define GEN_HIJACK R_BASE
#define GEN_HIJACK_REGS                                                                        \
	(BIT(R_A) | BIT(R_B) | BIT(R_BASE) | BIT(G_TMP) | BIT(R_ADDRESS) | BIT(R_C) |          \
	 BIT(R_THREAD))

/* Does the function return twice? */
bool make_returns_twice(const struct detour_plan *plan);

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

#endif
