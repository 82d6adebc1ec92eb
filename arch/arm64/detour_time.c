/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * How long a call took: ticks at entry are kept with the return address (struct
 * guard_hijack). On return nanoseconds are made of them once, for all probes and their
 * filters; they stay in the entry for the tracer, in case that it has to record.
 */

#include <stddef.h>

#include "arch/arm64/gen.h"
#include "arch/guard_hijack.h"

void make_note_entry(struct gen *g, label_t trap)
{
	struct emit *e = &g->e;

	gen_may_fault(g, trap);
	a64_insn(e, OP_GET_TIME | R_A);
	gen_may_fault(g, trap);
	a64_ldst(e, OP_STR64, R_A, MEM(GEN_HIJACK, offsetof(struct guard_hijack, time)));
}

void make_duration(struct gen *g)
{
	struct emit_mem time = MEM(GEN_HIJACK, offsetof(struct guard_hijack, time));
	struct emit *e = &g->e;
	label_t later = emit_label(e), none = emit_label(e);

	/* When all of the function is done. */
	a64_insn(e, INSN_ISB);
	gen_may_fault(g, none);
	a64_insn(e, OP_GET_TIME | R_A);
	a64_ldst(e, OP_LDR64, R_B, time);
	a64_op(e, OP_SUBS | OP_X, R_A, R_A, R_B);
	a64_bcond(e, COND_HS, later);
	emit_set(e, none);
	a64_imm(e, R_A, 0);
	emit_set(e, later);
	a64_imm(e, R_B, g->plan->ns_factor);
	a64_op(e, OP_UMULH | OP_X, R_C, R_A, R_B);
	a64_op(e, OP_MUL | OP_X, R_A, R_A, R_B);
	/* extr: 64 bits of the 128, from bit 32 on */
	a64_op(e, 0x93c00000 | UBP_TICKS_SHIFT << 10, R_A, R_C, R_A);
	a64_ldst(e, OP_STR64, R_A, MEM(G_SP, FRAME_DURATION));
	a64_ldst(e, OP_STR64, R_A, time);
}
