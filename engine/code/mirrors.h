/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Jumps that a debugger's breakpoints do not break: where an instruction of the program begins in them, a breakpoint stands already. */

#ifndef UBP_CODE_MIRRORS_H
#define UBP_CODE_MIRRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct ubp_arch;
struct window;

/* Below, the kernel maps nothing (vm.mmap_min_addr). */
#define MIRRORS_LOWEST 0x10000ULL

/* Is byte @at of a jump one? Also if it is none of its bytes. */
bool mirrors_is_breakpoint(const struct ubp_arch *arch, const uint8_t *jump, size_t jump_len,
			   size_t at);
/* Is that so in the jump at @site, over @window, to @to? */
bool mirrors_serve(const struct ubp_arch *arch, const struct window *window, uint64_t site,
		   uint64_t to);

/*
 * As far as the file tells: will it be so in the jump over @window? Then it is let go of with that. Perhaps: that depends on what memory of
 * the process is free.
 */
enum mirrors_answer { MIRRORS_SERVE, MIRRORS_PERHAPS, MIRRORS_NEVER };
enum mirrors_answer mirrors_ask(const struct object *object, const struct window *window);

#endif
