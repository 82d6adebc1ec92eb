/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows, which are what stands under a jump, and their copies. What struct ubp_arch
 * (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_X86_WINDOW_H
#define UBP_ARCH_X86_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* As x86_find_window(), of code for @bits bits. */
int x86_window(unsigned bits, const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
	       struct window *ret_window, struct ubp_err *err);

/* The same of x86_find_short(). */
int x86_short_window(unsigned bits, const uint8_t *code, size_t len, size_t padding,
		     uint64_t vaddr, struct window *ret_window, struct ubp_err *err);

/* How far from its window a short jump leads. */
#define X86_SHORT_BACK 126
#define X86_SHORT_ON   129

/* The instructions that a jump at @vaddr takes the place of. */
int x86_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		    struct window *ret_window, struct ubp_err *err);
/* The one that a short jump takes the place of. */
int x86_find_short(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		   struct window *ret_window, struct ubp_err *err);
/* Those that a part of a jump, @jump_len bytes, takes the place of. */
int x86_find_punned(const uint8_t *code, size_t len, uint8_t jump_len, uint64_t vaddr,
		    struct window *ret_window, struct ubp_err *err);
bool x86_take_pun(struct window *window, uint8_t n_prefix, const uint8_t *behind);
uint64_t x86_pun_with(const struct pun *pun, uint64_t vaddr, uint64_t hop,
		      unsigned breakpoints);
size_t x86_far_jump(uint64_t to, uint8_t *ret_code);
/* Does nothing that stands behind it run, unless somebody jumps there? */
bool x86_ends_flow(const struct displaced_insn *insn);
/* The copy: the window's instructions, for another place. */
int x86_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		   struct ubp_err *err);
/* Of a thread in such a copy: its registers as they would be in the program. */
bool x86_copy_leave(const struct window *window, const struct window_copy *copy, uint64_t vaddr,
		    struct ubp_regs *regs);
/* The jump itself. */
int x86_build_jump(const struct window *window, uint64_t site, uint64_t target,
		   uint8_t *ret_jump, struct ubp_err *err);

#endif
