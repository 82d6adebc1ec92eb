/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: ways in and out, and what all parts of them need. */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_H
#define UBP_ARCH_X86_COMMON_DETOUR_H

#include "arch/x86/common_gen.h"

/* --- ways in and out (struct gen_isa) --------------------------------------------- */

/* Where in the frame the register's value is. */
struct emit_mem x86_slot(const struct gen *g, int gpr);
void x86_enter(struct gen *g, label_t no_stack);
void x86_undo_frame(struct gen *g);
void x86_move_regs(struct gen *g, bool store, uint32_t which);
/* rax, the flags, the registers of @which. */
void x86_save_first(struct gen *g, uint32_t which);
/* The first of all: the frame, then the same. */
void x86_begin(struct gen *g, uint32_t which);
/* On return the stack pointer is .ret_below what it is to be. */
void x86_restore(struct gen *g, uint32_t which, enum gen_way way);
void x86_lead_again(struct gen *g);
/* Has the tracer died, whose rings are in .regs.base? Then the zero flag is clear; to @fixup where that cannot be read. */
void x86_test_owner(struct gen *g, label_t fixup);
/* The same of one that can be read. */
void x86_test_owner_died(struct gen *g);
/* The gate, to @reg; where it cannot be read, to @fixup. */
void x86_gate(struct gen *g, int reg, label_t fixup);
void x86_find_base(struct gen *g, label_t trap, label_t leave);
void x86_jump_if(struct emit *e, unsigned cond, label_t label);
void x86_breakpoint(struct emit *e);
void x86_align(struct emit *e);

/* What both tables have alike; the other headers of this folder, common_detour_*.h and window.h, declare the rest of it. */
/* clang-format off */
#define X86_GEN_ISA \
	.fill = INT3, \
	.fix = x86_fix, \
	.strings = &x86_strings, \
	.stacks = &x86_stacks, \
	.build_copy = x86_build_copy, \
	.enter = x86_enter, \
	.undo_frame = x86_undo_frame, \
	.save_first = x86_save_first, \
	.move_regs = x86_move_regs, \
	.restore = x86_restore, \
	.lead_again = x86_lead_again, \
	.find_base = x86_find_base, \
	.jump = emit_jmp, \
	.jump_if = x86_jump_if, \
	.breakpoint = x86_breakpoint, \
	.align = x86_align
/* clang-format on */

/* --- nobody traces the process ---------------------------------------------------- */

/*
 * How often a thread that waits for ubp looks whether it has come; pause takes some 4 to 70 ns in between. No clock is read, for the
 * program may have forbidden that. Who is alive comes in a few milliseconds, where it gets a processor.
 */
#define X86_WAIT_ROUNDS 5000000

/*
 * One more in 64 bits of memory; where that faults, to *@fixup, unless it is NULL. In 32 bits by halves: the upper one when the lower
 * one is full. Others who do so at the same time, between the two steps, too, make it no other sum.
 */
void x86_count_up(struct gen *g, unsigned lock, struct emit_mem mem, const label_t *fixup);
/* The same, locked, for the word @at of struct ring_head, whose address is in .regs.base. */
void x86_count_in_head(struct gen *g, size_t at, label_t fixup);
/* struct gen_records. */
void x86_unless_alone(struct gen *g, label_t leave);
/* struct gen_bell (common_detour_bell.c). */
void x86_bell(struct gen *g, bool is_full, label_t traced, label_t leave);

/* --- the stack that is looked through (struct gen_scan) --------------------------- */

/* Registers. */
struct x86_scan {
	int at, stop;
};

/*
 * .at is the first word of the thread's stack to look at, .stop is where they end; to @trap if that is
 * not for the detour to do, to @leave if nobody records.
 */
void x86_scan_begin(struct gen *g, const struct x86_scan *scan, label_t trap, label_t leave);
/* To @next for the next word, or on behind the last one. */
void x86_scan_next(struct gen *g, const struct x86_scan *scan, label_t next);

/* --- the time --------------------------------------------------------------------- */

/* rdx, rax: the time, ecx: the processor. @cpu_vaddr: where a thread has that. */
void x86_read_clock(struct gen *g, struct emit_mem cpu_vaddr);
/* rax = what rdx and rax have of 64 bits; where that is one word. */
void x86_join(struct emit *e);
/* rdx, rax: the time when all that came before is done. Clobbers rcx. */
void x86_read_clock_behind(struct gen *g);

/* --- pointers in the program ------------------------------------------------------ */

/* A displacement for @imm; what does not fit goes into the accumulator. Clobbers rax. */
int32_t x86_disp(struct gen *g, uint64_t imm);
/* A load of what was checked; memory may have gone meanwhile: then to gen.fail. */
void x86_load(struct gen *g, unsigned op, int reg, struct emit_mem mem);

/* --- numbers ---------------------------------------------------------------------- */

/* Instructions for so many bytes, zeros above them; 32 bits: of 8 the lower half. */
unsigned x86_load_op(unsigned size);
unsigned x86_store_op(unsigned size);

#endif
