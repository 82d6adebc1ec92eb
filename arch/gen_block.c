/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours (arch/detour.h): the block, the way in and out. Code for one probe:
 *
 *   entry:  a frame; save flags and the registers needed first
 *           gate: 0 -> leave, 1 -> trap; its owner dead -> leave
 *           the probe is switched off -> leave
 *           what the filter can tell now: no -> leave
 *           only a stop tells the rest (detour_stops()): -> trap
 *           save the other registers, find the thread -> trap
 *           reserve -> lost, or trap; the record; shorten what was reserved; commit
 *   leave:  restore, jump to the copy
 *   trap:   restore, breakpoint, the lead again, jump to the copy
 *
 * One without probes scans the stack instead, or asks the tracer to come, and leaves, or takes its trap. One with probes may ask the
 * tracer to come first.
 *
 * Return probes: behind the entry probes the return address is replaced; the return code is
 * the same for each of them, with its own ways out, to the real return address.
 * Where they are hit at a ret (detour_plan.run_up) they are as entry probes are, behind the run-up. A function may be so short that both are in one detour
 * (detour_plan.then): then the way out of the first is the way in of the second.
 *
 * A signal handler may run at any instruction and come through here itself: only what is
 * reserved and given back by one instruction, or by what starts anew if anything has come between,
 * is shared with it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/gen.h"
#include "arch/gen_like.h"
#include "arch/gen_record.h"
#include "arch/guard_hijack.h"
#include "engine/base/err.h"

/* Ways out of the code for probes that are hit at one end of a function: on entry, or the return code. */
struct ways {
	bool at_return;             /* of probes that are hit there: the return code */
	label_t copy;               /* on entry, where to go on */
	label_t call;               /* the same, by a call, if gen.calls says so */
	label_t leave, leave_early; /* all registers are in the frame, or few */
	label_t trap[UBP_DETOUR_PROBES], trap_early[UBP_DETOUR_PROBES];
	size_t order[UBP_DETOUR_PROBES]; /* those that have a trap; [0]: of all */
	size_t n_order;
	bool several; /* steps */
};

static void save(struct gen *g, uint32_t which)
{
	g->isa->move_regs(g, true, which & ~g->clobbered);
	g->clobbered |= which;
}

/* --- a probe --------------------------------------------------------------------------------- */

static void put_drop(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->count_dropped(g);
	g->isa->jump(&g->e, a->on);
}

/* Behind the filter. */
static void put_taken(struct gen *g, label_t trap, label_t skip, size_t i)
{
	bool samples = gen_sample_is_early(g, g->probe);

	if (g->probe->stops && !gen_samples(g, g->probe)) {
		g->isa->jump(&g->e, g->fail);
		return;
	}
	if (samples)
		gen_sample_early(g, skip);
	save(g, g->used);
	if (samples)
		trap = gen_sample_back(g, trap);
	if (samples && g->probe->stops) {
		g->out->filters_done |= 1u << (g->n_before + i);
		g->isa->jump(&g->e, trap);
	} else if (!gen_tally(g, trap, i)) {
		gen_record(g, trap, i, NULL);
	}
}

static void one_probe(struct gen *g, const struct ways *ways, size_t i)
{
	bool counts = g->plan->count_dropped;
	label_t next = emit_label(&g->e), drop = emit_label(&g->e);
	label_t after_drop = ways->several ? next : ways->leave_early;
	struct emit *e = &g->e;
	bool useful;

	g->probe = &g->plan->probes[i];
	g->fail = ways->several ? ways->trap[i] : ways->trap_early[i];
	useful = gen_filter_look(g, g->probe).useful;
	g->isa->records->unless_off(g, g->probe->number, after_drop);
	if (useful)
		gen_filter_early(g, counts ? drop : after_drop);
	if (detour_stops(g->probe->program, g->probe->filter)) {
		g->isa->jump(e, g->fail);
	} else {
		put_taken(g, ways->trap[i], after_drop, i);
	}
	if (useful && counts)
		gen_put_aside(g, &(struct gen_aside){
					 .put = put_drop, .at = drop, .on = after_drop });
	emit_set(e, next);
}

/* --- ways out ---------------------------------------------------------------------------------- */

static bool is_here(const struct gen *g, const struct ways *ways,
		    const struct detour_probe *probe)
{
	return g->plan->run_up || (probe->kind == PROBE_RETURN) == ways->at_return;
}

static void add_step(struct ways *ways, size_t probe)
{
	ways->order[ways->n_order++] = probe;
}

/* The probes of one of the two ways, and the registers they take. */
static void begin(struct gen *g, struct ways *ways, uint32_t early)
{
	const struct detour_plan *plan = g->plan;

	ways->leave = emit_label(&g->e);
	ways->leave_early = emit_label(&g->e);
	g->early = g->used = early;
	for (size_t i = 0; i < plan->n_probes; i++) {
		if (!is_here(g, ways, &plan->probes[i]))
			continue;
		g->used |= g->isa->regs_of(g, &plan->probes[i], &early);
		g->early |= early;
		add_step(ways, i);
	}
	/* Replacing the return address is a step of the entry; its trap is that of the
	 * first return probe. */
	for (size_t i = 0; !ways->at_return && !plan->run_up && i < plan->n_probes; i++) {
		if (plan->probes[i].kind == PROBE_RETURN) {
			g->used |= g->isa->returns->regs;
			add_step(ways, i);
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
	    !is_here(g, ways, &plan->probes[ways->order[0]]))
		g->early = g->used;
}

/* All registers as they are to be. */
static void restore(struct gen *g, enum gen_way way, label_t all, label_t few)
{
	emit_set(&g->e, all);
	g->isa->move_regs(g, false, g->used & ~g->early);
	emit_set(&g->e, few);
	g->isa->restore(g, g->early, way);
}

/* Then: on. */
static void go_on(struct gen *g, const struct ways *ways)
{
	if (ways->at_return)
		g->isa->go_home(&g->e);
	else
		g->isa->jump(&g->e, ways->copy);
}

static void way_out(struct gen *g, const struct ways *ways)
{
	if (ways->at_return && g->calls) {
		emit_set(&g->e, ways->leave);
		g->isa->move_regs(g, false, g->used & ~g->early);
		emit_set(&g->e, ways->leave_early);
		g->isa->returns->calls->home(g);
		return;
	}
	restore(g, ways->at_return ? GEN_RETURN : GEN_LEAVE, ways->leave, ways->leave_early);
	go_on(g, ways);
}

/* Returns where its breakpoint stands. */
static label_t put_trap(struct gen *g, const struct ways *ways, size_t i)
{
	label_t trap;

	emit_set(&g->e, ways->trap[i]);
	g->isa->move_regs(g, false, g->used & ~g->early);
	emit_set(&g->e, ways->trap_early[i]);
	gen_tally_ask(g, &g->plan->probes[i]);
	if (g->isa->records->unless_alone)
		g->isa->records->unless_alone(g, ways->leave_early);
	g->isa->restore(g, g->early, ways->at_return ? GEN_RETURN : GEN_TRAP);
	*(ways->at_return ? &g->out->ret_trap_at[i] : &g->out->trap_at[g->n_before + i]) =
		(uint32_t)g->e.len;
	trap = emit_here(&g->e);
	g->isa->breakpoint(&g->e);
	if (!ways->at_return && g->isa->lead_again)
		g->isa->lead_again(g);
	go_on(g, ways);
	return trap;
}

/* --- the block --------------------------------------------------------------------------------- */

/* The return address is replaced if one of the return probes is on; @first: the first of them. */
static void put_hijack(struct gen *g, const struct ways *ways, size_t first, label_t back)
{
	const struct detour_plan *plan = g->plan;
	label_t is_on = emit_label(&g->e);
	size_t last = plan->n_probes - 1;

	while (plan->probes[last].kind != PROBE_RETURN)
		last--;
	g->fail = ways->trap[first];
	for (size_t i = first; i <= last; i++) {
		label_t next = i == last ? ways->leave : emit_label(&g->e);

		if (plan->probes[i].kind != PROBE_RETURN)
			continue;
		g->isa->records->unless_off(g, plan->probes[i].number, next);
		if (i == last)
			break;
		g->isa->jump(&g->e, is_on);
		emit_set(&g->e, next);
	}
	emit_set(&g->e, is_on);
	g->isa->returns->hijack(g, back, ways->trap[first], ways->leave,
				g->calls ? &ways->call : NULL);
}

/* Behind it comes what the function returns to. */
static void put_call(struct gen *g, const struct ways *ways)
{
	const struct gen_calls *isa = g->isa->returns->calls;
	label_t none = emit_label(&g->e), on = ways->copy;
	size_t from, len;

	if (g->plan->lead) {
		on = emit_here(&g->e);
		g->isa->lead_again(g);
		g->isa->jump(&g->e, ways->copy);
	}
	from = g->e.len;

	/* How long it is tells where it has to begin. */
	restore(g, GEN_CALL, emit_label(&g->e), none);
	len = g->e.len - from + isa->len;
	g->e.len = from;
	while ((g->e.len + len) % UBP_CALLED_ALIGN != UBP_CALLED_AT && !g->e.error)
		emit_u8(&g->e, g->isa->fill);
	g->out->call_from = (uint32_t)g->e.len;
	restore(g, GEN_CALL, ways->call, emit_label(&g->e));
	g->out->call_at = (uint32_t)g->e.len;
	g->out->called_at = emit_at(&g->e, on);
	isa->call(g, on);
}

/* From the jump to the ret. */
static void put_run_up(struct gen *g)
{
	struct window_copy copy;
	struct ubp_err ignored;

	/* Its instructions are copied as they are: check_plan() has tried that. */
	if (g->plan->run_up->n &&
	    g->isa->build_copy(g->plan->run_up, g->e.vaddr + g->e.len, &copy, &ignored) == 0)
		emit_bytes(&g->e, copy.code, copy.at[g->plan->run_up->n]);
}

/* Whether somebody comes or not: then its probes. */
static void put_bell(struct gen *g)
{
	label_t on = emit_label(&g->e);

	g->isa->scan->bell->ring(g, false, on, on);
	emit_set(&g->e, on);
}

/* There is nobody to record for: the function is carried out where it is. */
static void put_off(struct gen *g, label_t off)
{
	emit_set(&g->e, off);
	g->isa->restore(g, g->early, GEN_LEAVE);
	g->isa->jump(&g->e, g->copies.window_at);
}

static void put_entry(struct gen *g, label_t copy, label_t back)
{
	struct ways ways = { .copy = copy };
	label_t no_stack = emit_label(&g->e), off, trap;
	size_t last;

	begin(g, &ways, g->plan->asks ? g->isa->scan->bell->regs : 0);
	last = ways.n_order - 1;
	/* A step behind it would come too late. */
	g->calls = g->isa->returns->calls && !g->plan->run_up &&
		   g->plan->probes[ways.order[last]].kind == PROBE_RETURN;
	ways.call = emit_label(&g->e);
	g->out->entry_at = (uint32_t)g->e.len;
	g->probe = g->plan->probes;
	if (g->plan->run_up)
		put_run_up(g);
	g->isa->enter(g, no_stack);
	g->isa->save_first(g, g->early);
	if (g->plan->run_up)
		g->isa->returns->at_ret(g);
	if (g->plan->asks)
		put_bell(g);
	off = g->plan->code.leaf ? emit_label(&g->e) : ways.leave_early;
	g->isa->find_base(g, ways.trap_early[ways.order[0]], off);
	for (size_t k = 0; k <= last; k++) {
		size_t i = ways.order[k];

		if (g->plan->probes[i].kind == PROBE_RETURN && !g->plan->run_up)
			put_hijack(g, &ways, i, back);
		else
			one_probe(g, &ways, i);
	}
	way_out(g, &ways);
	if (g->plan->code.leaf)
		put_off(g, off);
	g->out->hijack_off = emit_at(&g->e, ways.leave);
	trap = put_trap(g, &ways, ways.order[0]);
	emit_set(&g->e, no_stack);
	g->isa->undo_frame(g);
	g->isa->jump(&g->e, trap);
	for (size_t k = 1; k <= last; k++)
		put_trap(g, &ways, ways.order[k]);
	if (g->calls)
		put_call(g, &ways);
}

static void put_return(struct gen *g, label_t back)
{
	const struct gen_returns *isa = g->isa->returns;
	struct ways ways = { .at_return = true };
	label_t gone = emit_label(&g->e), called = emit_here(&g->e);
	label_t other = emit_label(&g->e);

	begin(g, &ways, isa->regs);
	if (g->calls) {
		isa->calls->called(g, back, other);
		g->out->return_at = emit_at(&g->e, back);
	} else {
		/* What leads here has numbers in the lowest bits (guard_hijack.back). */
		emit_fill(&g->e, sizeof(uint64_t), g->isa->fill);
		g->out->return_at = (uint32_t)g->e.len;
		emit_set(&g->e, back);
	}
	g->clobbered = isa->regs;
	save(g, g->early);
	isa->come_back(g, isa->gone ? gone : ways.leave_early);
	if (detour_needs_duration(g->plan))
		isa->duration(g);
	g->isa->find_base(g, ways.trap_early[ways.order[0]], ways.leave_early);
	for (size_t k = 0; k < ways.n_order; k++)
		one_probe(g, &ways, ways.order[k]);
	way_out(g, &ways);
	for (size_t k = 0; k < ways.n_order; k++)
		put_trap(g, &ways, ways.order[k]);
	emit_set(&g->e, gone);
	if (isa->gone)
		isa->gone(g);
	emit_set(&g->e, other);
	if (g->calls)
		isa->calls->other(g, called);
}

static void put_misses(struct gen *g)
{
	for (size_t i = 0; i < g->n_misses; i++) {
		emit_set(&g->e, g->misses[i].at);
		g->probe = g->misses[i].probe;
		g->isa->loads->miss(g, &g->misses[i]);
	}
	emit_set(&g->e, g->search);
	if (g->n_misses)
		g->isa->loads->search(g);
}

/* They may have some of their own. */
static void put_asides(struct gen *g)
{
	for (size_t i = 0; i < g->n_asides; i++) {
		const struct gen_aside aside = g->asides[i];

		g->fail = aside.fail;
		g->probe = aside.probe;
		g->clobbered = aside.clobbered;
		aside.put(g, &aside);
	}
}

/* Words are read whole: there must be something behind a literal, too. */
static void put_literals(struct gen *g)
{
	emit_fill(&g->e, 8, g->isa->fill);
	if (g->needs_words)
		g->isa->words(g);
	for (size_t i = 0; i < g->literals.n; i++) {
		emit_set(&g->e, g->literals.v[i].label);
		emit_bytes(&g->e, g->literals.v[i].bytes, g->literals.v[i].len);
		emit_fill(&g->e, 8, g->isa->fill);
	}
}

/* The trap is for the tracer, who comes; if it does not in time, the guard has an entry for it. */
static void put_bell_of_scan(struct gen *g, label_t at, label_t *ret_trap)
{
	label_t trap = emit_label(&g->e);

	emit_set(&g->e, at);
	g->isa->scan->bell->ring(g, false, trap, trap);
	*ret_trap = trap;
}

/* All of one without probes. Its trap is met as at the site, too. */
static void put_watch(struct gen *g, label_t copy)
{
	const struct gen_scan *isa = g->isa->scan, *scan = g->plan->scans ? isa : NULL;
	uint32_t regs = (scan ? scan->regs : 0) | (isa && g->plan->asks ? isa->bell->regs : 0);
	label_t leave = emit_label(&g->e), trap = emit_label(&g->e), at;
	label_t no_stack = emit_label(&g->e), early = emit_label(&g->e);

	g->early = g->used = regs;
	g->out->entry_at = (uint32_t)g->e.len;
	g->isa->enter(g, no_stack);
	g->isa->save_first(g, regs);
	if (scan)
		scan->look(g, trap, leave);
	else
		g->isa->scan->bell->ring(g, false, g->plan->stops ? trap : leave, leave);
	restore(g, GEN_LEAVE, leave, early);
	g->isa->jump(&g->e, copy);
	if (scan && g->plan->asks)
		put_bell_of_scan(g, trap, &trap);
	restore(g, GEN_TRAP, trap, emit_label(&g->e));
	g->out->trap_at[0] = (uint32_t)g->e.len;
	at = emit_here(&g->e);
	g->isa->breakpoint(&g->e);
	g->isa->jump(&g->e, copy);
	emit_set(&g->e, no_stack);
	g->isa->undo_frame(g);
	g->isa->jump(&g->e, at);
}

/* What a part of the block has put off. */
static void put_rest(struct gen *g)
{
	put_misses(g);
	gen_put_faults(g);
	put_asides(g);
}

/* Of a function that is left right behind where it is entered: its returns. A fault of the ret behind them is told at the block's address. */
static void put_then(struct gen *g, label_t at, label_t back, label_t leave)
{
	const struct detour_plan *first = g->plan;
	const struct displaced_insn *ret = &first->then->window->insns[0];
	uint32_t entry_at = g->out->entry_at, off = g->out->hijack_off;

	g->plan = first->then;
	g->n_before = first->n_probes;
	g->n_misses = g->n_faults = g->n_asides = 0;
	g->search = emit_label(&g->e);
	g->read_call = emit_label(&g->e);
	emit_set(&g->e, at);
	put_entry(g, leave, back);
	if (first->code.leaf || first->window->n > 1) {
		emit_set(&g->e, leave);
		emit_bytes(&g->e, ret->bytes, ret->len);
	}
	put_rest(g);
	g->out->entry_at = entry_at;
	g->out->hijack_off = off;
	g->plan = first;
	g->n_before = 0;
}

static void put_block(struct gen *g)
{
	label_t copy, back = emit_label(&g->e), then, ret;

	g->search = emit_label(&g->e);
	g->read_call = emit_label(&g->e);
	g->low_bits = emit_label(&g->e);
	g->high_bits = emit_label(&g->e);
	then = gen_copy_put(g, &copy, &ret);
	g->isa->align(&g->e);
	if (g->plan->n_probes == 0)
		put_watch(g, copy);
	else
		put_entry(g, copy, back);
	if (detour_has_return(g->plan) && !g->plan->run_up)
		put_return(g, back);
	put_rest(g);
	if (g->plan->then)
		put_then(g, then, back, ret);
	put_literals(g);
}

/* --- a detour ------------------------------------------------------------------------------------ */

static int finish(struct gen *g, struct ubp_err *err)
{
	int rc = emit_finish(&g->e, g->isa->fix);

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

int gen_detour(const struct gen_isa *isa, const struct detour_plan *plan,
	       struct detour *ret_detour, struct ubp_err *err)
{
	struct gen g = { .isa = isa, .plan = plan, .out = ret_detour };
	struct leaf_copy *leaf = NULL;
	struct window_copy copy;
	int rc;

	if (gen_like(isa, plan, ret_detour))
		return 0;
	memset(ret_detour, 0, sizeof(*ret_detour));
	ret_detour->ret_below = isa->ret_below;
	rc = gen_check(isa, plan, err);
	if (rc < 0)
		return rc;
	rc = isa->build_copy(plan->window, plan->vaddr, &copy, err);
	if (rc < 0)
		return rc;
	rc = plan->code.leaf ? gen_copy_build_leaf(isa, plan, &copy, &leaf, err) : 0;
	if (rc < 0)
		return rc;
	gen_note_copy(ret_detour, &copy);
	g.copies.window = copy.code;
	g.copies.leaf = leaf;
	emit_init(&g.e, isa->bits, plan->vaddr);
	put_block(&g);
	rc = finish(&g, err);
	if (rc == 0)
		gen_like_keep(&g, ret_detour);
	emit_free(&g.e);
	free(g.misses);
	free(g.asides);
	free(g.faults);
	free(g.literals.v);
	free(leaf);
	if (rc < 0) {
		free(ret_detour->loads);
		free(ret_detour->places);
		free(ret_detour->exits);
		memset(ret_detour, 0, sizeof(*ret_detour));
	}
	return rc;
}

/* --- the common code of returns ------------------------------------------------------------------ */

int gen_return_code(const struct gen_isa *isa, uint64_t hijacks, uint64_t hijacks_mask,
		    uint64_t trampoline, uint8_t *code, size_t max, size_t *ret_len,
		    struct ubp_err *err)
{
	struct gen g = { .isa = isa };
	int rc;

	if (!isa->returns->can_hijack(hijacks, hijacks_mask))
		return ubp_fail(err, EOPNOTSUPP, "no table for return addresses");
	emit_init(&g.e, isa->bits, 0);
	isa->returns->common(&g, hijacks, hijacks_mask, trampoline);
	rc = emit_take(&g.e, isa->fix, code, max, ret_len);
	return rc < 0 ? ubp_fail(err, -rc, "no code for returns") : 0;
}
