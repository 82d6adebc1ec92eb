/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Who may jump where, and what is between functions. What struct ubp_arch (arch/arch.h) has a
 * member for is described there.
 */

#ifndef UBP_ARCH_X86_REFS_H
#define UBP_ARCH_X86_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* As x86_fill_len(), of code for @bits bits. */
size_t x86_fill(unsigned bits, const uint8_t *code, size_t len);

/* All that may be a reference in @code. */
void x86_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		   void (*each)(void *ctx, uint64_t at, uint64_t target, enum code_ref kind),
		   void *ctx);
/* Bytes of it that are fill: nops, breakpoints, zeros. */
size_t x86_fill_len(const uint8_t *code, size_t len);
/* Bytes of the check of the stack that Go's functions begin with; 0: none. */
size_t x86_go_check_len(const uint8_t *code, size_t len);
/* Has it a number of 4 bytes or more at @at? */
bool x86_has_number_at(const struct displaced_insn *insn, size_t at);
/* As in struct arch_insn: how many entries the table has that the lea at @code + @at is about. */
uint64_t x86_table_len(const uint8_t *code, size_t len, size_t at, size_t *ret_load);
/* Is the address of a lea at @code only stored, off the stack, in front of a call? */
bool x86_only_stores_address(const uint8_t *code, size_t len);

#endif
