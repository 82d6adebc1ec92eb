/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: numbers (struct gen_numbers). */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_FETCH_H
#define UBP_ARCH_X86_COMMON_DETOUR_FETCH_H

#include "arch/x86/common_gen.h"

/* Why code for so many bits does not know the register; NULL: it does. */
const char *x86_check_reg(unsigned bits, unsigned user_reg);
/* The register that has the value of @user_reg now, or G_NONE. */
int x86_live(const struct gen *g, unsigned user_reg);
/* Its value, to register @to. */
void x86_take_reg(struct gen *g, unsigned user_reg, int to);
/* A word of a source that needs no memory, to register @to, which is not rcx. Clobbers rcx. */
void x86_plain_source(struct gen *g, const struct fetch_op *op, int to);
void x86_source(struct gen *g, const struct fetch_op *op);
void x86_deref(struct gen *g, const struct fetch_op *op, uint64_t imm);
void x86_cut_size(struct emit *e, unsigned size);
void x86_load_value(struct gen *g, const struct fetch_op *store);
void x86_address_value(struct gen *g, const struct fetch_op *store);
void x86_store_value(struct gen *g, const struct fetch_op *store);
void x86_zero_array(struct gen *g, const struct fetch_op *op);
int32_t x86_check_array(struct gen *g, const struct fetch_op *op, uint32_t len);
void x86_copy_piece(struct gen *g, int32_t disp, const struct fetch_op *op, uint32_t at,
		    unsigned size);
void x86_copy_loop(struct gen *g, int32_t disp, const struct fetch_op *op, unsigned size,
		   uint32_t n);

#endif
