/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Jumps are taken back: one, or all of a space. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/ring.h"
#include "engine/base/sort.h"
#include "engine/base/vec.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/jump_who.h"
#include "engine/plant/led_out.h"
#include "engine/plant/page_edit.h"
#include "engine/plant/patches.h"
#include "engine/plant/rings.h"
#include "engine/plant/site.h"
#include "engine/plant/site_counts.h"
#include "engine/returns/hijack.h"
#include "engine/returns/ops.h"
#include "engine/returns/stack_words.h"
#include "engine/space/jump_part.h"
#include "engine/space/part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"

/* Those who never run get no further anyway. */
#define RECORD_MAX_NS 100000000L
/* So often it is looked for who may come back to a hop, ever longer after the last time. */
#define HOP_TRIES 8

/*
 * As it was written (jump_steps.c), backwards: a breakpoint first, whose slot leads to the
 * copy of the window; what is behind it; what it stands on.
 */
enum step { STEP_BREAKPOINT, STEP_TAIL, STEP_FIRST };

/* Only if what stands there is ours: the jump, or in the later steps the breakpoint. */
static void unwrite_step(const struct space *space, struct page_edit *edit, pid_t tid,
			 const struct site *site, enum step step)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len, len = jump->jump_len, from = step == STEP_TAIL ? n : 0;
	bool crosses = site->vaddr % PAGE + len > PAGE;
	uint8_t now[UBP_INSN_MAX], *at = now;
	const uint8_t *first = step == STEP_BREAKPOINT ? jump->bytes : arch->swbp.code;

	if (crosses) {
		page_edit_end(edit);
		if (mem_peek(&space->mem, site->vaddr, now, len) != len)
			return;
	} else {
		at = page_edit_at(edit, site->vaddr, len);
	}
	if (!at || memcmp(at, first, n) != 0 ||
	    (step != STEP_FIRST && memcmp(at + n, jump->bytes + n, len - n) != 0) ||
	    (step == STEP_FIRST && memcmp(at + n, jump->orig + n, len - n) != 0) ||
	    (step != STEP_BREAKPOINT && bell_is_call(site)))
		return;
	if (bell_is_call(site)) {
		/* No breakpoint stands there for a moment: see jump_steps.c. */
		memcpy(at, jump->orig, len);
		if (crosses)
			(void)mem_write(&space->mem, tid, site->vaddr, at, len);
		else
			page_edit_changed(edit);
		return;
	}
	memcpy(at + from, step == STEP_BREAKPOINT ? arch->swbp.code : jump->orig + from,
	       step == STEP_TAIL ? len - n : n);
	if (crosses)
		(void)mem_write(&space->mem, tid, site->vaddr + from, at + from,
				step == STEP_TAIL ? len - n : n);
	else
		page_edit_changed(edit);
}

/* It may have been unmapped since it was looked for. */
static bool is_begun(const struct site *site)
{
	return site->jump && site->jump->is_begun;
}

/* In the order of their addresses. Allocated; NULL: out of memory. */
static struct site **written_sites(const struct plant_space *ps, size_t *ret_n)
{
	size_t n;
	struct site **sites = plant_sites_by_place(ps, &n);

	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		if (is_begun(sites[i]))
			sites[(*ret_n)++] = sites[i];
	return sites;
}

/*
 * @keeps: jumps that scan the stack become breakpoints, for there may be something on it still. They go
 * when all return addresses are back. @sites: some of those that were written, in order.
 */
static void unwrite(const struct space *space, pid_t tid, struct site *const *sites, size_t n,
		    bool keeps)
{
	/* Without memory for that, site_unplant() takes them out one by one. */
	struct page_edit *edit = malloc(sizeof(*edit));

	if (!edit)
		return;
	page_edit_begin(edit, &space->mem);
	for (enum step step = STEP_BREAKPOINT; step <= STEP_FIRST; step++) {
		for (size_t i = 0; i < n; i++)
			if (is_begun(sites[i]) &&
			    (!keeps || step != STEP_FIRST || !sites[i]->jump->is_watch))
				unwrite_step(space, edit, tid, sites[i], step);
		page_edit_end(edit);
	}
	free(edit);
}

static bool is_breakpoint(const struct space *space, struct mem_view *view,
			  const struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len, len = jump->jump_len;
	uint8_t now[UBP_INSN_MAX];

	return mem_view_peek(view, site->vaddr, now, len) == len &&
	       memcmp(now, arch->swbp.code, n) == 0 &&
	       memcmp(now + n, jump->orig + n, len - n) == 0;
}

/* What of them stands there yet is put back one by one; what can't be keeps its block. */
static void unwrite_rest(const struct space *space, pid_t tid, struct site *const *sites,
			 size_t n, bool keeps)
{
	struct mem_view view = { .mem = &space->mem };

	for (size_t i = 0; i < n; i++) {
		const struct site *site = sites[i];

		if (!is_begun(site) ||
		    (keeps && site->jump->is_watch && is_breakpoint(space, &view, site)))
			continue;
		site->jump->is_left =
			!site_is_out(space, &view, site) && site_unplant(space, tid, site) < 0;
	}
}

/* Without memory for a list of them. */
static void unwrite_unsorted(const struct plant_space *owner, const struct space *space,
			     pid_t tid, bool keeps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&owner->sites, &pos, NULL, &value)) {
		struct site *site = value;

		unwrite_rest(space, tid, &site, 1, keeps);
	}
}

/*
 * Traps of detours, with nobody to handle them any more, would kill: @nop makes nops of them. Who
 * comes to one goes on to the copy, or to its return address. @only_used: of those detours that
 * somebody is in.
 */
static void defuse(const struct plant_space *owner, bool only_used,
		   const struct page_patch *nop, struct patches *patches)
{
	uint64_t at, from;
	void *value;
	size_t pos = 0;

	while (map_next(&owner->jump->traps, &pos, &at, &value)) {
		const struct site_jump *jump = only_used ? jump_at(value, at, &from) : NULL;

		if (!only_used || (jump && who_uses(owner, jump)))
			patches_add(patches, at, nop);
	}
	jump_disarm_copies(owner, only_used, patches);
}

/* The same of one whose detour is about to call its function, and has made an entry for that already. */
static void keep_from_calling(struct tracee *t, const struct site_jump *jump, uint64_t at)
{
	const struct space *space = t->process->space;
	const struct detour *d = &jump->detour;
	const struct ubp_arch *arch = space->arch;
	struct guard_hijack entry;
	struct ubp_regs regs;
	uint64_t word, entry_at;

	if (hold_get_regs(t, &regs) < 0)
		return;
	word = regs.r[arch->reg.sp] +
	       (at == d->call_at ? -(uint64_t)arch->addr_size : d->call_word);
	entry = hijack_find(space, word, &entry_at);
	regs.r[arch->reg.pc] = jump->copy + d->hijack_off;
	if (at == d->call_at) {
		regs.r[arch->reg.sp] = word;
		regs.r[arch->reg.pc] = jump->copy + d->called_at;
	}
	/* Only then: a thread that makes the call after all has the address that it returns to nowhere else. */
	if (hold_set_regs(t, &regs) == 0 && entry.real && entry.word)
		hijack_set_free(space, t->tid, entry_at);
}

/* Who is about to replace its return address must not: nobody would put that back. */
static void keep_from_hijacking(const struct space *space)
{
	for (struct tracee *t = NULL; (t = space_next(space, t));) {
		const struct site_jump *jump;
		const struct detour *d;
		const struct site *site;
		uint64_t pc, at;

		if (!t->held || hold_get_pc(t, &pc) < 0)
			continue;
		site = plant_site_of_slot(space, pc);
		jump = site ? jump_at(site, pc, &at) : NULL;
		if (!jump)
			continue;
		d = &jump->detour;
		if (d->call_at && at >= d->call_from && at <= d->call_at)
			keep_from_calling(t, jump, at);
		else if (at >= d->hijack_at && at < d->hijack_end)
			(void)hold_set_pc(t, jump->copy + d->hijack_off);
	}
}

/*
 * Nobody comes to them any more: those that nobody may come back to go, too. @is_last: what cannot be written is not
 * tried again.
 */
static void take_out_hops(const struct space *space, bool is_last)
{
	struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->jump->hops, &pos, NULL, &value)) {
		struct site *site = value;
		int rc = hop_take_out(space, site);

		/* What an earlier session left may be unmapped by now. */
		if (rc < 0 && is_last && site->vaddr)
			plant_left_live(&ps->left, "a jump", site->hop.vaddr, rc);
	}
}

static void clean_hops(const struct plant_space *owner, const struct space *copy, pid_t tid,
		       struct plant_left *left)
{
	size_t pos = 0;
	void *value;

	while (map_next(&owner->jump->hops, &pos, NULL, &value)) {
		const struct site *site = value;
		int rc = site->hop.stands && !site->hop.in_use ? hop_put_back(copy, tid, site)
							       : 0;

		if (rc < 0)
			plant_left_live(left, "a jump", site->hop.vaddr, rc);
	}
}

/* In a copy of @owner's memory, whose only thread @tid is stopped. */
static void clean_copy(struct plant_space *owner, const struct space *space, pid_t tid,
		       struct plant_left *left)
{
	const struct ubp_arch *arch = space->arch;
	const struct page_patch nop = { arch->swbp.nop, arch->swbp.len };
	struct patches patches = { .space = space, .tid = tid };
	struct maps maps = { 0 };
	struct ubp_regs regs;
	struct ubp_err err;
	struct site **sites;
	size_t n;
	bool known;

	if (!owner->jump->n_written && !owner->jump->hops.n)
		return;
	sites = written_sites(owner, &n);
	if (sites) {
		unwrite(space, tid, sites, n, false);
		unwrite_rest(space, tid, sites, n, false);
	} else {
		unwrite_unsorted(owner, space, tid, false);
	}
	free(sites);
	known = ubp_host_get_regs(tid, &regs) == 0 && maps_read(tid, &maps, &err) == 0;
	jump_forget_users(owner, known);
	if (known) {
		who_note_pc(owner, regs.r[arch->reg.pc]);
		if (!stack_words(&maps, &space->mem, tid, regs.r[arch->reg.sp], arch->addr_size,
				 who_note_word, owner))
			jump_forget_users(owner, false);
	}
	maps_free(&maps);
	clean_hops(owner, space, tid, left);
	defuse(owner, true, &nop, &patches);
	patches_end(&patches);
	return_ops(space)->put_back_hijacks(owner, space, tid, left);
}

static bool is_free(const struct plant_space *ps, const struct site *site,
		    const struct site_jump *jump)
{
	/* What scans has an entry of the guard's, for good. */
	return !jump->is_left && !jump->is_watch && !who_uses(ps, jump) &&
	       !(jump->hop_at && site->hop.stands);
}

/* Blocks that nobody is in, nor can come to any more, serve the next session: @mark makes them free. */
static void free_blocks(const struct plant_space *ps, const struct page_patch *mark,
			struct patches *patches)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site_jump *jump = NULL;

		while ((jump = jump_next(value, jump)))
			if (is_free(ps, value, jump))
				patches_add(patches, jump->copy - UBP_SLOT_SIZE, mark);
	}
}

/*
 * A load of theirs may fault, which only a tracer can make good: it has to be there until they
 * are through. They need a few ns of running, whenever they get to it.
 */
static void wait_until_recorded(struct tracer *tracer, struct space *space)
{
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO);
	bool recording = true;

	while (recording && event_clock_now(CLOCK_KIND_MONO) - begun < RECORD_MAX_NS) {
		struct timespec a_while = { .tv_nsec = RECORD_MAX_NS / 200 };
		struct who who;

		(void)nanosleep(&a_while, NULL);
		who_hold(tracer, space, false, &who);
		hold_end(tracer, space, NULL);
		recording = who_end(&who);
	}
}

/*
 * Hops that somebody was about to come back to, or may have been: a signal handler is over soon, mostly. What stays
 * is the next session's.
 */
static void wait_for_hops(struct tracer *tracer, struct space *space)
{
	const struct plant_space *ps = space->plant;

	for (int i = 0; i < HOP_TRIES && hop_any(ps); i++) {
		struct timespec a_while = { .tv_nsec = RECORD_MAX_NS >> (HOP_TRIES - i) };
		struct who who;

		(void)nanosleep(&a_while, NULL);
		who_hold(tracer, space, false, &who);
		take_out_hops(space, i + 1 == HOP_TRIES);
		hold_end(tracer, space, NULL);
		(void)who_end(&who);
	}
}

/* So many while threads are held: then they go on for a moment. */
#define PIECE 2048
/* Handled meanwhile. */
#define STOPS_BETWEEN 64

static void take_out_piece(struct tracer *tracer, struct space *space,
			   struct site *const *sites, size_t n)
{
	(void)hold_rest(tracer, space, JUMP_HOLD_MS);
	(void)rings_set_gate(space, space, 0, RING_GATE_OFF);
	if (sites) {
		unwrite(space, 0, sites, n, true);
		unwrite_rest(space, 0, sites, n, true);
	} else {
		unwrite_unsorted(space->plant, space, 0, true);
	}
	area_note_change(space, 0);
	hold_end(tracer, space, NULL);
}

/* When this is through nobody comes into a detour any more. */
static void take_out(struct tracer *tracer, struct space *space)
{
	size_t n;
	struct site **sites = written_sites(space->plant, &n);

	hold_look(tracer, space, NULL, NULL);
	for (size_t i = 0; i < n || i == 0; i += PIECE) {
		if (i)
			tracer_poll(tracer, STOPS_BETWEEN);
		take_out_piece(tracer, space, sites ? sites + i : NULL,
			       n - i < PIECE ? n - i : PIECE);
	}
	free(sites);
}

/* True: one records just now, perhaps. */
static bool put_returns_back(struct tracer *tracer, struct space *space)
{
	struct plant_space *ps = space->plant;
	struct who who;

	who_hold(tracer, space, hijack_place(ps).table != 0, &who);
	keep_from_hijacking(space);
	jump_leave_copies(space);
	return_ops(space)->save_returning(space);
	return_ops(space)->put_back_hijacks(ps, space, 0, &ps->left);
	take_out_hops(space, false);
	ps->jump->n_written = 0;
	hold_end(tracer, space, NULL);
	return who_end(&who);
}

void jump_remove(struct tracer *tracer, struct space *space)
{
	const struct plant_space *ps = space->plant;
	const uint64_t magic = UBP_JUMP_FREE;
	const struct page_patch nop = { space->arch->swbp.nop, space->arch->swbp.len },
				mark = { &magic, sizeof(magic) };
	struct patches patches = { .space = space };

	if (!ps || ps->closing || (!ps->jump->n_written && !ps->jump->hops.n))
		return;
	space_keep(space);
	take_out(tracer, space);
	if (put_returns_back(tracer, space))
		wait_until_recorded(tracer, space);
	wait_for_hops(tracer, space);
	return_ops(space)->note_blocks(space);
	defuse(ps, false, &nop, &patches);
	free_blocks(ps, &mark, &patches);
	patches_end(&patches);
	space_put(tracer, space);
}

int jump_to_breakpoint(const struct space *space, struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len;
	bool is_bell = bell_is_call(site);
	int rc = 0;

	if (jump->is_begun)
		rc = led_out_note_old(space->plant, site, jump);
	if (rc < 0)
		return rc;
	if (jump->is_begun && is_bell)
		rc = mem_write(&space->mem, 0, site->vaddr, jump->orig, jump->jump_len);
	else if (jump->is_begun)
		rc = mem_write(&space->mem, 0, site->vaddr, arch->swbp.code, n);
	if (rc == 0 && jump->is_begun && !is_bell && jump->jump_len > n)
		rc = mem_write(&space->mem, 0, site->vaddr + n, jump->orig + n,
			       jump->jump_len - n);
	/* It had no breakpoint before. */
	if (rc == 0 && jump->is_begun && jump->run_up)
		rc = mem_write(&space->mem, 0, site->vaddr, jump->orig, n);
	if (rc == 0)
		rc = mem_write(&space->mem, 0, site->slot, site->code.code, site->code.len);
	if (rc < 0)
		return rc;
	if (site->rung == SITE_JUMPED)
		count_jump(site, false);
	site->rung = SITE_BOOSTED;
	if (is_bell || (jump->is_begun && jump->run_up)) {
		site->rests = is_bell || site->run_up;
		site->planted = false;
	}
	jump->is_begun = jump->is_written = false;
	return 0;
}

bool jump_demote(const struct held *held, struct site *site, const char *why)
{
	struct space *space = held->t->process->space;
	struct hold_scope scope;
	bool done = false;

	hold_scope_begin(&scope, held);
	if (hold_all(held->tracer, space, JUMP_HOLD_MS) && site->jump &&
	    site->rung == SITE_JUMPED && jump_to_breakpoint(space, site) == 0) {
		area_note_change(space, 0);
		jump_refuse(site, why);
		done = true;
	}
	hold_end(held->tracer, space, held);
	hold_scope_end(&scope);
	return done;
}

int jumps_copy(const struct part_copied *c)
{
	size_t pos = 0;
	uint64_t vaddr;
	void *value;

	while (map_next(&c->from->jump->traps, &pos, &vaddr, &value)) {
		void *site = map_get(&c->to->sites, ((struct site *)value)->vaddr);

		if (site && map_put(&c->to->jump->traps, vaddr, site) < 0)
			return -ENOMEM;
	}
	pos = 0;
	while (map_next(&c->from->jump->hops, &pos, &vaddr, &value)) {
		void *site = map_get(&c->to->sites, ((struct site *)value)->vaddr);

		if (site && map_put(&c->to->jump->hops, vaddr, site) < 0)
			return -ENOMEM;
	}
	pos = 0;
	while (map_next(&c->from->jump->puns, &pos, &vaddr, &value))
		if (map_put(&c->to->jump->puns, vaddr, value) < 0)
			return -ENOMEM;
	pos = 0;
	while (map_next(&c->from->jump->led_to, &pos, &vaddr, &value))
		if (map_put(&c->to->jump->led_to, vaddr, value) < 0)
			return -ENOMEM;
	c->to->jump->n_pun_areas = c->from->jump->n_pun_areas;
	c->to->jump->n_written = c->from->jump->n_written;
	c->to->jump->renew_due = c->from->jump->renew_due;
	c->to->jump->sweep_due = c->from->jump->sweep_due;
	return 0;
}

void jumps_leave(struct part_left *l)
{
	if (l->owner != l->undo.space)
		clean_copy(l->ps, l->undo.space, l->tid, l->undo.left);
}

void jumps_forget(struct plant_space *ps)
{
	map_free(&ps->jump->traps);
	map_free(&ps->jump->blocks);
	map_free(&ps->jump->hops);
	map_free(&ps->jump->puns);
	map_free(&ps->jump->led_to);
}
