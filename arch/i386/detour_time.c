/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * How long a call took: ticks at entry are kept with the return address (struct
 * guard_hijack). On return nanoseconds are made of them once, for all probes and their
 * filters; they stay in the entry for the tracer, in case that it has to record.
 */

#include "arch/guard_hijack.h"
#include "arch/i386/gen.h"
#include "arch/x86/common_detour.h"

static struct emit_mem time_of(void)
{
	return MEM(GEN_HIJACK, offsetof(struct guard_hijack, time));
}

void gen32_note_entry(struct gen *g, label_t trap)
{
	struct emit_mem time = time_of();
	struct emit *e = &g->e;

	gen_may_fault(g, trap);
	emit_bytes(e, "\x0f\x31", 2); /* rdtsc */
	gen_may_fault(g, trap);
	emit_rm(e, OP_STORE, G_AX, time);
	gen_may_fault(g, trap);
	emit_rm(e, OP_STORE, G_DX, x86_upper(time));
}

/* FRAME_DURATION = FRAME_T0 (64 bits) * the factor >> 32. Clobbers eax, ecx, edx. */
static void multiply(struct gen *g)
{
	const struct emit_mem low = MEM(G_SP, FRAME_DURATION), high = x86_upper(low);
	uint64_t factor = g->plan->ns_factor;
	struct emit *e = &g->e;

	_Static_assert(UBP_TICKS_SHIFT == 32, "the lowest word of the product is not wanted");
	emit_imm(e, G_CX, factor & UINT32_MAX);
	emit_rr(e, OP_LOAD, G_AX, G_CX);
	emit_rm(e, 0xf7, 4, MEM(G_SP, FRAME_T0)); /* mul: edx and eax */
	emit_rm(e, OP_STORE, G_DX, low);
	emit_rr(e, OP_LOAD, G_AX, G_CX);
	emit_rm(e, 0xf7, 4, MEM(G_SP, FRAME_T1));
	emit_rm(e, OP_ADD_TO, G_AX, low);
	emit_alu(e, 0, ALU_ADC, G_DX, 0);
	emit_rm(e, OP_STORE, G_DX, high);
	emit_imm(e, G_CX, factor >> 32);
	emit_rr(e, OP_LOAD, G_AX, G_CX);
	emit_rm(e, 0xf7, 4, MEM(G_SP, FRAME_T0));
	emit_rm(e, OP_ADD_TO, G_AX, low);
	emit_rm(e, OP_ADC_TO, G_DX, high);
	emit_rm(e, OP_IMUL, G_CX, MEM(G_SP, FRAME_T1));
	emit_rm(e, OP_ADD_TO, G_CX, high);
}

void gen32_duration(struct gen *g)
{
	struct emit_mem time = time_of();
	struct emit *e = &g->e;
	label_t later = emit_label(e), none = emit_label(e);

	gen_may_fault(g, none);
	x86_read_clock_behind(g); /* when all of the function is done */
	emit_rm(e, OP_SUB, G_AX, time);
	emit_rm(e, OP_SBB, G_DX, x86_upper(time));
	emit_jcc(e, COND_AE, later);
	emit_set(e, none);
	emit_rr(e, OP_XOR, G_AX, G_AX);
	emit_rr(e, OP_XOR, G_DX, G_DX);
	emit_set(e, later);
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_T0));
	emit_rm(e, OP_STORE, G_DX, MEM(G_SP, FRAME_T1));
	multiply(g);
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_DURATION));
	emit_rm(e, OP_STORE, G_AX, time);
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_DURATION + 4));
	emit_rm(e, OP_STORE, G_AX, x86_upper(time));
}
