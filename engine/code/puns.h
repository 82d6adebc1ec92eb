/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where punned jumps (arch/detour.h) may lead. */

#ifndef UBP_CODE_PUNS_H
#define UBP_CODE_PUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct window;

/*
 * Choose what makes a punned jump of @window, whose instructions and length are known: @code, @len bytes, is what stands at
 * @elf_vaddr, at @foffset of the file. False: none leads to where memory may be free, whatever the process has mapped.
 */
bool puns_choose(struct object *object, uint64_t elf_vaddr, uint64_t foffset,
		 const uint8_t *code, size_t len, struct window *window);

#endif
