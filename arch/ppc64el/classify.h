/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What may be displaced, and how. What struct ubp_arch (arch/arch.h) has a member for is
 * described there.
 */

#ifndef UBP_ARCH_PPC64EL_CLASSIFY_H
#define UBP_ARCH_PPC64EL_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* May it be displaced, and how? */
int ppc64el_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
			 struct displaced_insn *ret_insn, struct ubp_err *err);
/* Make of @insn the instruction that its bytes are at @vaddr. */
void ppc64el_move_insn(struct displaced_insn *insn, uint64_t vaddr);
/* Would the jump, or the return, be taken by a thread with these registers? */
bool ppc64el_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs);

#endif
