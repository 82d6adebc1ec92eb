/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The words of an instruction, for people. */

#ifndef UBP_ARCH_ARM64_TEXT_H
#define UBP_ARCH_ARM64_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The words of an instruction for people. */
void arm64_disassemble(uint32_t word, uint64_t vaddr, char *text, size_t size);

#endif
