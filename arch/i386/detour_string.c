/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings in a record: what 32 bits do in another way (arch/x86/common_detour_string.c has the rest). */

#include "arch/i386/gen.h"

/* w - 0x01.. & ~w & 0x80.. has the high bit of the first byte that is 0. */
void gen32_find_nul(struct gen *g, label_t none)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_DX, MEM(G_AX, -0x01010101));
	emit_rr(e, 0xf7, 2, G_AX); /* not */
	emit_rr(e, OP_AND, G_DX, G_AX);
	emit_alu(e, 0, ALU_AND, G_DX, (int32_t)0x80808080);
	emit_jcc(e, COND_E, none);
	emit_rr(e, OP_BSF, G_DX, G_DX);
	emit_shift(e, 0, SHIFT_R, G_DX, 3);
}

/* There may be no cmov. */
void gen32_string_room(struct gen *g, int32_t limit)
{
	label_t in_range = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rr(e, OP_SUB, G_AX, G_CX);
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_LEA, G_CX, MEM(R_RECORD, limit));
	emit_rr(e, OP_SUB, G_CX, R_END);
	emit_rr(e, OP_CMP, G_CX, G_AX);
	emit_jcc(e, COND_BE, in_range);
	emit_rr(e, OP_LOAD, G_CX, G_AX);
	emit_set(e, in_range);
}
