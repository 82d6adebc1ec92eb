/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stacks: DWARF's numbers of registers, and the frames of signals. */

#ifndef UBP_ARCH_ARM64_FRAME_H
#define UBP_ARCH_ARM64_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* x0..x30, sp, pc. */
#define ARM64_N_DWARF_REGS 33
extern const uint8_t arm64_dwarf_regs[ARM64_N_DWARF_REGS];
extern const uint16_t arm64_sigframe_at[ARM64_N_DWARF_REGS];

/* Is @code what signal handlers return to? */
bool arm64_is_sigreturn(const uint8_t *code, size_t len);

#endif
