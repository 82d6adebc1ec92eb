/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A place where the tracer has to be there, in a process that it has let go of (detour_plan.asks): the thread rings
 * (ring_head.bell), and waits until it is traced again or some 50 ms have passed. It waits without a system call, for
 * the program may have a filter that allows none.
 */

#include <stddef.h>

#include "arch/guard.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/gen.h"

/* pause takes some 10 to 50 ns. No clock is read, for the program may have forbidden that, too. */
#define ROUNDS 1000000

static void bell(struct gen *g, label_t traced, label_t leave)
{
	struct emit *e = &g->e;
	label_t again;

	x86_find_base(g, traced, leave);
	gen64_load_word(g, G_AX, offsetof(struct guard_gate, alone), traced);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, traced);
	gen_may_fault(g, leave);
	emit_rm(e, 0xff | OP_W | OP_LOCK, 0, /* inc */
		MEM(R_BASE, offsetof(struct ring_head, bell)));
	emit_imm(e, G_CX, ROUNDS);
	again = emit_here(e);
	emit_bytes(e, "\xf3\x90", 2); /* pause */
	gen64_load_word(g, G_AX, offsetof(struct guard_gate, alone), leave);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, traced);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, again);
	emit_jmp(e, leave);
}

const struct gen_bell gen64_bell = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << R_BASE,
	.ring = bell,
};
