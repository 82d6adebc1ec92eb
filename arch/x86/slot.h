/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Code that has the effect of a displaced instruction. What struct ubp_arch (arch/arch.h) has
 * a member for is described there.
 */

#ifndef UBP_ARCH_X86_SLOT_H
#define UBP_ARCH_X86_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

/* As x86_build_slot_jump(), of code for @bits bits. */
void x86_slot_jump(unsigned bits, uint64_t slot_vaddr, uint64_t target,
		   struct slot_code *ret_code);
/* Code that leads to @target. */
void x86_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code);
/* Code that has the effect of @insn. */
int x86_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		   struct slot_code *ret_code, struct ubp_err *err);
/* Of a thread in such code: its registers as they would be in the program. */
bool x86_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
		    uint64_t slot_vaddr, struct ubp_regs *regs);
/* Does a thread behind @insn look as if it had carried it out? */
bool x86_looks_done(const struct displaced_insn *insn, const struct ubp_regs *regs,
		    uint64_t top);

#endif
