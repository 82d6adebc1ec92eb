/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: return probes (struct gen_returns). common_return_code.c has x86_return_code(). */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_RETURN_H
#define UBP_ARCH_X86_COMMON_DETOUR_RETURN_H

#include "arch/x86/common_gen.h"

void x86_hijack(struct gen *g, label_t back, label_t trap, label_t leave, const label_t *call);
void x86_come_back(struct gen *g, label_t gone);
void x86_at_ret(struct gen *g);
void x86_return_code(struct gen *g, uint64_t hijacks, uint64_t mask, uint64_t trampoline);
/* What both tables have alike. */
#define X86_GEN_RETURNS                                                                        \
	.hijack = x86_hijack, .come_back = x86_come_back, .common = x86_return_code

/* Does the function take its return address off the stack right away? Or do that with an
 * instruction that @reads tells, unless that is NULL. */
bool x86_touches_return(const struct detour_plan *plan,
			bool (*reads)(const uint8_t *code, size_t len));

/* --- the table of return addresses (arch/guard.h) --------------------------------- */

/* struct guard_hijack has 1 << X86_HIJACK_SHIFT bytes. */
#define X86_HIJACK_SHIFT 5
/* Member of the entry whose offset is in register @at, of the table at @table. */
struct emit_mem x86_hijack_mem(const struct gen *g, uint64_t table, int at, size_t member);
/* Make the offset of the first entry to look at for a stack word, whose address register @word has, in another one, @at; of an
 * offset, the next one. */
void x86_hijack_offset(struct gen *g, uint64_t mask, int at, int word);
void x86_hijack_next(struct gen *g, uint64_t mask, int at);
/* Member of an entry, by .hijack (struct x86_returns), its offset in the table; of one that was found. */
struct emit_mem x86_entry_mem(const struct gen *g, uint64_t table, size_t member);
struct emit_mem x86_found_mem(const struct gen *g, size_t member);
/* .hijack: offset of the first entry to look at for .word; of the next one. */
void x86_first_entry(struct gen *g, uint64_t mask);
void x86_next_entry(struct gen *g, uint64_t mask);
/* One was found: .hijack becomes its address, if that is what x86_found_mem() wants. */
void x86_make_found(struct gen *g, uint64_t table);
/* The word where the way home goes by. */
struct emit_mem x86_way_home(const struct gen *g);
/* To @yes if rax may be what a call of a detour has put into a stack word (guard_may_be_called()). */
void x86_if_called(struct gen *g, int scratch, label_t yes);
/* Compare rax with @address. Clobbers rcx in 64 bits. */
void x86_compare_address(struct gen *g, uint64_t address);

#endif
