/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way in and out of detours for 64 bits and for 32, whose frames and registers are others
 * (arch/x86/gen.h, arch/i386/gen.h).
 */

#ifndef UBP_ARCH_X86_WAYS_H
#define UBP_ARCH_X86_WAYS_H

#include "arch/gen.h"
#include "arch/x86/emit.h"

struct x86_frame {
	const int *slots; /* by enum gpr */
	int flags;        /* as lahf and seto have them */
	int len;          /* with what lies between it and the program's stack */
};

void x86_frame_make(struct emit *e, const struct x86_frame *frame);
/* The stack pointer is @above what it was then. */
void x86_frame_end(struct emit *e, const struct x86_frame *frame, int above);
void x86_move_regs(struct gen *g, const struct x86_frame *frame, bool store, uint32_t which);
/* eax, the flags, and the registers of @which. */
void x86_save_first(struct gen *g, const struct x86_frame *frame, uint32_t which);
void x86_restore(struct gen *g, const struct x86_frame *frame, uint32_t which, int above);

/* Register @base has the gate's word: the rings, or to @trap, or to @leave. */
void x86_check_base(struct gen *g, int base, label_t trap, label_t leave);

void x86_breakpoint(struct emit *e);
void x86_align(struct emit *e);

#define INT3 0xcc

#endif
