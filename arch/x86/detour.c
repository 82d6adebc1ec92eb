/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours (arch/detour.h): the block, the way in and out. Code for one probe:
 *
 *   entry:  skip the red zone, save flags and the registers needed first
 *           gate: 0 -> leave, 1 -> trap; its owner dead -> leave
 *           what the filter can tell now: no -> leave
 *           save the other registers, find the thread -> trap
 *           reserve -> lost, or trap; the record; shorten what was reserved; commit
 *   leave:  restore, jump to the copy
 *   trap:   restore, int3, jump to the copy
 *
 * Return probes: behind the entry probes the return address is replaced; the return code is
 * the same for each of them, with its own ways out, to the real return address.
 *
 * A signal handler may run at any instruction and come through here itself: only what is
 * reserved and given back by one instruction is shared with it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86/gen.h"
#include "arch/x86/x86.h"
#include "engine/base/err.h"

#define INT3 0xcc

/* 0xfe..ff and 0x80..: w + low & ~w & high has the high bit of the first byte that is 0 */
static const uint64_t low_bits = 0xfefefefefefefeff, high_bits = 0x8080808080808080;

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

int gen_slot(int gpr)
{
	static const int slots[] = {
		[G_AX] = FRAME_AX, [G_CX] = FRAME_CX, [G_DX] = FRAME_DX, [G_SI] = FRAME_SI,
		[G_DI] = FRAME_DI, [G_R8] = FRAME_R8, [G_R9] = FRAME_R9, [G_R11] = FRAME_R11,
	};

	return slots[gpr];
}

void gen_fail(struct gen *g, int error)
{
	if (!g->e.error)
		g->e.error = error;
}

void gen_may_fault(struct gen *g, label_t fixup)
{
	struct detour_load *loads = g->out->loads;
	size_t cap = g->cap_loads ? 2 * g->cap_loads : 16;

	if (g->out->n_loads == g->cap_loads) {
		loads = realloc(g->out->loads, cap * sizeof(*loads));
		if (!loads) {
			gen_fail(g, -ENOMEM);
			return;
		}
		g->out->loads = loads;
		g->cap_loads = cap;
	}
	/* The label; its offset comes at the end. */
	loads[g->out->n_loads++] =
		(struct detour_load){ .at = (uint32_t)g->e.len, .fixup = fixup };
}

label_t gen_literal(struct gen *g, const void *bytes, size_t len)
{
	size_t cap = g->cap_literals ? 2 * g->cap_literals : 16;
	label_t label = emit_label(&g->e);

	if (g->n_literals == g->cap_literals) {
		struct gen_literal *all = realloc(g->literals, cap * sizeof(*all));

		if (!all) {
			gen_fail(g, -ENOMEM);
			return label;
		}
		g->literals = all;
		g->cap_literals = cap;
	}
	g->literals[g->n_literals++] = (struct gen_literal){ label, bytes, len };
	return label;
}

/* --- saving and restoring -------------------------------------------------------------- */

static void move_regs(struct gen *g, unsigned op, uint32_t which)
{
	for (int gpr = G_AX; gpr <= G_R15; gpr++)
		if (which >> gpr & 1)
			emit_rm(&g->e, op | OP_W, gpr, MEM(G_SP, gen_slot(gpr)));
}

static void save(struct gen *g, uint32_t which)
{
	move_regs(g, OP_STORE, which & ~g->clobbered);
	g->clobbered |= which;
}

void gen_restore(struct gen *g, uint32_t which)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_FLAGS));
	emit_bytes(e, "\x04\x7f", 2); /* add $127,%al: overflow if it was set */
	emit_u8(e, 0x9e);             /* sahf */
	move_regs(g, OP_LOAD, which);
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, FRAME_ALL));
}

void gen_frame(struct emit *e)
{
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, -FRAME_ALL));
}

void gen_save_first(struct gen *g, uint32_t which)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(G_SP, FRAME_AX));
	emit_u8(e, 0x9f);                 /* lahf */
	emit_bytes(e, "\x0f\x90\xc0", 3); /* seto %al */
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_FLAGS));
	g->clobbered = 1u << G_AX;
	save(g, which);
}

/* --- is there somebody to record for? --------------------------------------------------- */

void gen_gate(struct gen *g, int reg, label_t trap)
{
	uint64_t disp = g->plan->gate - (g->e.vaddr + g->e.len + 7);
	struct emit *e = &g->e;

	if (!emit_fits(disp)) {
		emit_imm(e, reg, g->plan->gate);
		gen_may_fault(g, trap);
		emit_rm(e, OP_LOAD | OP_W, reg, MEM(reg, 0));
		return;
	}
	gen_may_fault(g, trap);
	emit_u8(e, reg >= G_R8 ? 0x4c : 0x48); /* mov gate(%rip),%reg */
	emit_u8(e, 0x8b);
	emit_u8(e, (uint8_t)(5 | (reg & 7) << 3));
	emit_u32(e, (uint32_t)disp);
}

/* R_BASE, or to the trap, or out. */
static void find_base(struct gen *g, label_t trap, label_t leave)
{
	label_t low = emit_label(&g->e), on = emit_label(&g->e);
	struct emit *e = &g->e;

	gen_gate(g, R_BASE, trap);
	emit_alu(e, OP_W, ALU_CMP, R_BASE, RING_GATE_TRAP);
	emit_jcc(e, COND_BE, low);
	gen_may_fault(g, trap);
	emit_rm(e, 0xf7, 0, /* test */
		MEM(R_BASE,
		    -(int)RING_CONTROL_LEN + (int)offsetof(struct ring_control, owner)));
	emit_u32(e, RING_OWNER_DIED);
	emit_jcc(e, COND_E, on);
	emit_jmp(e, leave);
	emit_set(e, low);
	emit_jcc(e, COND_E, trap);
	emit_jmp(e, leave);
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
	useful = gen_filter_look(g, g->probe).useful;
	if (useful)
		gen_filter_early(g, counts ? drop : after_drop);
	save(g, g->used);
	gen_record(g, is_last ? ways->leave : next, ways->trap[i], i);
	if (useful && counts) {
		emit_set(e, drop);
		gen_count_dropped(g);
		emit_jmp(e, after_drop);
	}
	emit_set(e, next);
	if (is_last && ways->several)
		emit_jmp(e, ways->leave);
}

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
	if (g->plan->frames)
		used |= 1u << R_END | 1u << R_ACC;
	*ret_early =
		first | (early.far || early.sums ? 1u << G_CX : 0) | (early.loads ? loads : 0);
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
		emit_rm(&g->e, 0xff, 4, MEM(G_SP, -8)); /* jmp *-8(%rsp) */
	else
		emit_jmp(&g->e, ways->copy);
}

static void way_out(struct gen *g, const struct ways *ways)
{
	struct emit *e = &g->e;

	emit_set(e, ways->leave);
	move_regs(g, OP_LOAD, g->used & ~g->early);
	emit_set(e, ways->leave_early);
	gen_restore(g, g->early);
	go_on(g, ways);
}

/* Returns where its breakpoint stands. */
static label_t put_trap(struct gen *g, const struct ways *ways, size_t i)
{
	struct emit *e = &g->e;
	label_t trap;

	emit_set(e, ways->trap[i]);
	move_regs(g, OP_LOAD, g->used & ~g->early);
	emit_set(e, ways->trap_early[i]);
	gen_restore(g, g->early);
	*(ways->is_return ? &g->out->ret_trap_at[i] : &g->out->trap_at[i]) = (uint32_t)e->len;
	trap = emit_here(e);
	emit_u8(e, INT3);
	go_on(g, ways);
	return trap;
}

static void put_literals(struct gen *g)
{
	struct emit *e = &g->e;

	emit_fill(e, 8, INT3);
	if (g->needs_words) {
		emit_set(e, g->low_bits);
		emit_u64(e, low_bits);
		emit_set(e, g->high_bits);
		emit_u64(e, high_bits);
	}
	for (size_t i = 0; i < g->n_literals; i++) {
		emit_set(e, g->literals[i].label);
		emit_bytes(e, g->literals[i].bytes, g->literals[i].len);
		emit_fill(e, 8, INT3);
	}
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
	gen_frame(e);
	gen_may_fault(g, no_stack);
	gen_save_first(g, g->early);
	find_base(g, ways.trap_early[ways.order[0]], ways.leave_early);
	for (size_t k = 0; k <= last; k++) {
		if (g->plan->probes[ways.order[k]].is_return)
			gen_hijack(g, back, ways.trap[ways.order[k]], ways.leave);
		else
			one_probe(g, &ways, ways.order[k], k == last);
	}
	way_out(g, &ways);
	g->out->hijack_off = emit_at(e, ways.leave);
	trap = put_trap(g, &ways, ways.order[0]);
	emit_set(e, no_stack);
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, FRAME_ALL));
	emit_jmp(e, trap);
	for (size_t k = 1; k <= last; k++)
		put_trap(g, &ways, ways.order[k]);
}

static void put_return(struct gen *g, label_t back)
{
	struct ways ways = { .is_return = true };

	begin(g, &ways, GEN_HIJACK_REGS);
	g->out->return_at = (uint32_t)g->e.len;
	emit_set(&g->e, back);
	g->clobbered = GEN_HIJACK_REGS;
	save(g, g->early);
	gen_come_back(g, ways.leave_early);
	if (detour_needs_duration(g->plan))
		gen_duration(g);
	find_base(g, ways.trap_early[ways.order[0]], ways.leave_early);
	for (size_t k = 0; k < ways.n_order; k++)
		one_probe(g, &ways, ways.order[k], k + 1 == ways.n_order);
	way_out(g, &ways);
	for (size_t k = 0; k < ways.n_order; k++)
		put_trap(g, &ways, ways.order[k]);
}

static void put_block(struct gen *g)
{
	label_t copy = emit_here(&g->e), back = emit_label(&g->e);
	struct emit *e = &g->e;

	g->search = emit_label(e);
	g->low_bits = emit_label(e);
	g->high_bits = emit_label(e);
	emit_bytes(e, g->out->copy.code, g->out->copy.len);
	emit_fill(e, UBP_SLOT_SIZE, INT3);
	put_entry(g, copy, back);
	if (detour_has_return(g->plan))
		put_return(g, back);
	gen_misses(g);
	put_literals(g);
}

static int check_plan(const struct detour_plan *plan, struct ubp_err *err)
{
	const char *problem;

	if (plan->frames > RING_STACK_MAX)
		return ubp_fail(err, EOPNOTSUPP, "stacks of %u entries", plan->frames);
	if (plan->n_probes == 0 || plan->n_probes > UBP_DETOUR_PROBES)
		return ubp_fail(err, EOPNOTSUPP, "%zu probes at one place", plan->n_probes);
	if (detour_has_return(plan) && gen_pops_return(plan->window))
		return ubp_fail(err, EOPNOTSUPP,
				"a function that takes its return address off the stack");
	for (size_t i = 0; i < plan->n_probes; i++) {
		if (plan->probes[i].is_return &&
		    !gen_can_hijack(plan->hijacks, plan->hijacks_mask))
			return ubp_fail(err, EOPNOTSUPP, "no table for return addresses");
		if (plan->probes[i].program->needs_duration && !plan->probes[i].is_return)
			return ubp_fail(err, EOPNOTSUPP, "$duration of what does not return");
		if (plan->probes[i].program->needs_duration && !plan->ns_factor)
			return ubp_fail(err, EOPNOTSUPP, "the processor's rate is not known");
		problem = x86_detour_check(plan->probes[i].program);
		if (problem)
			return ubp_fail(err, EOPNOTSUPP, "%s", problem);
	}
	return 0;
}

static int finish(struct gen *g, struct ubp_err *err)
{
	int rc = emit_finish(&g->e, x86_fix);

	if (rc < 0)
		return ubp_fail(err, -rc,
				rc == -ENOMEM ? "out of memory" : "the detour is out of reach");
	for (size_t i = 0; i < g->out->n_loads; i++)
		g->out->loads[i].fixup = emit_at(&g->e, g->out->loads[i].fixup);
	g->out->code = g->e.code;
	g->out->len = g->e.len;
	g->e.code = NULL;
	return 0;
}

int x86_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		     struct ubp_err *err)
{
	struct gen g = { .plan = plan, .out = ret_detour };
	int rc;

	memset(ret_detour, 0, sizeof(*ret_detour));
	rc = check_plan(plan, err);
	if (rc < 0)
		return rc;
	rc = x86_build_copy(plan->window, plan->vaddr, &ret_detour->copy, err);
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
