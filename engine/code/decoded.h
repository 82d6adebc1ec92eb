/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instructions of functions, decoded from their starts and kept for as long as
 * questions stay near: asking for all of a function costs one walk through it.
 */

#ifndef UBP_CODE_DECODED_H
#define UBP_CODE_DECODED_H

#include <stdint.h>

struct object;

struct decoded_insn {
	uint64_t start; /* elf_vaddr */
	uint8_t len;
	const uint8_t *code; /* until the next question */
};

/*
 * The instruction that holds @elf_vaddr. Returns 0; -ENOENT: no function is known
 * there; -EILSEQ: bytes before it that are no instruction; -ENOTSUP: no decoder;
 * -ENOMEM, -EIO.
 */
int decoded_at(struct object *object, uint64_t elf_vaddr, struct decoded_insn *ret_insn);

#endif
