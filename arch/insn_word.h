/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions that are words of 4 bytes: little endian, whatever data and we are. */

#ifndef UBP_ARCH_INSN_WORD_H
#define UBP_ARCH_INSN_WORD_H

#include <stdint.h>

static inline uint32_t insn_word(const uint8_t *code)
{
	return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

static inline void insn_put_word(uint8_t *code, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		code[i] = (uint8_t)(word >> 8 * i);
}

#endif
