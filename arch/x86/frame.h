/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stacks: DWARF's numbers of registers, and the frames of signals. */

#ifndef UBP_ARCH_X86_FRAME_H
#define UBP_ARCH_X86_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By DWARF's numbers: indexes into struct ubp_regs, and where signal frames have them. */
#define X86_N_DWARF_REGS 17
extern const uint8_t x86_dwarf_regs[X86_N_DWARF_REGS];
extern const uint16_t x86_sigframe_at[X86_N_DWARF_REGS];

/* Is @code what signal handlers return to? */
bool x86_is_sigreturn(const uint8_t *code, size_t len);

#endif
