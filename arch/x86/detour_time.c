/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * How long a call took: ticks at entry are kept with the return address (struct
 * guard_hijack). On return nanoseconds are made of them once, for all probes and their
 * filters; they stay in the entry for the tracer, in case that it has to record.
 */

#include "arch/guard_hijack.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/gen.h"

void gen64_note_entry(struct gen *g, label_t trap)
{
	struct emit *e = &g->e;

	gen_may_fault(g, trap);
	emit_bytes(e, "\x0f\x31", 2); /* rdtsc */
	x86_join(e);
	emit_imm(e, G_DX, g->plan->hijacks);
	gen_may_fault(g, trap);
	emit_rm(e, OP_STORE | OP_W, G_AX,
		MEM_X(G_DX, GEN_HIJACK, 0, offsetof(struct guard_hijack, time)));
}

void gen64_duration(struct gen *g)
{
	struct emit_mem time = MEM(GEN_HIJACK, offsetof(struct guard_hijack, time));
	struct emit *e = &g->e;
	label_t later = emit_label(e), none = emit_label(e);

	gen_may_fault(g, none);
	x86_read_clock_behind(g); /* when all of the function is done */
	x86_join(e);
	emit_rm(e, OP_SUB | OP_W, G_AX, time);
	emit_jcc(e, COND_AE, later);
	emit_set(e, none);
	emit_rr(e, OP_XOR, G_AX, G_AX);
	emit_set(e, later);
	emit_imm(e, G_CX, g->plan->ns_factor);
	emit_rr(e, 0xf7 | OP_W, 4, G_CX);     /* mul: rdx and rax */
	emit_bytes(e, "\x48\x0f\xac\xd0", 4); /* shrd: rdx into rax */
	emit_u8(e, UBP_TICKS_SHIFT);
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(G_SP, FRAME_DURATION));
	emit_rm(e, OP_STORE | OP_W, G_AX, time);
}
