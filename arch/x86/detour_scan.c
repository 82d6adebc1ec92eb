/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * At the start of an unwinder: is a replaced return address on the stack (detour_plan.scans)? Each
 * aligned word is compared with what may stand there, from the unwinder's own return address to
 * where the thread's stack ends. What a call of a detour may have put there is looked up.
 *
 * Behind a signal's frame there may be another stack. Such a frame is known by the words of the
 * interrupted segments, which the kernel keeps in one: cs, 0, 0, ss.
 */

#include <stddef.h>

#include "arch/guard_hijack.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_return.h"
#include "arch/x86/gen.h"

#define R_AT     G_R8
#define R_STOP   G_DX
#define R_OURS   G_CX
#define R_OTHER  G_DI
#define R_SIGNAL G_SI
#define R_TABLE  G_R9

#define SS_AT 48 /* bits */

static void load_segments(struct emit *e)
{
	emit_bytes(e, "\x8c\xc8", 2); /* mov %cs,%eax */
	emit_rr(e, OP_LOAD | OP_W, R_SIGNAL, G_AX);
	emit_bytes(e, "\x8c\xd0", 2); /* mov %ss,%eax */
	emit_shift(e, OP_W, SHIFT_L, G_AX, SS_AT);
	emit_rr(e, OP_OR | OP_W, R_SIGNAL, G_AX);
}

/* R_AT has what may be such an address: to gen.fail if its entry is in use. R_OURS is as it was then. */
static void put_look_up(struct gen *g, const struct gen_aside *a)
{
	const uint64_t table = g->plan->hijacks, mask = g->plan->hijacks_mask;
	label_t again, found = emit_label(&g->e), none = emit_label(&g->e);
	struct emit *e = &g->e;

	_Static_assert(offsetof(struct guard_hijack, word) == 0, "at the entry");
	emit_set(e, a->at);
	emit_imm(e, R_TABLE, table);
	x86_hijack_offset(g, mask, G_AX, R_AT);
	emit_imm(e, R_OURS, UBP_HIJACK_LOOKS);
	again = emit_here(e);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP | OP_W, R_AT, MEM_X(R_TABLE, G_AX, 0, 0));
	emit_jcc(e, COND_E, found);
	gen_may_fault(g, g->fail);
	emit_alu_mem(e, OP_W, ALU_CMP, MEM_X(R_TABLE, G_AX, 0, 0), 0);
	emit_jcc(e, COND_E, none);
	x86_hijack_next(g, mask, G_AX);
	emit_alu(e, 0, ALU_SUB, R_OURS, 1);
	emit_jcc(e, COND_NE, again);
	emit_jmp(e, none);
	emit_set(e, found);
	gen_may_fault(g, g->fail);
	emit_alu_mem(e, OP_W, ALU_CMP,
		     MEM_X(R_TABLE, G_AX, 0, offsetof(struct guard_hijack, real)), 0);
	emit_jcc(e, COND_NE, g->fail);
	emit_set(e, none);
	emit_address(e, R_OURS, g->plan->return_vaddr);
	emit_jmp(e, a->on);
}

static void look(struct gen *g, label_t trap, label_t leave)
{
	static const struct x86_scan regs = { R_AT, R_STOP };
	static const int words[] = { R_OURS, R_OTHER, R_SIGNAL };
	struct emit *e = &g->e;
	label_t next, look_up = emit_label(e);

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
	x86_if_called(g, G_AX, look_up);
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_look_up, .at = look_up, .on = emit_here(e) });
	x86_scan_next(g, &regs, next);
}

static const struct gen_bell bell = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << R_BASE,
	.ring = x86_bell,
};

const struct gen_scan gen64_scan = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << G_DX | 1u << R_THREAD | 1u << G_DI |
		1u << G_R8 | 1u << R_TABLE | 1u << R_BASE,
	.look = look,
	.bell = &bell,
};
