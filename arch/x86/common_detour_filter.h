/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: predicates of filters (struct gen_filters). */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_FILTER_H
#define UBP_ARCH_X86_COMMON_DETOUR_FILTER_H

#include "arch/x86/common_detour_fetch.h"
#include "arch/x86/common_gen.h"

/* To rax, extended to 32 or 64 bits: those may be in rdx and rax. */
void x86_number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg);
/* The instruction that loads the predicate's number so. */
unsigned x86_load_extended(const struct filter_pred *pred);
/* What it is compared for, after a cmp, or a test for FILTER_AND. */
enum cond x86_cond_of(const struct filter_pred *pred);
/* Texts are at rdi, rcx bytes with the NUL. */
void x86_text(struct gen *g, const struct filter_pred *pred);
void x86_compare_length(struct gen *g, uint32_t len);
void x86_skip_to_tail(struct gen *g, uint32_t len);
void x86_compare_bytes(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
		       label_t no);

/* What both tables have alike. */
/* clang-format off */
#define X86_GEN_FILTERS \
	.not_equal = COND_NE, \
	.above = COND_A, \
	.below = COND_B, \
	.scratch = G_AX, \
	.live = x86_live, \
	.number = x86_number, \
	.text = x86_text, \
	.compare_length = x86_compare_length, \
	.skip_to_tail = x86_skip_to_tail, \
	.compare_bytes = x86_compare_bytes
/* clang-format on */

#endif
