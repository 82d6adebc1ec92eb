/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours: what the way in and out (arch/gen_block.c) is made of, and all tables. */

#include "arch/x86/detour.h"

#include <errno.h>

#include "arch/gen_record.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"
#include "arch/x86/common_detour_return.h"
#include "arch/x86/common_detour_stack.h"
#include "arch/x86/common_detour_string.h"
#include "arch/x86/gen.h"
#include "arch/x86/window.h"
#include "engine/base/err.h"

/* 0xfe..ff and 0x80..: w + low & ~w & high has the high bit of the first byte that is 0 */
static const uint64_t low_bits = 0xfefefefefefefeff, high_bits = 0x8080808080808080;

/* --- the frame ------------------------------------------------------------------------ */

static const int slots[] = {
	[G_AX] = FRAME_AX, [G_CX] = FRAME_CX, [G_DX] = FRAME_DX, [G_SI] = FRAME_SI,
	[G_DI] = FRAME_DI, [G_R8] = FRAME_R8, [G_R9] = FRAME_R9, [G_R11] = FRAME_R11,
};

/* --- the gate ---------------------------------------------------------------------------- */

static void gate_word(struct gen *g, int reg, size_t at, label_t fixup)
{
	uint64_t vaddr = g->plan->gate + at;
	uint64_t disp = vaddr - (g->e.vaddr + g->e.len + 7);
	struct emit *e = &g->e;

	if (!emit_fits(disp)) {
		emit_unlike(e);
		emit_imm(e, reg, vaddr);
		gen_may_fault(g, fixup);
		emit_rm(e, OP_LOAD | OP_W, reg, MEM(reg, 0));
		return;
	}
	gen_may_fault(g, fixup);
	emit_u8(e, reg >= G_R8 ? 0x4c : 0x48); /* mov word(%rip),%reg */
	emit_u8(e, 0x8b);
	emit_u8(e, (uint8_t)(5 | (reg & 7) << 3));
	emit_u32(e, (uint32_t)disp);
	emit_mark(e, MARK_DISTANCE);
}

/* --- on and home ----------------------------------------------------------------------- */

static void go_home(struct emit *e)
{
	emit_rm(e, 0xff, 4, MEM(G_SP, -8)); /* jmp *-8(%rsp) */
}

static void words(struct gen *g)
{
	emit_set(&g->e, g->low_bits);
	emit_u64(&g->e, low_bits);
	emit_set(&g->e, g->high_bits);
	emit_u64(&g->e, high_bits);
}

/* --- plans --------------------------------------------------------------------------------- */

/* Registers that a probe's code changes, bit by number; *ret_early: before there is a record. */
static uint32_t regs_of(const struct gen *g, const struct detour_probe *probe,
			uint32_t *ret_early)
{
	const uint32_t first = 1u << G_AX | 1u << R_BASE;
	const uint32_t loads = 1u << G_CX | 1u << G_DX | 1u << R_ACC;
	struct detour_early early = gen_filter_look(g, probe);
	uint32_t used = first | 1u << G_CX | 1u << G_DX | 1u << R_THREAD | 1u << R_RECORD;

	if (detour_needs_acc(probe->program) || probe->filter)
		used |= 1u << R_ACC;
	if (probe->program->has_strings)
		used |= 1u << R_END;
	if (g->plan->frames || (probe->tally && tally_has_table(probe->tally)))
		used |= 1u << R_END | 1u << R_ACC;
	*ret_early =
		first | (early.far || early.sums ? 1u << G_CX : 0) | (early.loads ? loads : 0);
	if (gen_sample_is_early(g, probe))
		*ret_early |= g->isa->records->samples->regs | 1u << R_THREAD;
	if (gen_tally_is_bare(g, probe))
		used = *ret_early | 1u << R_THREAD;
	return used;
}

static int check_plan(const struct detour_plan *plan, struct ubp_err *err)
{
	if (detour_has_return(plan) && x86_touches_return(plan, NULL))
		return ubp_fail(err, EOPNOTSUPP,
				"a function that takes its return address off the stack");
	return 0;
}

static const struct x86_gen differs = {
	.regs = { .base = R_BASE, .thread = R_THREAD, .record = R_RECORD, .end = R_END },
	.frame = { .slots = slots,
		   .flags = FRAME_FLAGS,
		   .end = X86_STAYS,
		   .index = FRAME_INDEX,
		   .thread = X86_STAYS,
		   .position = FRAME_POS,
		   .real = FRAME_REAL,
		   .duration = FRAME_DURATION,
		   .array = FRAME_ARRAY,
		   .stack = FRAME_STACK,
		   .len = FRAME_ALL },
	.gate_word = gate_word,
	.check = gen64_check,
	.string_room = gen64_string_room,
	.find_nul = gen64_find_nul,
	.sum = gen64_sum,
	.segment_base = gen64_segment_base,
	.hash = gen64_hash,
	.returns = &gen64_return_parts,
	.claim = &gen64_claim_parts,
	.calls = { .fork = 57, .clone = 56, .clone3 = 435, .flags = G_DI },
};

static const struct gen_isa isa = {
	X86_GEN_ISA,
	.bits = 64,
	.own = &differs,
	.loads = &gen64_loads,
	.returns = &gen64_returns,
	.records = &gen64_records,
	.numbers = &gen64_numbers,
	.scan = &gen64_scan,
	.filters = &gen64_filters,
	.check_plan = check_plan,
	.check_program = x86_detour_check,
	.regs_of = regs_of,
	.go_home = go_home,
	.words = words,
};

int x86_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		     struct ubp_err *err)
{
	return gen_detour(&isa, plan, ret_detour, err);
}

int x86_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			  uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err)
{
	return gen_return_code(&isa, hijacks, hijacks_mask, trampoline, code, max, ret_len,
			       err);
}

int x86_build_claim_code(int32_t self_at, unsigned has, uint8_t *code, size_t max,
			 size_t *ret_len)
{
	return x86_claim_code(&isa, self_at, has, code, max, ret_len);
}
