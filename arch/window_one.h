/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows where a jump is one word, no longer than the shortest instruction: a window is one
 * instruction, and its copy is what its slot is. Nothing can be under the jump but its start; what
 * is left of an instruction of several words runs by itself no more than before.
 *
 * What each does, and returns, is what arch/arch.h says of the member of its name; @arch's
 * insn.analyze(), slot.build() and slot.leave() do it.
 */

#ifndef UBP_ARCH_WINDOW_ONE_H
#define UBP_ARCH_WINDOW_ONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

int window_one_find(const struct ubp_arch *arch, const uint8_t *code, size_t len,
		    uint64_t vaddr, struct window *ret_window, struct ubp_err *err);
int window_one_copy(const struct ubp_arch *arch, const struct window *window, uint64_t vaddr,
		    struct window_copy *ret_copy, struct ubp_err *err);
bool window_one_leave(const struct ubp_arch *arch, const struct window *window, uint64_t vaddr,
		      struct ubp_regs *regs);

#endif
