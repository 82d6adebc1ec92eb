/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: strings. */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_STRING_H
#define UBP_ARCH_X86_COMMON_DETOUR_STRING_H

#include "arch/x86/common_gen.h"

extern const struct gen_strings x86_strings;

/* Where the next string goes: from the frame to .regs.end, or from register @reg, if it is there. */
void x86_load_end(struct gen *g);
void x86_store_end(struct gen *g, int reg);
/* rax = how far behind the data's start the next string goes; OP_W in @w: as a whole word. */
void x86_end_offset(struct gen *g, unsigned w);

#endif
