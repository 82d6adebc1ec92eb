/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What detours for 64 bits do in another way than those for 32. What is the same is in common_detour*.c, and
 * takes the rest from struct x86_gen (common_gen.h), which detour.c fills in. detour_fetch.c is numbers,
 * detour_load.c pointers in the program, detour_string.c strings, detour_record.c the record, detour_filter.c
 * predicates, detour_return.c the way back, detour_call.c the way back from a call, detour_time.c how long it took, detour_scan.c what unwinders wait
 * for, detour_claim.c who claims a ring. In which order all that is done is in arch/gen*.c.
 *
 * The frame lies below the red zone; the stack pointer does not move.
 */

#ifndef UBP_ARCH_X86_GEN_H
#define UBP_ARCH_X86_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/gen.h"
#include "arch/x86/common_gen.h"
#include "engine/base/ring.h"

/* rax, rcx, rdx: scratch. */
#define R_BASE   G_R11 /* of the rings */
#define R_THREAD G_SI  /* struct ring_thread */
#define R_RECORD G_R8
#define R_ACC    X86_ACC
#define R_END    G_R9  /* where the next string goes */
#define R_RETURN G_R10 /* search only: where it goes on */

/* The frame, 232 bytes. The first store is to its lowest word: if there is no stack, that
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
	FRAME_TSI = 136, /* a call of the kernel: registers; what it is to copy, and where to */
	FRAME_TDI = 144,
	FRAME_T11 = 152,
	FRAME_FROM = 160,
	FRAME_TO = 176,
	FRAME_WORD = 192, /* a number that was copied */
	FRAME_GONE = 200, /* bytes of it that were looked at */
	FRAME_START =
		208, /* a string: where it begins, how much of it may be read still, is there more than fits? */
	FRAME_LEFT = 216,
	FRAME_OVER = 224,
	FRAME_LEN = 232,
};

#define RED_ZONE  X86_DISTANCE
#define FRAME_ALL (RED_ZONE + FRAME_LEN)

extern const struct gen_loads gen64_loads;
extern const struct gen_returns gen64_returns;
extern const struct gen_calls gen64_calls;
extern const struct gen_records gen64_records;
extern const struct gen_numbers gen64_numbers;
extern const struct gen_scan gen64_scan;
extern const struct gen_tallies gen64_tallies;
extern const struct gen_samples gen64_samples;
extern const struct gen_filters gen64_filters;

/* --- detour_record.c ---------------------------------------------------------------- */

/* The word at %fs:0, to register @to; or g->fail. It is the thread pointer, once a thread was found by it. */
void gen64_thread_pointer(struct gen *g, int to);
void gen64_hash(struct gen *g);

/* --- detour_tally.c ----------------------------------------------------------------- */

/* A number of the record to rcx, widened; @source: what makes it, where there is no record. Clobbers rax. */
void gen64_field(struct gen *g, const struct tally_field *field, const struct fetch_op *source);

/* --- detour_claim.c ----------------------------------------------------------------- */

extern const struct x86_claim gen64_claim_parts;

/* --- detour_return.c ---------------------------------------------------------------- */

/* What the common return code has saved when it goes on in a detour's; the address of the
 * entry is in GEN_HIJACK then. The code that makes an entry uses the same registers. */
#define GEN_HIJACK      G_R11
#define GEN_HIJACK_REGS (1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << G_SI | 1u << G_R11)

extern const struct x86_returns gen64_return_parts;

/* --- detour_time.c ------------------------------------------------------------------ */

/* Both are needed if detour_needs_duration() says so. */
/* On entry, with the offset of its entry in GEN_HIJACK. Clobbers rax and rdx. */
void gen64_note_entry(struct gen *g, label_t trap);
/* On return, with the address of its entry in GEN_HIJACK: FRAME_DURATION. Clobbers rax, rcx, rdx. */
void gen64_duration(struct gen *g);

/* --- detour_fetch.c (struct x86_gen) -------------------------------------------------- */

void gen64_sum(struct gen *g, const struct fetch_op *op, int to);
void gen64_segment_base(struct gen *g, unsigned user_reg, int to);

/* --- detour_load.c ------------------------------------------------------------------ */

/*
 * May @n bytes at R_ACC + @disp be read? Else to gen.fail. Leaves in rdx how far they
 * lie behind the start of the range, in rcx its length less @n. Clobbers rax.
 */
void gen64_check(struct gen *g, int32_t disp, uint32_t n, uint32_t cell);
/* As gen_loads has them. */
void gen64_missed(struct gen *g, const struct gen_miss *m);
void gen64_search(struct gen *g);

/* --- detour_read.c ------------------------------------------------------------------ */

/* Behind a miss, with the program's r10 in FRAME_T10: if nobody traces the process, read by a call of the kernel; else to its .fail. */
void gen64_read_alone(struct gen *g, const struct gen_miss *m);
/* What is at gen.read_call. */
void gen64_put_read(struct gen *g);

/* --- detour_string.c (struct x86_gen) ------------------------------------------------- */

void gen64_string_room(struct gen *g, int32_t limit);
void gen64_find_nul(struct gen *g, label_t none);

#endif
