/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files that write detours share: detour.c the block, detour_record.c the record,
 * detour_fetch.c its data, detour_load.c pointers in the program, detour_string.c strings,
 * detour_filter.c filters, detour_return.c the way back, detour_time.c how long it took,
 * detour_stack.c the stack.
 *
 * The code uses few registers, each for one thing. What the program had in them is in
 * the frame, which lies below the red zone; the stack pointer does not move.
 */

#ifndef UBP_ARCH_X86_GEN_H
#define UBP_ARCH_X86_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour_parts.h"
#include "arch/x86/emit.h"
#include "engine/base/ring.h"

/* rax, rcx, rdx: scratch. */
#define R_BASE   G_R11 /* of the rings */
#define R_THREAD G_SI  /* struct ring_thread */
#define R_RECORD G_R8
#define R_ACC    G_DI  /* the accumulator: addresses in the program */
#define R_END    G_R9  /* where the next string goes */
#define R_RETURN G_R10 /* search only: where it goes on */

/* The frame, 136 bytes. The first store is to its lowest word: if there is no stack, that
 * one faults. */
enum {
	FRAME_AX = 0,
	FRAME_R11 = 8,
	FRAME_CX = 16,
	FRAME_DX = 24,
	FRAME_SI = 32,
	FRAME_DI = 40,
	FRAME_R8 = 48,
	FRAME_R9 = 56,
	FRAME_FLAGS = 64, /* as lahf and seto have them */
	FRAME_INDEX = 68, /* 32 bits: element of an array of strings */
	FRAME_POS = 72,   /* position of what is reserved */
	FRAME_ARRAY = 80, /* array of strings: where its pointers are */
	FRAME_STACK = 80, /* the stack: where it is in the record */
	FRAME_REAL = 88,  /* return: the real return address */
	FRAME_T10 = 96,   /* search: registers, and offset of the cell */
	FRAME_T8 = 104,
	FRAME_T9 = 112,
	FRAME_CELL = 120,
	FRAME_DURATION = 128, /* return: nanoseconds since entry */
	FRAME_LEN = 136,
};

#define RED_ZONE  128
#define FRAME_ALL (RED_ZONE + FRAME_LEN)

/* A check of a pointer that did not find its range in its cell. */
struct gen_miss {
	label_t at, retry, fail;
	int32_t disp;
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
	uint32_t used;                    /* registers the code uses: bit by enum gpr */
	uint32_t early;     /* ... before it is known that there is something to record */
	uint32_t clobbered; /* those whose value is in the frame now */
	label_t fail;       /* where what can't be done leads now */
	label_t search;
	label_t low_bits, high_bits; /* words of 0xfe.. and 0x80.. */
	bool needs_words;
	struct gen_miss *misses;
	size_t n_misses, cap_misses;
	struct gen_literal *literals;
	size_t n_literals, cap_literals;
	size_t cap_loads;
	const char *problem;
};

/* --- detour.c ----------------------------------------------------------------------- */

/* Where in the frame a register's value is. */
int gen_slot(int gpr);
/* The next instruction may fault; the thread goes on at the label then. */
void gen_may_fault(struct gen *g, label_t fixup);
/* Bytes that code refers to. They must live as long as @g. */
label_t gen_literal(struct gen *g, const void *bytes, size_t len);
/* Out of memory. */
void gen_fail(struct gen *g, int error);
/* The first of all: room for the frame. */
void gen_frame(struct emit *e);
/* Then rax, the flags, and the registers of @which; none was clobbered before. */
void gen_save_first(struct gen *g, uint32_t which);
/* The gate, to @reg. */
void gen_gate(struct gen *g, int reg, label_t trap);
/* Flags, the registers of @which, the stack pointer. */
void gen_restore(struct gen *g, uint32_t which);

/* --- detour_record.c ---------------------------------------------------------------- */

/* From the filter's yes on, for probe @i of the plan. Then to @done; to @trap where it can't be
 * done. */
void gen_record(struct gen *g, label_t done, label_t trap, size_t i);
/* The filter said no. */
void gen_count_dropped(struct gen *g);

/* --- detour_return.c ---------------------------------------------------------------- */

/* What the common return code has saved when it goes on in a detour's; the address of the
 * entry is in GEN_HIJACK then. The code that makes an entry uses the same ones. */
#define GEN_HIJACK      G_R11
#define GEN_HIJACK_REGS (1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << G_SI | 1u << G_R11)

/* Is it a table that the code can use? */
bool gen_can_hijack(uint64_t hijacks, uint64_t mask);
/* Does the function take its return address off the stack right away? */
bool gen_pops_return(const struct window *window);
/* On entry, with GEN_HIJACK_REGS saved: replace the return address. To @trap: it can't be
 * done; to @leave: the gate has changed. @back: the detour's return code. */
void gen_hijack(struct gen *g, label_t back, label_t trap, label_t leave);
/* On return, as it comes from the common code: the entry is over, the real address is in
 * the frame and in its word. To @gone if it was over just now: the word has been put right. */
void gen_come_back(struct gen *g, label_t gone);

/* --- detour_time.c ------------------------------------------------------------------ */

/* Both are needed if detour_needs_duration() says so. */
/* On entry, with the offset of its entry in GEN_HIJACK. Clobbers rax and rdx. */
void gen_note_entry(struct gen *g, label_t trap);
/* On return, with the address of its entry in GEN_HIJACK: FRAME_DURATION. Clobbers rax, rcx, rdx. */
void gen_duration(struct gen *g);

/* --- detour_fetch.c ----------------------------------------------------------------- */

/* The register that has the value of @user_reg now, or G_NONE. */
int gen_live(const struct gen *g, unsigned user_reg);
/* Value of a numeric arg: the accumulator of @op's arg, or what it points to, in rax with
 * bit-fields cut and zeros above its size. Clobbers rcx, rdx, R_ACC where it has loads. */
void gen_value(struct gen *g, const struct fetch_op *op);
/* All data of the record. */
void gen_data(struct gen *g);

/* Data of the record, that many bytes behind its start. */
static inline struct emit_mem gen_data_at(uint32_t at)
{
	return MEM(R_RECORD, RECORD_DATA + (int32_t)at);
}

/* --- detour_load.c ------------------------------------------------------------------ */

/*
 * May @n bytes at R_ACC + @disp be read? Else to gen.fail. Leaves in rdx how far they
 * lie behind the start of the range, in rcx its length less @n. Clobbers rax.
 */
void gen_check(struct gen *g, int32_t disp, uint32_t n, uint32_t cell);
/* A displacement for @imm; what does not fit goes into the accumulator. Clobbers rax. */
int32_t gen_disp(struct gen *g, uint64_t imm);
/* A load of what was checked; memory may have gone meanwhile: then to gen.fail. */
void gen_load(struct gen *g, unsigned op, int reg, struct emit_mem mem);
/* At the end of the block: checks that missed. */
void gen_misses(struct gen *g);

/* --- detour_string.c ---------------------------------------------------------------- */

/* The string at the accumulator, or all those of an array of pointers there. */
void gen_string(struct gen *g, const struct fetch_op *op);
/* The thread's name. */
void gen_comm(struct gen *g, const struct fetch_op *op);
/* What could not be read: a place and no length. */
void gen_fault(struct gen *g, const struct fetch_op *op);

/* --- detour_stack.c ----------------------------------------------------------------- */

/* Bytes that it takes in a record of so many; at most. */
uint32_t gen_stack_max(const struct gen *g);
/* The stack, behind the data that ends before R_END; moves that on. Clobbers rax, rcx, rdx, R_ACC. */
void gen_stack(struct gen *g);

/* --- detour_filter.c ---------------------------------------------------------------- */

/* What its filter needs and tells before there is a record. */
struct detour_early gen_filter_look(const struct gen *g, const struct detour_probe *probe);
/* Code that goes to @drop, or on to what follows. */
void gen_filter_early(struct gen *g, label_t drop);
/* The same with the record. Returns whether the reader need not look any more. */
bool gen_filter_late(struct gen *g, label_t drop);

#endif
