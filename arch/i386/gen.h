/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What detours for 32 bits do in another way than those for 64. What is the same is in
 * arch/x86/common_detour*.c, and takes the rest from struct x86_gen (arch/x86/common_gen.h), which detour.c fills
 * in. The files have the same names: detour_load.c is pointers in the program, detour_time.c how long a call took,
 * detour_scan.c what unwinders wait for, and so on.
 *
 * There are fewer registers: numbers of 64 bits are in edx and eax, and the end of what is written so
 * far is in the frame. The frame lies below the stack pointer, which does not move meanwhile.
 *
 * Words that the reader has 64 bits for are written by one instruction (cmpxchg8b) where a
 * signal handler or the reader would see the halves apart; else the upper half is 0, or
 * does not matter.
 */

#ifndef UBP_ARCH_I386_GEN_H
#define UBP_ARCH_I386_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/gen.h"
#include "arch/x86/common_gen.h"
#include "engine/base/ring.h"

/* eax, ecx, edx: scratch; ebx: too, once all registers are saved. */
#define R_BASE   G_SI /* of the rings */
#define R_THREAD G_DI /* struct ring_thread, up to the record's head; then in the frame */
#define R_ACC    X86_ACC
#define R_RECORD G_BP
#define R_END    G_BX /* FRAME_END, while it is worked with */

/* The frame. The first store is to its lowest word: if there is no stack, that one faults. */
enum {
	FRAME_AX = 0,
	FRAME_CX = 4,
	FRAME_DX = 8,
	FRAME_BX = 12,
	FRAME_SI = 16,
	FRAME_DI = 20,
	FRAME_BP = 24,
	FRAME_FLAGS = 28,  /* as lahf and seto have them */
	FRAME_POS = 32,    /* 64 bits: position of what is reserved */
	FRAME_THREAD = 40, /* struct ring_thread */
	FRAME_END = 44,    /* where the next string goes */
	FRAME_INDEX = 48,  /* element of an array of strings */
	FRAME_ARRAY = 52,  /* array of strings: where its pointers are */
	FRAME_STACK = 52,  /* the stack: where it is in the record */
	FRAME_REAL = 56,   /* return: the real return address */
	FRAME_RETURN = 60, /* search: where it goes on */
	FRAME_CELL = 64,   /* search: offset of the cell */
	FRAME_T0 = 68,     /* for a moment; a number of 64 bits in the first two */
	FRAME_T1 = 72,
	FRAME_T2 = 76,
	FRAME_DURATION = 80, /* 64 bits; return: nanoseconds since entry */
	FRAME_LEN = 88,
};

#define FRAME_ALL (X86_DISTANCE + FRAME_LEN)

#define ALL_REGS                                                                               \
	(1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << G_BX | 1u << G_SI | 1u << G_DI |         \
	 1u << G_BP)

extern const struct gen_loads gen32_loads;
extern const struct gen_returns gen32_returns;
extern const struct gen_records gen32_records;
extern const struct gen_numbers gen32_numbers;
extern const struct gen_scan gen32_scan;
extern const struct gen_filters gen32_filters;

/* --- detour_record.c, detour_claim.c (struct x86_gen) ------------------------------- */

void gen32_hash(struct gen *g);
extern const struct x86_claim gen32_claim_parts;

/* --- detour_return.c ---------------------------------------------------------------- */

/* What the common return code has saved when it goes on in a detour's; the address of the
 * entry is in GEN_HIJACK then. The code that makes an entry uses the same registers. */
#define GEN_HIJACK      G_SI
#define GEN_HIJACK_REGS (1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << G_SI)

extern const struct x86_returns gen32_return_parts;

/* --- detour_time.c ------------------------------------------------------------------ */

/* Both are needed if detour_needs_duration() says so. */
/* On entry, with the address of its entry in GEN_HIJACK. Clobbers eax and edx. */
void gen32_note_entry(struct gen *g, label_t trap);
/* On return, with the address of its entry in GEN_HIJACK: FRAME_DURATION. Clobbers eax, ecx, edx. */
void gen32_duration(struct gen *g);

/* --- detour_fetch.c (struct x86_gen) -------------------------------------------------- */

void gen32_sum(struct gen *g, const struct fetch_op *op, int to);
void gen32_segment_base(struct gen *g, unsigned user_reg, int to);

/* --- detour_load.c ------------------------------------------------------------------ */

/*
 * May @n bytes at R_ACC + @disp be read? Else to gen.fail. Leaves in ecx how far they
 * lie behind the start of the range, in eax its length less @n. Clobbers edx.
 */
void gen32_check(struct gen *g, int32_t disp, uint32_t n, uint32_t cell);

/* --- detour_string.c (struct x86_gen) ------------------------------------------------- */

void gen32_string_room(struct gen *g, int32_t limit);
void gen32_find_nul(struct gen *g, label_t none);

#endif
