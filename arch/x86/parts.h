/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What detours for 64 bits and for 32 have in common, whose frames and most of whose registers are
 * others (arch/x86/gen.h, arch/i386/gen.h). rax, rcx, rdx are scratch, rdi is the accumulator.
 */

#ifndef UBP_ARCH_X86_PARTS_H
#define UBP_ARCH_X86_PARTS_H

#include "arch/gen.h"
#include "arch/x86/emit.h"
#include "arch/x86/x86.h"

#define INT3 0xcc

/* --- ways in and out (struct gen_isa) --------------------------------------------------- */

/* Its .frame. */
struct x86_frame {
	const int *slots; /* of registers, by enum gpr */
	int flags;        /* as lahf and seto have them */
	int len;          /* with what lies between it and the program's stack */
};

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
/* Register @base has the gate's word: the rings, or to @trap, or to @leave. */
void x86_check_base(struct gen *g, int base, label_t trap, label_t leave);
void x86_jump_if(struct emit *e, unsigned cond, label_t label);
void x86_breakpoint(struct emit *e);
void x86_align(struct emit *e);

/* --- the stack that is looked through (struct gen_scan) ---------------------------------- */

/* Registers: of the rings, of the records' find_thread(), and what is looked at. */
struct x86_scan {
	int base, thread, at, stop;
};

/*
 * Register .base has the gate's word. .at is the first word of the thread's stack to look at, .stop
 * is where they end; to @trap if that is not for the detour to do, to @leave if nobody records.
 */
void x86_scan_begin(struct gen *g, const struct x86_scan *scan, label_t trap, label_t leave);
/* To @next for the next word, or on behind the last one. */
void x86_scan_next(struct gen *g, const struct x86_scan *scan, label_t next);

/* --- the record ----------------------------------------------------------------------- */

/* rdx, rax: the time, ecx: the processor. @cpu_vaddr: where a thread has that. */
void x86_read_clock(struct gen *g, struct emit_mem cpu_vaddr);
/* rdx, rax: the time when all that came before is done. Clobbers rcx. */
void x86_read_clock_behind(struct gen *g);

/* --- numbers -------------------------------------------------------------------------- */

/* Instructions for so many bytes, zeros above them; 32 bits: of 8 the lower half. */
unsigned x86_load_op(unsigned size);
unsigned x86_store_op(unsigned size);
/* The predicate's number, extended to 32 or 64 bits. */
unsigned x86_load_extended(const struct filter_pred *pred);
/* What it is compared for, after a cmp, or a test for FILTER_AND. */
enum cond x86_cond_of(const struct filter_pred *pred);

/* --- texts: at rdi, ecx bytes with the NUL (struct gen_filters) ---------------------------- */

/* The string whose word is at .at of the data, in register @record. */
void x86_text_of_data(struct emit *e, int record, const struct filter_pred *pred);
void x86_compare_length(struct gen *g, uint32_t len);
void x86_skip_to_tail(struct gen *g, uint32_t len);
void x86_compare_bytes(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
		       label_t no);

#endif
