/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The words of an instruction, for people. */

#ifndef UBP_ARCH_PPC64EL_TEXT_H
#define UBP_ARCH_PPC64EL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The words of an instruction for people. */
void ppc64el_disassemble(const uint8_t *code, size_t len, uint64_t vaddr, char *text,
			 size_t size);

#endif
