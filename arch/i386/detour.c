/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours: what the way in and out (arch/gen_block.c) is made of, and all tables.
 *
 * Returns are left by a "ret": that takes the address off the stack and goes there. A signal's
 * frame may come right below the stack pointer, so until then it is above the address.
 */

#include "arch/i386/detour.h"

#include <errno.h>

#include "arch/i386/gen.h"
#include "arch/i386/thunk.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"
#include "arch/x86/common_detour_return.h"
#include "arch/x86/common_detour_stack.h"
#include "arch/x86/common_detour_string.h"
#include "arch/x86/window.h"
#include "engine/base/err.h"

#define I386_WORD 4
#define MAX_LEN   0x100000 /* of a detour, far more than any has */

/* --- the frame ------------------------------------------------------------------------ */

static const int slots[] = {
	[G_AX] = FRAME_AX, [G_CX] = FRAME_CX, [G_DX] = FRAME_DX, [G_BX] = FRAME_BX,
	[G_BP] = FRAME_BP, [G_SI] = FRAME_SI, [G_DI] = FRAME_DI,
};

/* --- the gate ---------------------------------------------------------------------------- */

static void gate_word(struct gen *g, int reg, size_t at, label_t fixup)
{
	gen_may_fault(g, fixup);
	emit_rm(&g->e, OP_LOAD, reg, MEM_ABSOLUTE(g->plan->gate + at));
}

/* --- on and home ----------------------------------------------------------------------- */

static void go_home(struct emit *e)
{
	emit_u8(e, RET);
}

/* --- plans --------------------------------------------------------------------------------- */

/* Registers that a probe's code changes, bit by number; *ret_early: before there is a record. */
static uint32_t regs_of(const struct gen *g, const struct detour_probe *probe,
			uint32_t *ret_early)
{
	const uint32_t first = 1u << G_AX | 1u << R_BASE;
	const uint32_t wide = 1u << G_CX | 1u << G_DX;
	struct detour_early early = gen_filter_look(g, probe);

	*ret_early = first | (early.wide || early.sums || early.loads ? wide : 0) |
		     (early.loads ? 1u << R_ACC : 0);
	return ALL_REGS;
}

static int check_plan(const struct detour_plan *plan, struct ubp_err *err)
{
	if (detour_has_return(plan) && x86_touches_return(plan, i386_gives_return))
		return ubp_fail(err, EOPNOTSUPP, "a function that reads its return address");
	if (plan->site > UINT32_MAX || plan->gate > UINT32_MAX ||
	    plan->vaddr > UINT32_MAX - MAX_LEN)
		return ubp_fail(err, ERANGE, "an address outside of 32 bits");
	return 0;
}

static const struct x86_gen differs = {
	.regs = { .base = R_BASE, .thread = R_THREAD, .record = R_RECORD, .end = R_END },
	.frame = { .slots = slots,
		   .flags = FRAME_FLAGS,
		   .end = FRAME_END,
		   .index = FRAME_INDEX,
		   .thread = FRAME_THREAD,
		   .position = FRAME_POS,
		   .real = FRAME_REAL,
		   .duration = FRAME_DURATION,
		   .array = FRAME_ARRAY,
		   .stack = FRAME_STACK,
		   .len = FRAME_ALL },
	.gate_word = gate_word,
	.check = gen32_check,
	.string_room = gen32_string_room,
	.find_nul = gen32_find_nul,
	.sum = gen32_sum,
	.segment_base = gen32_segment_base,
	.hash = gen32_hash,
	.returns = &gen32_return_parts,
	.claim = &gen32_claim_parts,
	.calls = { .fork = 2, .clone = 120, .clone3 = 435, .flags = G_BX },
};

static const struct gen_isa isa = {
	X86_GEN_ISA,
	.bits = 32,
	.ret_below = I386_WORD,
	.own = &differs,
	.loads = &gen32_loads,
	.returns = &gen32_returns,
	.records = &gen32_records,
	.numbers = &gen32_numbers,
	.scan = &gen32_scan,
	.filters = &gen32_filters,
	.check_plan = check_plan,
	.check_program = i386_detour_check,
	.regs_of = regs_of,
	.go_home = go_home,
};

int i386_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		      struct ubp_err *err)
{
	return gen_detour(&isa, plan, ret_detour, err);
}

int i386_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			   uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err)
{
	return gen_return_code(&isa, hijacks, hijacks_mask, trampoline, code, max, ret_len,
			       err);
}

int i386_build_claim_code(int32_t self_at, unsigned has, uint8_t *code, size_t max,
			  size_t *ret_len)
{
	return x86_claim_code(&isa, self_at, has, code, max, ret_len);
}
