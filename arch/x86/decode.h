/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions and their parts. "bits" tells the mode that the code runs in, 32 or 64. */

#ifndef UBP_ARCH_X86_DECODE_H
#define UBP_ARCH_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86/known.h"
#include "arch/x86/split.h"

/* Full decoding, and the parts. Returns 0, -EILSEQ or -ENOMEM. Any thread. */
int x86_decode(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
	       struct x86_decoded *ret_insn, struct x86_parts *ret_parts);

/* The same of an instruction that one like it was decoded of, without the text, which is empty. False: none was. */
bool x86_decode_known(unsigned bits, const uint8_t *code, size_t len,
		      struct x86_decoded *ret_insn, struct x86_parts *ret_parts);

/* As x86_insn_len(), of code for @bits bits. */
int x86_len(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr);
/* Bytes of the instruction; 0: it is none. */
int x86_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);

#endif
