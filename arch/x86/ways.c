/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/x86/ways.h"

#include "engine/base/ring.h"

/* --- the frame ------------------------------------------------------------------------ */

void x86_frame_make(struct emit *e, const struct x86_frame *frame)
{
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, -frame->len));
}

void x86_frame_end(struct emit *e, const struct x86_frame *frame, int above)
{
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, frame->len + above));
}

void x86_move_regs(struct gen *g, const struct x86_frame *frame, bool store, uint32_t which)
{
	unsigned op = (store ? OP_STORE : OP_LOAD) | OP_W;

	for (int gpr = G_AX; gpr <= G_R15; gpr++)
		if (which >> gpr & 1)
			emit_rm(&g->e, op, gpr, MEM(G_SP, frame->slots[gpr]));
}

void x86_save_first(struct gen *g, const struct x86_frame *frame, uint32_t which)
{
	const uint32_t ax = 1u << G_AX;
	struct emit *e = &g->e;

	x86_move_regs(g, frame, true, ax);
	emit_u8(e, 0x9f);                 /* lahf */
	emit_bytes(e, "\x0f\x90\xc0", 3); /* seto %al */
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, frame->flags));
	x86_move_regs(g, frame, true, which & ~ax);
	g->clobbered = ax | which;
}

void x86_restore(struct gen *g, const struct x86_frame *frame, uint32_t which, int above)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, frame->flags));
	emit_bytes(e, "\x04\x7f", 2); /* add $127,%al: overflow if it was set */
	emit_u8(e, 0x9e);             /* sahf */
	x86_move_regs(g, frame, false, which);
	x86_frame_end(e, frame, above);
}

/* --- is there somebody to record for? --------------------------------------------------- */

void x86_check_base(struct gen *g, int base, label_t trap, label_t leave)
{
	label_t low = emit_label(&g->e), on = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_alu(e, OP_W, ALU_CMP, base, RING_GATE_TRAP);
	emit_jcc(e, COND_BE, low);
	gen_may_fault(g, trap);
	emit_rm(e, 0xf7, 0, /* test */
		MEM(base, -(int)RING_CONTROL_LEN + (int)offsetof(struct ring_control, owner)));
	emit_u32(e, RING_OWNER_DIED);
	emit_jcc(e, COND_E, on);
	emit_jmp(e, leave);
	emit_set(e, low);
	emit_jcc(e, COND_E, trap);
	emit_jmp(e, leave);
	emit_set(e, on);
}

/* --- single instructions -------------------------------------------------------------- */

void x86_breakpoint(struct emit *e)
{
	emit_u8(e, INT3);
}

void x86_align(struct emit *e)
{
	emit_fill(e, UBP_SLOT_SIZE, INT3);
}
