/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions as words, for the tests of arch/arm64. */

#ifndef UBP_TESTS_ARM64_WORDS_H
#define UBP_TESTS_ARM64_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Where the program has the instruction. */
#define WORDS_AT UINT64_C(0x55550000)

const struct ubp_arch *words_arch(void);

/* analyze_insn() of one word; resets @err. */
int words_analyze(uint32_t word, uint64_t vaddr, struct displaced_insn *insn,
		  struct ubp_err *err);

/* "d503201f d65f03c0" to bytes. Returns how many. */
size_t words_parse(const char *text, uint8_t *code);

#endif
