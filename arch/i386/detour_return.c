/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes: what 32 bits do in another way (arch/x86/common_detour_return.c has the rest). A "ret"
 * goes home.
 */

#include "arch/guard.h"
#include "arch/i386/gen.h"
#include "arch/x86/common_detour_return.h"

#define WORD 4

/* Arguments that a callee takes off the stack, when the word itself tells nothing. */
#define POPS_MAX (16 * WORD)

/*
 * ecx = where this code stands. Processors that predict where a ret leads have one call more than
 * rets then, for the ret that we go home by. It uses the frame's lowest word: what is below
 * that may be no stack. Clobbers eax.
 */
static void find_self(struct gen *g, label_t start)
{
	struct emit *e = &g->e;
	label_t on = emit_label(e), here;

	_Static_assert(FRAME_AX == 0, "the lowest word");
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_AX));
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, WORD));
	emit_u8(e, 0xe8); /* call, over a byte: one to the next instruction is not counted */
	emit_u32(e, 1);
	here = emit_here(e);
	emit_u8(e, INT3);
	emit_set(e, on);
	emit_u8(e, 0x59); /* pop %ecx */
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, -WORD));
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_AX));
	emit_alu(e, 0, ALU_SUB, G_CX, (int32_t)(emit_at(e, here) - emit_at(e, start)));
}

static bool can_hijack(uint64_t hijacks, uint64_t mask)
{
	return hijacks && hijacks <= UINT32_MAX && mask <= INT32_MAX >> X86_HIJACK_SHIFT;
}

const struct x86_returns gen32_return_parts = {
	.hijack = GEN_HIJACK,
	.word = G_DX,
	.table = G_NONE,
	.pops_max = POPS_MAX,
	.note_entry = gen32_note_entry,
	.find_self = find_self,
};

const struct gen_returns gen32_returns = {
	X86_GEN_RETURNS,
	.regs = GEN_HIJACK_REGS,
	.can_hijack = can_hijack,
	.duration = gen32_duration,
};
