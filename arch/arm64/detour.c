/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours (arch/detour.h): the block, the way in and out. Code for one probe:
 *
 *   entry:  a frame; save flags and the registers needed first
 *           gate: 0 -> leave, 1 -> trap; its owner dead -> leave
 *           what the filter can tell now: no -> leave
 *           save the other registers, find the thread -> trap
 *           reserve -> lost, or trap; the record; shorten what was reserved; commit
 *   leave:  restore, jump to the copy
 *   trap:   restore, brk, jump to the copy
 *
 * Return probes: behind the entry probes the return address is replaced; the return code is
 * the same for each of them, with its own ways out, to the real return address.
 *
 * A signal handler may run at any instruction and come through here itself: only what is
 * reserved and given back by an exclusive pair is shared with it, and such a pair starts anew
 * if anything has come between.
 *
 * It is entered by a direct branch and left by direct ones and by ret: nothing here needs to be
 * a landing pad for indirect branches. Pages of areas are not marked as having such.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arm64/arm64.h"
#include "arch/arm64/gen.h"
#include "engine/base/err.h"

/* Ways out of the code for probes, on entry or on return. */
struct ways {
	bool is_return;
	label_t copy;               /* on entry, where to go on */
	label_t leave, leave_early; /* all registers are in the frame, or few */
	label_t trap[UBP_DETOUR_PROBES], trap_early[UBP_DETOUR_PROBES];
	size_t order[UBP_DETOUR_PROBES]; /* those that have a trap; [0]: of all */
	size_t n_order;
	bool several; /* steps */
};

/* --- what all files use ------------------------------------------------------------- */

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

void make_fail(struct gen *g, int error)
{
	if (!g->e.error)
		g->e.error = error;
}

void make_may_fault(struct gen *g, label_t fixup)
{
	struct detour_load *loads = g->out->loads;
	size_t cap = g->cap_loads ? 2 * g->cap_loads : 16;

	if (g->out->n_loads == g->cap_loads) {
		loads = realloc(g->out->loads, cap * sizeof(*loads));
		if (!loads) {
			make_fail(g, -ENOMEM);
			return;
		}
		g->out->loads = loads;
		g->cap_loads = cap;
	}
	/* The label; its offset comes at the end. */
	loads[g->out->n_loads++] =
		(struct detour_load){ .at = (uint32_t)g->e.len, .fixup = fixup };
}

label_t make_literal(struct gen *g, const void *bytes, size_t len)
{
	size_t cap = g->cap_literals ? 2 * g->cap_literals : 16;
	label_t label = emit_label(&g->e);

	if (g->n_literals == g->cap_literals) {
		struct gen_literal *all = realloc(g->literals, cap * sizeof(*all));

		if (!all) {
			make_fail(g, -ENOMEM);
			return label;
		}
		g->literals = all;
		g->cap_literals = cap;
	}
	g->literals[g->n_literals++] = (struct gen_literal){ label, bytes, len };
	return label;
}

/* --- saving and restoring -------------------------------------------------------------- */

/* All of @which but R_A and R_B. */
static void move_regs(struct emit *e, bool store, uint32_t which)
{
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

static void save(struct gen *g, uint32_t which)
{
	move_regs(&g->e, true, which & ~g->clobbered);
	g->clobbered |= which;
}

void make_restore(struct gen *g, uint32_t which)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_FLAGS));
	a64_insn(e, OP_SET_FLAGS | R_A);
	move_regs(e, false, which);
	/* ldp R_A, R_B, [sp], #FRAME_ALL */
	a64_insn(e, 0xa8c00000 | FRAME_ALL / 8 << 15 | R_B << 10 | G_SP << 5 | R_A);
}

void make_frame(struct emit *e)
{
	_Static_assert(FRAME_ALL % 16 == 0 && FRAME_ALL <= 504, "one instruction moves it");
	_Static_assert(FRAME_A == 0 && FRAME_B == 8, "its lowest words");
	/* stp R_A, R_B, [sp, #-FRAME_ALL]! */
	a64_insn(e, 0xa9800000 | (0x80 - FRAME_ALL / 8) << 15 | R_B << 10 | G_SP << 5 | R_A);
}

void make_save_first(struct gen *g, uint32_t which)
{
	g->clobbered = BIT(R_A) | BIT(R_B);
	a64_insn(&g->e, OP_GET_FLAGS | R_A);
	a64_ldst(&g->e, OP_STR64, R_A, MEM(G_SP, FRAME_FLAGS));
	save(g, which);
}

/* --- is there somebody to record for? --------------------------------------------------- */

void make_gate(struct gen *g, int reg, label_t trap)
{
	struct emit *e = &g->e;

	/* What is behind it is found by this value: that is order enough. */
	a64_address(e, reg, g->plan->gate);
	make_may_fault(g, trap);
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
	make_may_fault(g, trap);
	a64_ldst(e, OP_LDR32, R_A, owner);
	a64_logic(e, OP_ANDS, G_ZR, R_A, RING_OWNER_DIED);
	a64_bcond(e, COND_EQ, on);
	a64_b(e, leave);
	emit_set(e, low);
	a64_bcond(e, COND_EQ, trap);
	a64_b(e, leave);
	emit_set(e, on);
}

/* --- a probe --------------------------------------------------------------------------------- */

static void one_probe(struct gen *g, const struct ways *ways, size_t i, bool is_last)
{
	bool counts = g->plan->count_dropped;
	label_t next = emit_label(&g->e), drop = emit_label(&g->e);
	label_t after_drop = ways->several ? next : ways->leave_early;
	struct emit *e = &g->e;
	bool useful;

	g->probe = &g->plan->probes[i];
	g->fail = ways->several ? ways->trap[i] : ways->trap_early[i];
	useful = make_filter_look(g, g->probe).useful;
	if (useful)
		make_filter_early(g, counts ? drop : after_drop);
	save(g, g->used);
	make_record(g, is_last ? ways->leave : next, ways->trap[i], i);
	if (useful && counts) {
		emit_set(e, drop);
		make_count_dropped(g);
		a64_b(e, after_drop);
	}
	emit_set(e, next);
	if (is_last && ways->several)
		a64_b(e, ways->leave);
}

/* Registers that a probe's code changes, bit by number; *ret_early: before there is a record. */
static uint32_t regs_of(const struct gen *g, const struct detour_probe *probe,
			uint32_t *ret_early)
{
	const uint32_t first = BIT(R_A) | BIT(R_B) | BIT(R_BASE) | BIT(G_TMP);
	const uint32_t more = BIT(R_ADDRESS) | BIT(R_C);
	struct detour_early early = make_filter_look(g, probe);
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

/* --- the block --------------------------------------------------------------------------------- */

/* The probes of one of the two ways, and the registers they take. */
static void begin(struct gen *g, struct ways *ways, uint32_t early)
{
	const struct detour_plan *plan = g->plan;

	ways->leave = emit_label(&g->e);
	ways->leave_early = emit_label(&g->e);
	g->early = g->used = early;
	for (size_t i = 0; i < plan->n_probes; i++) {
		if (plan->probes[i].is_return != ways->is_return)
			continue;
		g->used |= regs_of(g, &plan->probes[i], &early);
		g->early |= early;
		ways->order[ways->n_order++] = i;
	}
	/* Replacing the return address is a step of the entry; its trap is that of the
	 * first return probe. */
	for (size_t i = 0; !ways->is_return && detour_has_return(plan) && i < plan->n_probes;
	     i++) {
		if (plan->probes[i].is_return) {
			g->used |= GEN_HIJACK_REGS;
			ways->order[ways->n_order++] = i;
			break;
		}
	}
	for (size_t k = 0; k < ways->n_order; k++) {
		ways->trap[ways->order[k]] = emit_label(&g->e);
		ways->trap_early[ways->order[k]] = emit_label(&g->e);
	}
	/* The second one may find a record written, or not: one state for both. */
	ways->several = ways->n_order > 1;
	if (ways->several || ways->n_order == 0 ||
	    plan->probes[ways->order[0]].is_return != ways->is_return)
		g->early = g->used;
}

/* With all registers as they are to be: on. */
static void go_on(struct gen *g, const struct ways *ways)
{
	if (ways->is_return)
		a64_insn(&g->e, INSN_RET);
	else
		a64_b(&g->e, ways->copy);
}

static void way_out(struct gen *g, const struct ways *ways)
{
	struct emit *e = &g->e;

	emit_set(e, ways->leave);
	move_regs(e, false, g->used & ~g->early);
	emit_set(e, ways->leave_early);
	make_restore(g, g->early);
	go_on(g, ways);
}

/* Returns where its breakpoint stands. */
static label_t put_trap(struct gen *g, const struct ways *ways, size_t i)
{
	struct emit *e = &g->e;
	label_t trap;

	emit_set(e, ways->trap[i]);
	move_regs(e, false, g->used & ~g->early);
	emit_set(e, ways->trap_early[i]);
	make_restore(g, g->early);
	*(ways->is_return ? &g->out->ret_trap_at[i] : &g->out->trap_at[i]) = (uint32_t)e->len;
	trap = emit_here(e);
	a64_insn(e, INSN_BRK);
	go_on(g, ways);
	return trap;
}

static void put_literals(struct gen *g)
{
	struct emit *e = &g->e;

	for (size_t i = 0; i < g->n_literals; i++) {
		while (e->len % 8 != 0 && !e->error)
			emit_bytes(e, "", 1);
		emit_set(e, g->literals[i].label);
		emit_bytes(e, g->literals[i].bytes, g->literals[i].len);
	}
	/* Words are read whole. */
	while (e->len % 8 != 0 && !e->error)
		emit_bytes(e, "", 1);
}

static void put_entry(struct gen *g, label_t copy, label_t back)
{
	struct ways ways = { .copy = copy };
	label_t no_stack = emit_label(&g->e), trap;
	struct emit *e = &g->e;
	size_t last;

	begin(g, &ways, 0);
	last = ways.n_order - 1;
	g->out->entry_at = (uint32_t)e->len;
	g->probe = g->plan->probes;
	make_may_fault(g, no_stack);
	make_frame(e);
	make_save_first(g, g->early);
	find_base(g, ways.trap_early[ways.order[0]], ways.leave_early);
	for (size_t k = 0; k <= last; k++) {
		if (g->plan->probes[ways.order[k]].is_return)
			make_hijack(g, back, ways.trap[ways.order[k]], ways.leave);
		else
			one_probe(g, &ways, ways.order[k], k == last);
	}
	way_out(g, &ways);
	g->out->hijack_off = emit_at(e, ways.leave);
	trap = put_trap(g, &ways, ways.order[0]);
	emit_set(e, no_stack);
	a64_b(e, trap);
	for (size_t k = 1; k <= last; k++)
		put_trap(g, &ways, ways.order[k]);
}

/*
 * The entry was over when the return code came to it: it is the tracer's by now, who has a
 * breakpoint for those who return. What is free to use at a return is used.
 */
static void put_gone(struct gen *g, label_t gone)
{
	emit_set(&g->e, gone);
	make_restore(g, GEN_HIJACK_REGS);
	a64_address(&g->e, R_A, g->plan->trampoline);
	a64_br(&g->e, R_A);
}

static void put_return(struct gen *g, label_t back)
{
	struct ways ways = { .is_return = true };
	label_t gone = emit_label(&g->e);

	begin(g, &ways, GEN_HIJACK_REGS);
	g->out->return_at = (uint32_t)g->e.len;
	emit_set(&g->e, back);
	g->clobbered = GEN_HIJACK_REGS;
	save(g, g->early);
	make_come_back(g, gone);
	if (detour_needs_duration(g->plan))
		make_duration(g);
	find_base(g, ways.trap_early[ways.order[0]], ways.leave_early);
	for (size_t k = 0; k < ways.n_order; k++)
		one_probe(g, &ways, ways.order[k], k + 1 == ways.n_order);
	way_out(g, &ways);
	for (size_t k = 0; k < ways.n_order; k++)
		put_trap(g, &ways, ways.order[k]);
	put_gone(g, gone);
}

static void put_block(struct gen *g)
{
	label_t copy = emit_here(&g->e), back = emit_label(&g->e);
	struct emit *e = &g->e;

	g->search = emit_label(e);
	emit_bytes(e, g->out->copy.code, g->out->copy.len);
	a64_align(e, UBP_SLOT_SIZE);
	put_entry(g, copy, back);
	if (detour_has_return(g->plan))
		put_return(g, back);
	make_misses(g);
	put_literals(g);
}

static int check_plan(const struct detour_plan *plan, struct ubp_err *err)
{
	const char *problem;

	if (plan->frames > RING_STACK_MAX)
		return ubp_fail(err, EOPNOTSUPP, "stacks of %u entries", plan->frames);
	if (plan->n_probes == 0 || plan->n_probes > UBP_DETOUR_PROBES)
		return ubp_fail(err, EOPNOTSUPP, "%zu probes at one place", plan->n_probes);
	if (detour_has_return(plan) && make_returns_twice(plan))
		return ubp_fail(err, EOPNOTSUPP, "a function that returns twice");
	for (size_t i = 0; i < plan->n_probes; i++) {
		if (plan->probes[i].is_return &&
		    !make_can_hijack(plan->hijacks, plan->hijacks_mask))
			return ubp_fail(err, EOPNOTSUPP, "no table for return addresses");
		if (plan->probes[i].program->needs_duration && !plan->probes[i].is_return)
			return ubp_fail(err, EOPNOTSUPP, "$duration of what does not return");
		if (plan->probes[i].program->needs_duration && !plan->ns_factor)
			return ubp_fail(err, EOPNOTSUPP, "the processor's rate is not known");
		problem = arm64_detour_check(plan->probes[i].program);
		if (problem)
			return ubp_fail(err, EOPNOTSUPP, "%s", problem);
	}
	return 0;
}

static int finish(struct gen *g, struct ubp_err *err)
{
	int rc = emit_finish(&g->e, a64_fix);

	if (rc < 0)
		return ubp_fail(err, -rc,
				rc == -ENOMEM ? "out of memory" : "the detour is too long");
	for (size_t i = 0; i < g->out->n_loads; i++)
		g->out->loads[i].fixup = emit_at(&g->e, g->out->loads[i].fixup);
	g->out->code = g->e.code;
	g->out->len = g->e.len;
	g->e.code = NULL;
	return 0;
}

int arm64_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		       struct ubp_err *err)
{
	struct gen g = { .plan = plan, .out = ret_detour };
	int rc;

	memset(ret_detour, 0, sizeof(*ret_detour));
	rc = check_plan(plan, err);
	if (rc < 0)
		return rc;
	rc = arm64_build_copy(plan->window, plan->vaddr, &ret_detour->copy, err);
	if (rc < 0)
		return rc;
	emit_init(&g.e, 64, plan->vaddr);
	put_block(&g);
	rc = finish(&g, err);
	emit_free(&g.e);
	free(g.misses);
	free(g.literals);
	if (rc < 0) {
		free(ret_detour->loads);
		memset(ret_detour, 0, sizeof(*ret_detour));
	}
	return rc;
}
