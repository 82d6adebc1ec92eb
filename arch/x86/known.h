/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instructions that were decoded before. Functions begin alike, and each is looked at several times: before it is probed,
 * for its window, for its detour. Not for several threads at once: decode.c has the lock.
 */

#ifndef UBP_ARCH_X86_KNOWN_H
#define UBP_ARCH_X86_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/split.h"

/* What an instruction is. */
struct x86_decoded {
	uint8_t len;
	bool rip_relative;
	char text[80];
};

/*
 * How long it is, and its parts, if one like it is known: with the same prefixes, opcode and modrm byte, and of those whose numbers
 * change nothing else. 0: none is.
 */
uint8_t known_len(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *ret_parts);
/* False: it is not known. */
bool known_find(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
		struct x86_decoded *ret_insn);
/* @insn stands at @vaddr, its bytes at @code. */
void known_add(unsigned bits, const uint8_t *code, uint64_t vaddr,
	       const struct x86_decoded *insn);

#endif
