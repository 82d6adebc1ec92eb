/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * At the start of an unwinder: is a replaced return address on the stack (detour_plan.scans)? As
 * arch/x86/detour_scan.c does it, with words of 4 bytes.
 *
 * A signal's frame has words of its own for the interrupted segments: cs, flags, the stack pointer, ss. Of
 * those of segments only the lower halves are looked at: the others are nobody's.
 */

#include "arch/i386/gen.h"
#include "arch/x86/common_detour.h"

#define R_AT   G_CX
#define R_STOP G_DX
#define R_CS   G_BX
#define R_SS   G_BP

#define SS_BEHIND_CS 12 /* bytes */

static void load_segments(struct emit *e)
{
	emit_bytes(e, "\x8c\xcb", 2); /* mov %cs,%ebx */
	emit_bytes(e, "\x8c\xd5", 2); /* mov %ss,%ebp */
}

/* To @trap if the word at R_AT, which is in eax, may be such a frame's cs. */
static void refuse_signal(struct gen *g, label_t trap)
{
	struct emit *e = &g->e;
	label_t none = emit_label(e);

	emit_rr(e, OP_CMP | OP_66, G_AX, R_CS);
	emit_jcc(e, COND_NE, none);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMP | OP_66, R_SS, MEM(R_AT, SS_BEHIND_CS));
	emit_jcc(e, COND_E, trap);
	emit_set(e, none);
}

static void look(struct gen *g, label_t trap, label_t leave)
{
	static const struct x86_scan regs = { R_AT, R_STOP };
	const uint64_t ours[] = { g->plan->return_vaddr, g->plan->trampoline };
	struct emit *e = &g->e;
	label_t next;

	x86_scan_begin(g, &regs, trap, leave);
	load_segments(e);
	next = emit_here(e);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD, G_AX, MEM(R_AT, 0));
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		emit_alu(e, 0, ALU_CMP, G_AX, (int32_t)ours[i]);
		emit_jcc(e, COND_E, trap);
	}
	refuse_signal(g, trap);
	x86_scan_next(g, &regs, next);
}

static const struct gen_bell bell = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << R_BASE,
	.ring = x86_bell,
};

const struct gen_scan gen32_scan = {
	.regs = ALL_REGS,
	.look = look,
	.bell = &bell,
};
