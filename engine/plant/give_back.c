/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a process gets back when it is left: mappings of ours that no thread can come to any
 * more. By then nothing leads to them, neither code nor signal actions; but a thread may still
 * be in one, or come back to it from a signal handler, or return to it. So all threads are looked
 * at, and what cannot be proven to be unused stays, for the next session. The first area and its
 * page of data always stay: the program may have kept the guard's address.
 */

#include "engine/plant/give_back.h"
#include "engine/plant/claims.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/os/maps.h"
#include "engine/plant/areas.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/hop.h"
#include "engine/plant/rings.h"
#include "engine/plant/site.h"
#include "engine/returns/hijack.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/returns/stack_words.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/undo.h"
#include "engine/trace/attach.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define HOLD_MS 200
#define TRIES   8 /* while threads wake up */
/* Rings, hijacked addresses, return table. */
#define FEW_MAPPINGS 3

#define DATA(member) offsetof(struct guard_data, member)
#define HEAD(member) offsetof(struct guard_head, member)

/* Where threads are, or may come back to. */
struct look {
	const struct space *space;
	bool in_guard;  /* in what stands once in a space: trampoline, stub, guard */
	bool in_detour; /* in what uses rings and replaced return addresses */
	bool woke_up;   /* one of them, while it was looked at */
	bool unknown;   /* where one may be */
	uint64_t rings, rings_len;
	struct maps maps;
};

/* A slot, or the copy of a window, is nothing but the program's own instructions. */
static bool is_displaced(const struct space *space, uint64_t pc)
{
	const struct site *site = plant_site_of_slot(space, pc);
	const struct site_jump *jump;
	uint64_t at;

	if (!site || site_is_in_slot(site, pc))
		return site != NULL;
	jump = jump_at(site, pc, &at);
	return jump && at < jump->detour.copy.len;
}

/* From the slot of a place that is a jump it goes on in the copy of the jump's window, which may be in another area. */
static void note_copies(const struct plant_space *ps, const struct site *site)
{
	const struct site_jump *jump = NULL;
	struct area *area;

	while ((jump = jump_next(site, jump))) {
		area = jump->n > 1 ? area_of(ps, jump->copy) : NULL;
		if (area)
			area->in_use = true;
	}
}

static void note(void *ctx, uint64_t word)
{
	struct look *look = ctx;
	const struct plant_space *ps = look->space->plant;
	struct area *area = area_of(ps, word);
	const struct site *site;

	if (!area)
		return;
	area->in_use = true;
	site = plant_site_of_slot(look->space, word);
	if (site && site_is_in_slot(site, word))
		note_copies(ps, site);
	if (area == ps->areas && word - area->vaddr < UBP_AREA_TABLE)
		look->in_guard = true;
	else
		look->in_detour |= !is_displaced(look->space, word);
}

/*
 * Is that the stack the thread began on, where all is that it may come back to? A signal handler's
 * alternate stack says little of what it interrupted, nor does a coroutine's. Of a thread
 * that was never stopped no thread pointer is known: it has not come by anything of ours.
 */
static bool is_own_stack(const struct maps *maps, const struct tracee *t, uint64_t sp)
{
	const struct mapping *m = maps_at(maps, sp);

	return m && (strcmp(m->path, "[stack]") == 0 || !t->probes->thread_pointer ||
		     maps_at(maps, t->probes->thread_pointer) == m);
}

static void look_at_stack(struct look *look, const struct tracee *t, uint64_t pc, uint64_t sp)
{
	const struct space *space = look->space;

	look->unknown |= !is_own_stack(&look->maps, t, sp);
	note(look, pc);
	look->unknown |= !stack_words(&look->maps, &space->mem, t->tid, sp,
				      space->arch->addr_size, note, look);
}

/* hold_look_fn. Its stack may be younger than what was read of the mappings: then it has to wait for the hold. */
static bool look_at_sleeper(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp)
{
	struct look *look = ctx;

	if (!maps_at(&look->maps, sp))
		return false;
	look_at_stack(look, t, pc, sp);
	return true;
}

static void look_at(struct look *look, const struct tracee *t)
{
	const struct ubp_arch *arch = look->space->arch;
	struct ubp_regs regs;

	if (t->held)
		look->unknown |= hold_get_regs(t, &regs) < 0;
	else
		look->woke_up |=
			!task_asleep(t->tid, &regs.r[arch->reg.pc], &regs.r[arch->reg.sp]);
	if (!look->unknown && !look->woke_up)
		look_at_stack(look, t, regs.r[arch->reg.pc], regs.r[arch->reg.sp]);
}

static bool read_maps(struct look *look)
{
	const struct tracee *t = space_next(look->space, NULL);
	struct ubp_err ignored;

	maps_free(&look->maps);
	return t && maps_read(t->tid, &look->maps, &ignored) == 0;
}

static void look_at_rest(struct look *look)
{
	const struct tracee *t = NULL;

	look->unknown |= hold_has_rest(look->space) && !read_maps(look);
	look->unknown |= sharers_hidden(look->space) != NULL;
	while (!look->unknown && !look->woke_up && (t = space_next(look->space, t)))
		if (t->left_alone != LEFT_LOOKED_AT)
			look_at(look, t);
	if (!look->unknown)
		look->rings = rings_place(look->space, &look->maps, &look->rings_len);
}

/*
 * Does nothing in the program's code lead to us? Where a site cannot be read, nothing is mapped any more, or
 * another file: a read that fails tells nothing.
 */
static bool all_are_out(const struct space *space, pid_t pid)
{
	const struct plant_space *ps = space->plant;
	struct mem_view view = { .mem = &space->mem };
	struct undo undo = { .space = space, .pid = pid };
	size_t n;
	struct site **sites = plant_sites_by_place(ps, &n);
	bool all = sites != NULL && !hop_any(ps);

	for (size_t i = 0; i < n && all; i++)
		all = site_is_out(space, &view, sites[i]) ||
		      undo_is_gone(&undo, sites[i]->vaddr, sites[i]->dev, sites[i]->ino);
	undo_end(&undo);
	free(sites);
	return all;
}

struct gift {
	uint64_t vaddr, len;
};

struct giving {
	struct space *space;
	pid_t tid;
	struct gift *gifts;
	size_t n;
	bool failed; /* the target was not told: what it names must stay */
};

static void put_words(struct giving *g, uint64_t vaddr, const uint64_t *words, size_t n)
{
	g->failed |= mem_write(&g->space->mem, g->tid, vaddr, words, n * sizeof(*words)) < 0;
}

static void give(struct giving *g, uint64_t vaddr, uint64_t len)
{
	if (!g->failed)
		g->gifts[g->n++] = (struct gift){ vaddr, len };
}

static void give_rings(struct giving *g, const struct look *look)
{
	struct plant_space *ps = g->space->plant;
	const uint64_t none[2] = { 0 };

	if (!look->rings)
		return;
	put_words(g, guard_data(ps) + DATA(rings), none, 2);
	give(g, look->rings, look->rings_len);
	rings_given_back(ps);
}

static void give_returns(struct giving *g)
{
	struct plant_space *ps = g->space->plant;
	const struct return_place at = return_place(ps);
	const uint64_t none[2] = { 0 };

	if (!at.table)
		return;
	put_words(g, ps->areas->vaddr + HEAD(returns), none, 2);
	give(g, at.table, (at.mask + 1) * sizeof(struct guard_return));
	returns_set_place(ps, (struct return_place){ 0, at.mask });
}

/* The place of the code for it is told on, to be used again. */
static void give_hijacks(struct giving *g)
{
	struct plant_space *ps = g->space->plant;
	const struct hijack_place at = hijack_place(ps);
	const uint64_t none[2] = { 0 };

	if (!at.table)
		return;
	put_words(g, guard_data(ps) + DATA(hijacks), none, 2);
	give(g, at.table, (at.mask + 1) * sizeof(struct guard_hijack));
	hijack_set_place(ps, (struct hijack_place){ .mask = at.mask });
	hijack_set_room(ps, at.code);
}

/* All but the first, and those that are no mappings of their own (area_in_file.c). */
static void give_areas(struct giving *g)
{
	struct plant_space *ps = g->space->plant;
	struct area *last = ps->areas;
	const uint64_t none = 0;

	while (last->next && !g->failed) {
		struct area *a = last->next;
		uint64_t next = a->next ? a->next->vaddr : 0;

		if (a->in_use || !a->keys) {
			last = a;
			continue;
		}
		put_words(g, last->vaddr + HEAD(next), &next, 1);
		if (area_of(ps, hijack_room(ps)) == a)
			put_words(g, guard_data(ps) + DATA(return_vaddr), &none, 1);
		if (area_of(ps, claims_room(ps)) == a)
			put_words(g, guard_data(ps) + DATA(claim_code), &none, 1);
		give(g, a->vaddr, a->len);
		last->next = a->next;
		a->next = NULL;
		area_free_all(a);
	}
}

static void choose(struct giving *g, const struct look *look)
{
	struct plant_space *ps = g->space->plant;
	bool waits = hijack_waits(g->space);

	if (!look->in_detour)
		give_rings(g, look);
	/* Who is in the guard since a tracer was killed has its site still to find, and what its
	 * stack holds still to look up. */
	if (!look->in_detour && !look->in_guard && !waits)
		give_hijacks(g);
	/*
	 * An address that was moved away with its stack, by a greenlet, comes back some day. And who is in the code
	 * that replaced return addresses lead to goes on to the return part of a detour, which may be in another area.
	 */
	if (!look->in_detour && !look->in_guard && !waits)
		give_areas(g);
	if (!look->in_guard && !returns_may_come_back(ps) &&
	    !return_ops(g->space)->needs_table(ps))
		give_returns(g);
}

static bool has_more_than_the_guard(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	uint64_t rings = 0;

	(void)mem_peek(&space->mem, guard_data(ps) + DATA(rings), &rings, sizeof(rings));
	return rings || hijack_place(ps).table || return_place(ps).table || ps->areas->next;
}

static size_t count_areas(const struct plant_space *ps)
{
	size_t n = 0;

	for (const struct area *a = ps->areas; a; a = a->next)
		n++;
	return n;
}

/* They are not named in the target any more. */
static void unmap(const struct held *held, const struct giving *g)
{
	const struct plant_space *ps = g->space->plant;
	struct remote_step steps[REMOTE_STEPS];
	struct remote remote;
	struct ubp_err ignored;
	size_t n_made;
	int rc = 0;

	if (!g->n || remote_begin(&remote, held, ps->stub, &ignored) < 0)
		return;
	/* One that fails ends the row. */
	for (size_t done = 0; done < g->n && rc == 0; done += n_made) {
		size_t n = g->n - done < REMOTE_STEPS ? g->n - done : REMOTE_STEPS;

		for (size_t i = 0; i < n; i++)
			steps[i] = (struct remote_step){
				.nr = g->space->arch->call.nr_munmap,
				.args = { g->gifts[done + i].vaddr, g->gifts[done + i].len },
			};
		rc = remote_calls(&remote, steps, n, &n_made, &ignored);
	}
	if (rc == 0)
		remote_end(&remote);
}

/*
 * Look at all threads: at those that sleep while nobody stands still for it, since nothing leads to what is given back,
 * so whoever is seen elsewhere does not come there any more. False: nobody knows where one may be.
 */
static bool look_around(struct tracer *tracer, struct space *space, const struct held *keep,
			struct look *ret_look)
{
	const struct plant_space *ps = space->plant;
	struct look *look = ret_look;
	unsigned tries = 0;

	do {
		*look = (struct look){ .space = space };
		for (struct area *a = ps->areas; a; a = a->next)
			a->in_use = false;
		/* One that is held has nobody beside it who sleeps. */
		if (!keep && read_maps(look))
			hold_look(tracer, space, look_at_sleeper, look);
		look->unknown |= keep ? !hold_running(tracer, space, HOLD_MS)
				      : !hold_rest(tracer, space, HOLD_MS);
		look_at_rest(look);
		hold_end(tracer, space, keep);
		maps_free(&look->maps);
	} while ((!keep || held_lasts(keep)) && look->woke_up && !look->unknown &&
		 ++tries < TRIES);
	return !look->unknown && !look->woke_up;
}

/* Somebody who lives in this memory, too, may be traced by another now. @n_refs: all that there should be. */
static bool may_give(const struct space *space, const struct plant_space *ps, unsigned n_refs)
{
	return ps->stub && guard_data(ps) && space->refs == n_refs && !ps->n_lent;
}

static void choose_and_unmap(const struct held *held, const struct look *look)
{
	struct space *space = held->t->process->space;
	struct giving g = { .space = space, .tid = held->tid };

	g.gifts = malloc((FEW_MAPPINGS + count_areas(space->plant)) * sizeof(*g.gifts));
	if (!g.gifts)
		return;
	choose(&g, look);
	unmap(held, &g);
	free(g.gifts);
}

void give_back(struct tracer *tracer, struct process *p, const struct held *own)
{
	struct space *space = p->space;
	const struct plant_space *ps = space->plant;
	struct held held;
	struct ubp_regs regs;
	struct ubp_err ignored;
	struct look look;
	pid_t pid = p->pid;

	space_keep(space);
	if (may_give(space, ps, 2) && has_more_than_the_guard(space) &&
	    all_are_out(space, pid) && look_around(tracer, space, own, &look) &&
	    map_get(&tracer->processes, (uint64_t)pid) == p &&
	    (own ? held_lasts(own) : attach_hold_one(tracer, p, &held, &ignored) == 0)) {
		if (own)
			held = *own;
		else
			held.at = &regs;
		if (may_give(space, ps, 2) && (own || ubp_host_get_regs(held.tid, &regs) == 0))
			choose_and_unmap(&held, &look);
		if (!own)
			held_let_go(&held);
	}
	space_put(tracer, space);
}
