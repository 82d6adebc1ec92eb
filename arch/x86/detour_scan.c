/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * At the start of an unwinder: is a replaced return address on the stack (detour_plan.scans)? Each
 * aligned word is compared with what may stand there, from the unwinder's own return address to
 * where the thread's stack ends.
 *
 * Behind a signal's frame there may be another stack. Such a frame is known by the words of the
 * interrupted segments, which the kernel keeps in one: cs, 0, 0, ss.
 */

#include "arch/x86/common_detour.h"
#include "arch/x86/gen.h"

#define R_AT     G_R8
#define R_STOP   G_DX
#define R_OURS   G_CX
#define R_OTHER  G_DI
#define R_SIGNAL G_SI

#define SS_AT 48 /* bits */

static void load_segments(struct emit *e)
{
	emit_bytes(e, "\x8c\xc8", 2); /* mov %cs,%eax */
	emit_rr(e, OP_LOAD | OP_W, R_SIGNAL, G_AX);
	emit_bytes(e, "\x8c\xd0", 2); /* mov %ss,%eax */
	emit_shift(e, OP_W, SHIFT_L, G_AX, SS_AT);
	emit_rr(e, OP_OR | OP_W, R_SIGNAL, G_AX);
}

static void look(struct gen *g, label_t trap, label_t leave)
{
	static const struct x86_scan regs = { R_AT, R_STOP };
	static const int words[] = { R_OURS, R_OTHER, R_SIGNAL };
	struct emit *e = &g->e;
	label_t next;

	x86_scan_begin(g, &regs, trap, leave);
	load_segments(e);
	emit_address(e, R_OURS, g->plan->return_vaddr);
	emit_address(e, R_OTHER, g->plan->trampoline);
	next = emit_here(e);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(R_AT, 0));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		emit_rr(e, OP_CMP | OP_W, G_AX, words[i]);
		emit_jcc(e, COND_E, trap);
	}
	x86_scan_next(g, &regs, next);
}

static const struct gen_bell bell = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << R_BASE,
	.ring = x86_bell,
};

const struct gen_scan gen64_scan = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << R_THREAD | 1u << G_DI |
		1u << G_R8 | 1u << R_BASE,
	.look = look,
	.bell = &bell,
};
