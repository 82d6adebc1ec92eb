/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files that write detours share: detour.c the block, detour_record.c the record,
 * detour_fetch.c its data, detour_value.c numbers, detour_load.c pointers in the program,
 * detour_string.c strings, detour_filter.c filters, detour_return.c the way back, detour_time.c
 * how long it took, detour_stack.c the stack.
 *
 * As arch/x86 does it, with fewer registers: numbers of 64 bits are in edx and eax, and the end
 * of what is written so far is in the frame. The frame lies below the stack pointer, which does
 * not move meanwhile.
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

#include "arch/detour_parts.h"
#include "arch/x86/emit.h"
#include "engine/base/ring.h"

/* eax, ecx, edx: scratch; ebx: too, once all registers are saved. */
#define R_BASE G_SI /* of the rings */
#define R_THREAD                                                                               \
	G_DI /* struct ring_thread, until the record's head is written; then in the frame */
#define R_ACC    G_DI /* the accumulator: addresses in the program */
#define R_RECORD G_BP
#define R_END    G_BX /* FRAME_END, while it is worked with */

/* More instructions than arch/x86/emit.h names. */
#define OP_ADD_TO    0x01 /* reg to r/m */
#define OP_ADC_TO    0x11
#define OP_SBB       0x1b           /* r/m to reg */
#define OP_SHLD      (0xa4 | OP_0F) /* by a number: bits from reg into r/m */
#define OP_SHRD      (0xac | OP_0F)
#define OP_CMPXCHG8B (0xc7 | OP_0F)         /* digit 1 */
#define OP_MOVD_FROM (0x7e | OP_0F | OP_66) /* xmm (.reg) to r/m */
#define OP_MOVQ_TO   (0xd6 | OP_0F | OP_66) /* xmm (.reg) to memory */

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

/*
 * Nothing may be kept below the stack pointer here. Code by hand may do so all the same, and
 * return addresses that a callee left there are looked for.
 */
#define DISTANCE  128
#define FRAME_ALL (DISTANCE + FRAME_LEN)

#define ALL_REGS                                                                               \
	(1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << G_BX | 1u << G_SI | 1u << G_DI |         \
	 1u << G_BP)

/* A check of a pointer that did not find its range in its cell. */
struct gen32_miss {
	label_t at, retry, fail;
	int32_t disp;
	uint32_t n;
	uint32_t cell;
};

/* Bytes behind the code. */
struct gen32_literal {
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
	struct gen32_miss *misses;
	size_t n_misses, cap_misses;
	struct gen32_literal *literals;
	size_t n_literals, cap_literals;
	size_t cap_loads;
};

/* The upper half of what is in memory. */
static inline struct emit_mem gen32_upper(struct emit_mem mem)
{
	mem.disp += 4;
	return mem;
}

/* --- detour.c ----------------------------------------------------------------------- */

/* Where in the frame a register's value is. */
int gen32_slot(int gpr);
/* The next instruction may fault; the thread goes on at the label then. */
void gen32_may_fault(struct gen *g, label_t fixup);
/* Bytes that code refers to. They must live as long as @g. */
label_t gen32_literal(struct gen *g, const void *bytes, size_t len);
/* Out of memory. */
void gen32_fail(struct gen *g, int error);
/* The first of all: room for the frame. */
void gen32_frame(struct emit *e);
/* Then eax, the flags, and the registers of @which; none was clobbered before. */
void gen32_save_first(struct gen *g, uint32_t which);
/* The gate, to @reg. */
void gen32_gate(struct gen *g, int reg, label_t trap);
/* Flags, the registers of @which; the stack pointer to @above what it was. */
void gen32_restore(struct gen *g, uint32_t which, int above);

/* --- detour_record.c ---------------------------------------------------------------- */

/* From the filter's yes on, for probe @i of the plan. Then to @done; to @trap where it can't be
 * done. */
void gen32_record(struct gen *g, label_t done, label_t trap, size_t i);
/* The filter said no. */
void gen32_count_dropped(struct gen *g);

/* --- detour_return.c ---------------------------------------------------------------- */

/* What the common return code has saved when it goes on in a detour's; the address of the
 * entry is in GEN_HIJACK then. The code that makes an entry uses the same ones. */
#define GEN_HIJACK      G_SI
#define GEN_HIJACK_REGS (1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << G_SI)

/* Is it a table that the code can use? */
bool gen32_can_hijack(uint64_t hijacks, uint64_t mask);
/* Does the function take its return address off the stack right away, or read it there? */
bool gen32_pops_return(const struct window *window);
/* On entry, with GEN_HIJACK_REGS saved: replace the return address. To @trap: it can't be
 * done; to @leave: the gate has changed. @back: the detour's return code. */
void gen32_hijack(struct gen *g, label_t back, label_t trap, label_t leave);
/* On return, as it comes from the common code: the entry is over, the real address is in
 * the frame and in its word. To @gone if it was over just now: the word has been put right. */
void gen32_come_back(struct gen *g, label_t gone);

/* --- detour_time.c ------------------------------------------------------------------ */

/* Both are needed if detour_needs_duration() says so. */
/* On entry, with the address of its entry in GEN_HIJACK. Clobbers eax and edx. */
void gen32_note_entry(struct gen *g, label_t trap);
/* On return, with the address of its entry in GEN_HIJACK: FRAME_DURATION. Clobbers eax, ecx, edx. */
void gen32_duration(struct gen *g);

/* --- detour_fetch.c ----------------------------------------------------------------- */

/* All data of the record. */
void gen32_data(struct gen *g);

/* --- detour_value.c ----------------------------------------------------------------- */

/* Instructions for so many bytes, 1 2 4; for 8 that of a half. */
unsigned gen32_load_op(unsigned size);
unsigned gen32_store_op(unsigned size);
/* The register that has the value of @user_reg now, or G_NONE. */
int gen32_live(const struct gen *g, unsigned user_reg);
/* Why a source or a step can't be made; NULL: it can. */
const char *gen32_check_source(const struct fetch_op *op);
/* All that comes in front of the store, to R_ACC. Returns the store. */
const struct fetch_op *gen32_address(struct gen *g, const struct fetch_op *op);
/* Value of a numeric arg: the accumulator of @op's arg, or what it points to, in eax with
 * bit-fields cut and zeros above its size; of 8 bytes, the upper half is in edx. Clobbers ecx,
 * edx; where it has loads, R_ACC. */
void gen32_value(struct gen *g, const struct fetch_op *op);
/* Keep the bits of a field in eax (of 8 bytes: edx, eax). */
void gen32_cut_bits(struct emit *e, const struct fetch_op *op);

/* Data of the record, that many bytes behind its start. */
static inline struct emit_mem gen32_data_at(uint32_t at)
{
	return MEM(R_RECORD, RECORD_DATA + (int32_t)at);
}

/* --- detour_load.c ------------------------------------------------------------------ */

/*
 * May @n bytes at R_ACC + @disp be read? Else to gen.fail. Leaves in ecx how far they
 * lie behind the start of the range, in eax its length less @n. Clobbers edx.
 */
void gen32_check(struct gen *g, int32_t disp, uint32_t n, uint32_t cell);
/* Addresses wrap around at 32 bits. */
static inline int32_t gen32_disp(uint64_t imm)
{
	return (int32_t)(uint32_t)imm;
}

/* A load of what was checked; memory may have gone meanwhile: then to gen.fail. */
void gen32_load(struct gen *g, unsigned op, int reg, struct emit_mem mem);
/* At the end of the block: checks that missed. */
void gen32_misses(struct gen *g);

/* --- detour_string.c ---------------------------------------------------------------- */

/* The string at the accumulator, or all those of an array of pointers there. */
void gen32_string(struct gen *g, const struct fetch_op *op);
/* The thread's name. */
void gen32_comm(struct gen *g, const struct fetch_op *op);
/* Its address, to @reg; clobbers nothing else. */
void gen32_comm_address(struct gen *g, int reg);
/* What could not be read: a place and no length. */
void gen32_fault(struct gen *g, const struct fetch_op *op);

/* --- detour_stack.c ----------------------------------------------------------------- */

/* Bytes that it takes in a record of so many; at most. */
uint32_t gen32_stack_max(const struct gen *g);
/* The stack, behind the data that ends before FRAME_END; moves that on. Clobbers all scratch and R_ACC. */
void gen32_stack(struct gen *g);

/* --- detour_filter.c ---------------------------------------------------------------- */

/* What its filter needs and tells before there is a record. */
struct detour_early gen32_filter_look(const struct gen *g, const struct detour_probe *probe);
/* Code that goes to @drop, or on to what follows. */
void gen32_filter_early(struct gen *g, label_t drop);
/* The same with the record. Returns whether the reader need not look any more. */
bool gen32_filter_late(struct gen *g, label_t drop);

#endif
