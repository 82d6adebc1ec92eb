/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Code that has the effect of a displaced instruction. What struct ubp_arch (arch/arch.h) has
 * a member for is described there.
 */

#ifndef UBP_ARCH_PPC64EL_SLOT_H
#define UBP_ARCH_PPC64EL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

/* b from @from to @to; false: too far. */
bool ppc64el_encode_b(uint64_t from, uint64_t to, uint32_t *ret_word);
/* Code that has the effect of @insn. */
int ppc64el_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		       struct slot_code *ret_code, struct ubp_err *err);
/* Of a thread in such code: its registers as they would be in the program. */
bool ppc64el_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
			uint64_t slot_vaddr, struct ubp_regs *regs);
/* Code that leads to @target. */
void ppc64el_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code);

#endif
