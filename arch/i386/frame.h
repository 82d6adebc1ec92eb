/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stacks: DWARF's numbers of registers, and the frames of signals. */

#ifndef UBP_ARCH_I386_FRAME_H
#define UBP_ARCH_I386_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By DWARF's numbers: indexes into struct ubp_regs, and where signal frames have them. */
#define I386_N_DWARF_REGS 9
extern const uint8_t i386_dwarf_regs[I386_N_DWARF_REGS];
extern const uint16_t i386_sigframe_at[I386_N_DWARF_REGS];

/* Is @code what signal handlers return to? */
bool i386_is_sigreturn(const uint8_t *code, size_t len);
/* Where such code, of which there are several kinds, finds registers. */
const uint16_t *i386_sigframe_of(const uint8_t *code, size_t len);

#endif
