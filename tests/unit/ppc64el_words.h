/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions as words, for the tests of arch/ppc64el. */

#ifndef UBP_TESTS_PPC64EL_WORDS_H
#define UBP_TESTS_PPC64EL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Where the program has the instruction, and a slot for it. */
#define P64_AT   UINT64_C(0x55550000)
#define P64_SLOT UINT64_C(0x55000040)

const struct ubp_arch *p64_arch(void);

/* "38600001 4e800020" to bytes. Returns how many. */
size_t p64_parse(const char *text, uint8_t *code);

/* analyze_insn() of one instruction, of one word or two; resets @err. */
int p64_analyze(const char *words, uint64_t vaddr, struct displaced_insn *insn,
		struct ubp_err *err);

#endif
