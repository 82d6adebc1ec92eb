/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/page.h"

#include <stdint.h>

/* The makefile tells the assembler where the files are. */
#define PART(name, file)                                                                       \
	__asm__(".pushsection .rodata\n"                                                       \
		".globl picture_page_" name "\n"                                               \
		".hidden picture_page_" name "\n"                                              \
		".type picture_page_" name ", %object\n"                                       \
		".balign 8\n"                                                                  \
		"picture_page_" name ":\n"                                                     \
		".incbin \"" file "\"\n"                                                       \
		"picture_page_" name "_end:\n"                                                 \
		".byte 0\n"                                                                    \
		".globl picture_page_" name "_end\n"                                           \
		".hidden picture_page_" name "_end\n"                                          \
		".size picture_page_" name ", . - picture_page_" name "\n"                     \
		".popsection\n")

PART("head", "page.head");
PART("tail", "page.tail");

extern const char picture_page_head_end[], picture_page_tail_end[];

size_t picture_page_head_len(void)
{
	return (uintptr_t)picture_page_head_end - (uintptr_t)picture_page_head;
}

size_t picture_page_tail_len(void)
{
	return (uintptr_t)picture_page_tail_end - (uintptr_t)picture_page_tail;
}
