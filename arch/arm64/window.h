/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows, which are what stands under a jump, and their copies. What struct ubp_arch
 * (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_ARM64_WINDOW_H
#define UBP_ARCH_ARM64_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* The table, whose windows arch/window_one.h makes. */
extern const struct ubp_arch ubp_arch_arm64;

/* The instructions that a jump at @vaddr takes the place of. */
int arm64_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		      struct window *ret_window, struct ubp_err *err);
/* Is the first one what indirect branches have to lead to? */
bool arm64_is_landing_pad(const struct window *window);
/* The copy: the window's instructions, for another place. */
int arm64_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		     struct ubp_err *err);
/* Of a thread in such a copy: its registers as they would be in the program. */
bool arm64_copy_leave(const struct window *window, const struct window_copy *copy,
		      uint64_t vaddr, struct ubp_regs *regs);
/* The jump itself. */
int arm64_build_jump(const struct window *window, uint64_t site, uint64_t target,
		     uint8_t *ret_jump, struct ubp_err *err);

#endif
