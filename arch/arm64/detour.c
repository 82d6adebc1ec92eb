/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours: what the way in and out (arch/gen_block.c) is made of, and all tables.
 *
 * It is entered by a direct branch and left by direct ones and by ret: nothing here needs to be
 * a landing pad for indirect branches. Pages of areas are not marked as having such.
 */

#include "arch/arm64/detour.h"

#include <errno.h>

#include "arch/arm64/gen.h"
#include "arch/arm64/window.h"
#include "engine/base/err.h"

/* --- the frame ------------------------------------------------------------------------ */

/* Pairs, as they are stored. */
static const struct {
	int first, second, at;
} pairs[] = {
	{ R_A, R_B, FRAME_A },
	{ R_BASE, G_TMP, FRAME_BASE },
	{ R_ADDRESS, R_C, FRAME_ADDRESS },
	{ R_ACC, R_END, FRAME_ACC },
	{ R_THREAD, R_RECORD, FRAME_THREAD },
};

#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

int make_slot(int reg)
{
	for (size_t i = 0; i < N_PAIRS; i++) {
		if (pairs[i].first == reg)
			return pairs[i].at;
		if (pairs[i].second == reg)
			return pairs[i].at + 8;
	}
	return 0;
}

/* All of @which but R_A and R_B. */
static void move_regs(struct gen *g, bool store, uint32_t which)
{
	struct emit *e = &g->e;

	for (size_t i = 1; i < N_PAIRS; i++) {
		int first = pairs[i].first, second = pairs[i].second, at = pairs[i].at;
		uint32_t op = store ? OP_STR64 : OP_LDR64;

		if ((which & BIT(first)) && (which & BIT(second)))
			(store ? a64_stp : a64_ldp)(e, first, second, G_SP, at);
		else if (which & BIT(first))
			a64_ldst(e, op, first, MEM(G_SP, at));
		else if (which & BIT(second))
			a64_ldst(e, op, second, MEM(G_SP, at + 8));
	}
}

/* From behind the lead to in front of it. No register but the stack pointer is clobbered. */
static void move_sp_up(struct gen *g)
{
	if (g->plan->lead && g->plan->lead->sp_down)
		a64_add(&g->e, G_SP, G_SP, (int64_t)g->plan->lead->sp_down);
}

/*
 * As the lead left it. What it has pushed is no longer there for sure, if somebody came by since:
 * a signal's frame may lie right below the stack pointer.
 */
static void lead_again(struct gen *g)
{
	const struct lead *lead = g->plan->lead;

	if (lead && (lead->is_push || lead->sp_down))
		emit_bytes(&g->e, lead->bytes, lead->len);
}

void make_restore(struct gen *g, uint32_t which, enum gen_way way)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_FLAGS));
	a64_insn(e, OP_SET_FLAGS | R_A);
	move_regs(g, false, which);
	/* ldp R_A, R_B, [sp], #FRAME_ALL */
	a64_insn(e, 0xa8c00000 | FRAME_ALL / 8 << 15 | R_B << 10 | G_SP << 5 | R_A);
	if (way == GEN_TRAP)
		move_sp_up(g);
}

static void put_frame(struct emit *e)
{
	_Static_assert(FRAME_ALL % 16 == 0 && FRAME_ALL <= 504, "one instruction moves it");
	_Static_assert(FRAME_A == 0 && FRAME_B == 8, "its lowest words");
	/* stp R_A, R_B, [sp, #-FRAME_ALL]! */
	a64_insn(e, 0xa9800000 | (0x80 - FRAME_ALL / 8) << 15 | R_B << 10 | G_SP << 5 | R_A);
}

static void save_first(struct gen *g, uint32_t which)
{
	a64_insn(&g->e, OP_GET_FLAGS | R_A);
	a64_ldst(&g->e, OP_STR64, R_A, MEM(G_SP, FRAME_FLAGS));
	move_regs(g, true, which);
	g->clobbered = BIT(R_A) | BIT(R_B) | which;
}

void make_begin(struct gen *g, uint32_t which)
{
	put_frame(&g->e);
	save_first(g, which);
}

static void enter(struct gen *g, label_t no_stack)
{
	gen_may_fault(g, no_stack);
	put_frame(&g->e);
}

static void undo_frame(struct gen *g)
{
	move_sp_up(g); /* its one instruction has done nothing then */
}

/* --- is there somebody to record for? --------------------------------------------------- */

void make_gate(struct gen *g, int reg, label_t trap)
{
	struct emit *e = &g->e;

	/* What is behind it is found by this value: that is order enough. */
	a64_address(e, reg, g->plan->gate);
	gen_may_fault(g, trap);
	a64_ldst(e, OP_LDR64, reg, MEM(reg, 0));
}

/* R_BASE, or to the trap, or out. */
static void find_base(struct gen *g, label_t trap, label_t leave)
{
	label_t low = emit_label(&g->e), on = emit_label(&g->e);
	struct emit *e = &g->e;
	struct emit_mem owner;

	make_gate(g, R_BASE, trap);
	a64_cmp(e, OP_X, R_BASE, RING_GATE_TRAP);
	a64_bcond(e, COND_LS, low);
	owner = a64_reach(e, OP_LDR32,
			  MEM(R_BASE, -(int)RING_CONTROL_LEN +
					      (int)offsetof(struct ring_control, owner)));
	gen_may_fault(g, trap);
	a64_ldst(e, OP_LDR32, R_A, owner);
	a64_logic(e, OP_ANDS, G_ZR, R_A, RING_OWNER_DIED);
	a64_bcond(e, COND_EQ, on);
	a64_b(e, leave);
	emit_set(e, low);
	a64_bcond(e, COND_EQ, trap);
	a64_b(e, leave);
	emit_set(e, on);
}

/* --- on and home ----------------------------------------------------------------------- */

static void jump_if(struct emit *e, unsigned cond, label_t label)
{
	a64_bcond(e, (enum cond)cond, label);
}

static void breakpoint(struct emit *e)
{
	a64_insn(e, INSN_BRK);
}

static void go_home(struct emit *e)
{
	a64_insn(e, INSN_RET);
}

static void align(struct emit *e)
{
	a64_align(e, UBP_SLOT_SIZE);
}

/* --- plans --------------------------------------------------------------------------------- */

/* Registers that a probe's code changes, bit by number; *ret_early: before there is a record. */
static uint32_t regs_of(const struct gen *g, const struct detour_probe *probe,
			uint32_t *ret_early)
{
	const uint32_t first = BIT(R_A) | BIT(R_B) | BIT(R_BASE) | BIT(G_TMP);
	const uint32_t more = BIT(R_ADDRESS) | BIT(R_C);
	struct detour_early early = gen_filter_look(g, probe);
	uint32_t used = first | more | BIT(R_THREAD) | BIT(R_RECORD);

	if (detour_needs_acc(probe->program) || probe->filter)
		used |= BIT(R_ACC);
	if (probe->program->has_strings)
		used |= BIT(R_END);
	if (g->plan->frames)
		used |= BIT(R_END) | BIT(R_ACC);
	*ret_early = first | (early.useful ? more : 0) | (early.loads ? BIT(R_ACC) : 0);
	return used;
}

static int check_plan(const struct detour_plan *plan, struct ubp_err *err)
{
	if (detour_has_return(plan) && make_returns_twice(plan))
		return ubp_fail(err, EOPNOTSUPP, "a function that returns twice");
	return 0;
}

static const struct gen_isa isa = {
	.bits = 64,
	.fix = a64_fix,
	.loads = &make_loads,
	.returns = &make_returns,
	.records = &make_records,
	.numbers = &make_numbers,
	.strings = &make_strings,
	.stacks = &make_stacks,
	.filters = &make_filters,
	.check_plan = check_plan,
	.check_program = arm64_detour_check,
	.build_copy = arm64_build_copy,
	.regs_of = regs_of,
	.enter = enter,
	.undo_frame = undo_frame,
	.save_first = save_first,
	.move_regs = move_regs,
	.restore = make_restore,
	.lead_again = lead_again,
	.find_base = find_base,
	.jump = a64_b,
	.jump_if = jump_if,
	.breakpoint = breakpoint,
	.go_home = go_home,
	.align = align,
};

int arm64_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		       struct ubp_err *err)
{
	return gen_detour(&isa, plan, ret_detour, err);
}

int arm64_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			    uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err)
{
	return gen_return_code(&isa, hijacks, hijacks_mask, trampoline, code, max, ret_len,
			       err);
}
