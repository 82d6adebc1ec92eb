/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings in a record: what 64 bits do in another way (common_detour_string.c has the rest). */

#include "arch/x86/gen.h"

void gen64_find_nul(struct gen *g, label_t none)
{
	struct emit *e = &g->e;

	g->needs_words = true;
	emit_rm(e, OP_LOAD | OP_W, G_DX, MEM_LABEL(g->low_bits));
	emit_rr(e, OP_ADD | OP_W, G_DX, G_AX);
	emit_rr(e, 0xf7 | OP_W, 2, G_AX); /* not */
	emit_rr(e, OP_AND | OP_W, G_DX, G_AX);
	emit_rm(e, OP_AND | OP_W, G_DX, MEM_LABEL(g->high_bits));
	emit_jcc(e, COND_E, none);
	emit_rr(e, OP_BSF | OP_W, G_DX, G_DX);
	emit_shift(e, 0, SHIFT_R, G_DX, 3);
}

void gen64_string_room(struct gen *g, int32_t limit)
{
	struct emit *e = &g->e;

	emit_rr(e, OP_SUB | OP_W, G_CX, G_DX);
	emit_alu(e, OP_W, ALU_ADD, G_CX, 1);
	emit_rm(e, OP_LEA, G_DX, MEM(R_RECORD, limit));
	emit_rr(e, OP_SUB | OP_W, G_DX, R_END);
	emit_rr(e, OP_CMP | OP_W, G_CX, G_DX);
	emit_rr(e, OP_CMOV(COND_A) | OP_W, G_CX, G_DX);
}
