/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/jump_detour.h"

#include <errno.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/leaf.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/event/ring.h"
#include "engine/event/ring_tally.h"
#include "engine/plant/bell.h"
#include "engine/plant/claims.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump.h"
#include "engine/plant/leaf.h"
#include "engine/plant/mirror.h"
#include "engine/plant/run_up.h"
#include "engine/plant/scan.h"
#include "engine/returns/hijack.h"
#include "engine/returns/kernel.h"
#include "engine/returns/returns.h"
#include "engine/space/probe_list.h"
#include "engine/space/site_jump.h"
#include "engine/space/site_leaf.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"

/* Of @code, @got bytes, that a punned jump is to stand on. What follows has to be what the file says. */
static int find_punned(const struct space *space, const struct site *site,
		       const struct uprobe_window *w, const uint8_t *code, size_t got,
		       struct window *ret_window, struct ubp_err *err)
{
	const struct arch_jump *arch = &space->arch->jump;
	const struct pun *pun = &site->hop.pun;
	size_t jump_len = (size_t)pun->n_prefix + UBP_HOP_LEN - pun->n_fixed;
	int rc;

	if (!pun->n_fixed || got < jump_len + pun->n_fixed ||
	    memcmp(code + jump_len, pun->fixed, pun->n_fixed) != 0)
		return ubp_fail(err, EBUSY, "what follows it is not what the file has there");
	rc = arch->find_punned(code, got < w->len ? got : w->len, (uint8_t)jump_len,
			       site->vaddr, ret_window, err);
	ret_window->pun = *pun;
	return rc;
}

/* What the program itself has there. */
static int find_window(const struct space *space, struct mem_view *view,
		       const struct site *site, struct window *ret_window, struct ubp_err *err)
{
	const struct uprobe_window *w =
		site->n_probes ? &site->probes[0]->window : site->window;
	uint8_t code[UBP_WINDOW_MAX];
	size_t got;

	if (!w)
		return ubp_fail(err, EINVAL, "nothing is known of its window");
	got = mem_view_peek(view, site->vaddr, code, w->pun.n_fixed ? sizeof(code) : w->len);
	/* Its first bytes are a breakpoint's. */
	memcpy(code, site->insn.bytes, site->insn.len < got ? site->insn.len : got);
	if (w->pun.n_fixed)
		return find_punned(space, site, w, code, got, ret_window, err);
	if (w->n_hops)
		return space->arch->jump.find_short(code, got, w->padding, site->vaddr,
						    ret_window, err);
	return space->arch->jump.find(code, got, w->padding, site->vaddr, ret_window, err);
}

/* What tells that a function was left: a record without a return address, of which nobody asks more. */
static size_t fill_left(const struct site *site, struct detour_probe *probes)
{
	static const struct fetch_program nothing;

	for (size_t i = 0; i < site->n_exits; i++)
		probes[i] = (struct detour_probe){ .number = site->exits[i].probe->number,
						   .kind = PROBE_ENTRY,
						   .program = &nothing };
	return site->n_exits;
}

static size_t fill_probes(const struct plant *plant, const struct site *site, uint32_t *cell,
			  struct detour_probe *probes)
{
	size_t n = jump_n_recorded(site);

	if (jump_is_at_jump(site))
		return fill_left(site, probes);
	for (size_t i = 0; i < n; i++) {
		const struct uprobe *u = jump_recorded(site, i);
		uint32_t n_cells = detour_cells(u->program) + (plant->opt.frames != 0);

		ring_set_use_cells(plant->opt.rings, *cell + n_cells);
		probes[i] =
			(struct detour_probe){ .number = u->number,
					       .kind = u->kind,
					       .program = u->program,
					       .filter = u->filter,
					       .tally = u->at_hit.tally,
					       .sample = u->at_hit.sample,
					       .stops = u->at_hit.sample && plant->opt.unwinds,
					       .once = plant->opt.once,
					       .cell = *cell };
		*cell = (*cell + n_cells) % (RING_CELLS / 2);
	}
	return n;
}

/* Does one of its probes count? Of what is counted nothing is lost. */
static bool counts(const struct site *site)
{
	for (size_t i = 0; i < jump_n_recorded(site); i++)
		if (jump_recorded(site, i)->at_hit.tally)
			return true;
	return false;
}

/* Entries of stacks, which those of a site have alike: if one wants them. */
static uint8_t frames_of(const struct plant *plant, const struct site *site)
{
	for (size_t i = 0; i < jump_n_recorded(site); i++)
		if (!jump_recorded(site, i)->at_hit.no_stack)
			return (uint8_t)plant->opt.frames;
	return 0;
}

/* Of all detours in a space, from the first on that asks for it. */
static uint64_t ns_factor(const struct plant *plant, struct plant_space *ps,
			  const struct detour_plan *plan)
{
	for (size_t i = 0; i < plan->n_probes && !hijack_ns_factor(ps); i++)
		if (plan->probes[i].program->needs_duration)
			hijack_set_ns_factor(ps, ring_set_ns_factor(plant->opt.rings));
	return hijack_ns_factor(ps);
}

/* As much of a function is shown to who makes its detour. */
#define CODE_MAX 64

/* The jump, and the one at its hop. */
static int build_jump(const struct plant_space *ps, const struct ubp_arch *arch,
		      const struct window *window, struct site *site, struct site_jump *jump,
		      struct ubp_err *err)
{
	struct window at_hop = { .jump_len = UBP_HOP_LEN };
	uint64_t entry = jump->copy + jump->detour.entry_at;
	int rc;

	jump->hop_at = hop_is_needed(site) || (!site->n_exits && !jump->is_at_ret &&
					       mirror_choose(ps, arch, window, site))
			       ? site->hop.vaddr
			       : 0;
	if (!jump->hop_at)
		return arch->jump.build(window, site->vaddr, entry, jump->bytes, err);
	at_hop.insns[0] = window->insns[0];
	rc = arch->jump.build(window, site->vaddr, site->hop.vaddr, jump->bytes, err);
	if (rc == 0)
		rc = arch->jump.build(&at_hop, site->hop.vaddr, entry, jump->hop, err);
	if (rc == 0 || !site->hop.is_own || site->hop.stands)
		return rc;
	/* The detour is too far from there. */
	jump_forget_hop(ps, site);
	jump->hop_at = 0;
	return arch->jump.build(window, site->vaddr, entry, jump->bytes, err);
}

/* What it takes of the fill behind the function. */
static bool read_fill(struct jump_maker *m, const struct site *site,
		      const struct window *window, struct site_jump *jump)
{
	size_t len = window->jump_len > window->len ? window->jump_len - window->len : 0;

	return mem_view_peek(&m->view, site->vaddr + window->len, jump->orig + window->len,
			     len) == len;
}

static void take_window(struct site_jump *jump, const struct window *window)
{
	jump->n = window->n;
	for (size_t i = 0; i < window->n; i++) {
		jump->from[i + 1] = jump->from[i] + window->insns[i].len;
		memcpy(jump->orig + jump->from[i], window->insns[i].bytes,
		       window->insns[i].len);
	}
	jump->jump_len = window->jump_len;
	jump->n_prefix = window->pun.n_prefix;
	jump->reach = (uint8_t)(window->jump_len + window->pun.n_fixed);
}

/* What the jump stands on, what its detour carries out, and where. */
static int find_code(struct jump_maker *m, struct site *site, struct run_up *run_up,
		     struct detour_plan *plan, struct ubp_err *err)
{
	const struct arch_jump *arch = &m->space->arch->jump;
	int rc;

	if (jump_is_at_jump(site)) {
		rc = (jump_is_short(site) ? arch->find_short : arch->find)(
			site->insn.bytes, site->insn.len, 0, site->vaddr, &run_up->jumped, err);
	} else if (site->run_up || jump_is_at_ret(site)) {
		plan->window = &run_up->ret;
		plan->run_up = &run_up->before;
		plan->lead = &run_up->lead;
		plan->code.len = 0;
		rc = run_up_find(m->space, &m->view, site, run_up, err);
	} else {
		rc = find_window(m->space, &m->view, site, &run_up->jumped, err);
		run_up->before = (struct window){ 0 };
		if (jump_ends_at_ret(site))
			run_up_take_ret(run_up, &site->insn);
		plan->code.leaf = site_leaf(site);
		if (rc == 0 && plan->code.leaf && !leaf_take_ret(m->space->plant, site, run_up))
			rc = ubp_fail(err, EBUSY, "no ret is known");
	}
	run_up->ret.asks_room = run_up->jumped.asks_room = jump_asks_room(site);
	return rc;
}

static void note_detour(struct site_jump *jump, const struct site *site,
			const struct detour_plan *plan)
{
	jump->copy = plan->vaddr;
	jump->is_watch = !plan->n_probes;
	jump->claims = jump->is_watch || plan->claim;
	jump->len = (uint32_t)jump->detour.len;
	jump->is_at_ret = plan->run_up != NULL;
	jump->ends_at_ret = plan->then != NULL;
	jump->is_at_jump = jump_is_at_jump(site);
	jump->run_up = site->run_up;
}

/* Of a function of one ret, or of a copy of one: its returns come behind what is at its entry. */
static void plan_then(const struct site *site, const struct run_up *run_up,
		      struct detour_plan *plan, struct detour_plan *then)
{
	*then = *plan;
	then->window = &run_up->ret;
	then->run_up = &run_up->before;
	then->lead = &run_up->lead;
	then->code.len = 0;
	then->code.leaf = NULL;
	then->probes += site->n_probes;
	then->n_probes = jump_n_recorded(site) - site->n_probes;
	plan->n_probes = site->n_probes;
	plan->then = then;
}

/* What leads to the detour. */
static int make_jump(struct jump_maker *m, struct site *site, const struct window *window,
		     struct site_jump *jump, struct ubp_err *err)
{
	take_window(jump, window);
	if (!read_fill(m, site, window, jump))
		return ubp_fail(err, EFAULT, "it cannot be read");
	return build_jump(m->space->plant, m->space->arch, window, site, jump, err);
}

static int make(struct jump_maker *m, struct site *site, uint64_t vaddr, struct site_jump *jump,
		struct ubp_err *err)
{
	const struct plant *plant = m->plant;
	struct plant_space *ps = m->space->plant;
	const struct ubp_arch *arch = m->space->arch;
	struct detour_probe probes[UBP_DETOUR_PROBES];
	uint8_t code[CODE_MAX];
	struct run_up run_up;
	const struct window *window = &run_up.jumped;
	bool is_watch = jump_n_recorded(site) == 0;
	const struct hijack_place hijacks = hijack_place(ps);
	struct detour_plan then, plan = {
		.site = is_watch ? site->vaddr : site_probed(site, jump_recorded(site, 0)),
		.lead = site->n_probes && uprobe_behind(site->probes[0])
				? &site->probes[0]->window.lead
				: NULL,
		.scans = is_watch && scan_is_one(site),
		.asks = (is_watch || bell_is_probed(site)) && !plant->opt.stay &&
			arch->detour.asks,
		.asks_sharing = !plant->opt.follows,
		.stops = site->watches & ~(unsigned)WATCH_BELLS,
		.filters = site->watches & WATCH_FILTERS,
		.reads = !plant->opt.stay && arch->detour.reads,
		.vaddr = vaddr,
		.gate = guard_gate(ps),
		.window = window,
		.code = { code, mem_view_peek(&m->view, site->vaddr, code, sizeof(code)),
			  NULL },
		.probes = probes,
		.lossless = plant->opt.lossless || counts(site),
		.count_dropped = plant->opt.count_dropped,
		.frames = jump_is_at_jump(site) ? 0 : frames_of(plant, site),
		.trampoline = returns_trampoline(ps),
		.hijacks = hijacks.table,
		.hijacks_mask = hijacks.mask,
		.return_vaddr = hijacks.code,
		.has = plant->code_has,
		.self_at = claims_self_at(ps),
		.claim = claims_code(ps),
		.tally = ring_set_tally_place(plant->opt.rings),
		.like = m->like,
	};
	int rc = find_code(m, site, &run_up, &plan, err);

	if (rc < 0)
		return rc;
	plan.tally.asks_when_full = !plant->opt.stay && arch->detour.asks && counts(site);
	plan.n_probes = fill_probes(plant, site, &m->cell, probes);
	jump->n_numbers = probe_list(plant)->n_numbers;
	if (jump_take_probes(jump, site) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	plan.ns_factor = ns_factor(plant, ps, &plan);
	plan.leaves_kernel_return = !site->run_up && kernel_may_be_misled(plant, site);
	if (jump_ends_at_ret(site) || plan.code.leaf)
		plan_then(site, &run_up, &plan, &then);
	rc = arch->detour.build(&plan, &jump->detour, err);
	if (rc < 0)
		return rc;
	note_detour(jump, site, &plan);
	return make_jump(m, site, window, jump, err);
}

int jump_make_detour(struct jump_maker *m, struct site *site, uint64_t vaddr,
		     struct site_jump *jump, struct ubp_err *err)
{
	bool has_leaf = site_leaf(site) && leaf_is_there(m->space, &m->view, site);
	int rc = make(m, site, vaddr, jump, err);

	if (rc == 0 || rc == -ENOMEM || !has_leaf)
		return rc;
	/* Without the function's copy, then. */
	site_leaf_refuse(site);
	jump_clear(jump);
	ubp_err_reset(err);
	return make(m, site, vaddr, jump, err);
}
