/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stacks: DWARF's numbers of registers, and the frames of signals. */

#ifndef UBP_ARCH_PPC64EL_FRAME_H
#define UBP_ARCH_PPC64EL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far behind its symbol a function is entered. */
uint64_t ppc64el_entry_off(uint8_t st_other);

/* r0 to r31; the link register is 65; 64 is nobody's and stands for the pc. */
#define PPC64EL_N_DWARF_REGS 66
extern const uint8_t ppc64el_dwarf_regs[PPC64EL_N_DWARF_REGS];
extern const uint16_t ppc64el_sigframe_at[PPC64EL_N_DWARF_REGS];

/* Is @code what signal handlers return to? */
bool ppc64el_is_sigreturn(const uint8_t *code, size_t len);
/* Where such code, of which there are several kinds, finds registers. */
const uint16_t *ppc64el_sigframe_of(const uint8_t *code, size_t len);

#endif
