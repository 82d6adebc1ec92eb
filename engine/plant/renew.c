/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/renew.h"

#include <errno.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/plant/jump.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/jump_who.h"
#include "engine/plant/site.h"
#include "engine/plant/update.h"
#include "engine/returns/hijack.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

#define RENEW_LEAST_NS 20000000ULL
#define SWEEP_LEAST_NS 100000000ULL
#define WAIT_MOST_NS   60000000000ULL

/* A breakpoint, or the first byte of a jump and more. */
#define LOOK_LEN 8

void renew_due(struct plant_space *ps)
{
	ps->jump.renew_due = true;
	ps->jump.renew_ns = ps->jump.renew_wait_ns = 0;
}

/* --- probes of sites -------------------------------------------------------------------- */

/* @probe is freed some time: reasons that are its own are nobody's. */
static void forget_reason(struct site *site, const struct uprobe *probe)
{
	const char *why = probe->no_window;

	if (!why)
		return;
	if (site->no_jump == why)
		site->no_jump = NULL;
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->stats.no_jump == why)
			__atomic_store_n(&site->probes[i]->stats.no_jump, NULL,
					 __ATOMIC_RELAXED);
}

static void count(uint32_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* It has the site now, as that is. */
static void count_successor(struct uprobe *probe, const struct site *site, bool is_exit)
{
	struct uprobe_stats *st = &probe->stats;

	count(&st->sites);
	if (!is_exit && site_behind(site, probe))
		count(&st->behind);
	switch (site->rung) {
	case SITE_JUMPED: /* not any more */
	case SITE_BOOSTED:
		count(&st->boosted);
		break;
	case SITE_STEPPED:
		count(&st->stepped);
		break;
	case SITE_IN_PLACE:
		count(&st->in_place);
		break;
	}
	if (probe->kind == PROBE_RETURN)
		count(is_exit ? &st->at_rets : &st->hijacked);
}

/* Those that are retired; true: there were some. In the place of each is its successor then, if it has one. */
static bool change_probes(struct site *site)
{
	bool changed = false;
	size_t kept = 0;

	for (size_t i = 0; i < site->n_probes; i++) {
		struct uprobe *probe = site->probes[i], *next = uprobe_latest(probe);

		if (!probe->life.is_retired) {
			site->probes[kept++] = probe;
			continue;
		}
		changed = true;
		if (next) {
			site->probes[kept++] = uprobe_get(next);
			count_successor(next, site, false);
		}
		forget_reason(site, probe);
		uprobe_put(probe);
	}
	site->n_probes = kept;
	return changed;
}

static bool change_exits(struct site *site)
{
	bool changed = false;
	size_t kept = 0;

	for (size_t i = 0; i < site->n_exits; i++) {
		struct site_exit e = site->exits[i];
		struct uprobe *probe = e.probe;

		if (probe->life.is_retired) {
			changed = true;
			e.probe = uprobe_latest(probe);
			if (e.probe)
				count_successor(uprobe_get(e.probe), site, true);
			uprobe_put(probe);
		}
		if (e.probe)
			site->exits[kept++] = e;
	}
	site->n_exits = kept;
	return changed;
}

static bool change_site(struct site *site)
{
	bool probes = change_probes(site), exits = change_exits(site);

	site->is_moved = site->is_moved && site->n_probes;
	return probes || exits;
}

static bool has_retired(const struct site *site)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->life.is_retired)
			return true;
	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].probe->life.is_retired)
			return true;
	return false;
}

static bool is_stale(const struct site *site)
{
	return jump_is_stale(site) || (site->jump && has_retired(site));
}

void renew_drop(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!has_retired(site))
			continue;
		/* Where a jump stands they go with it: all its hits are told by those it was made for. */
		if (!site->jump)
			(void)change_site(site);
		site->is_touched = true;
		renew_due(ps);
	}
	for (struct site *site = ps->dead; site; site = site->next_dead)
		(void)change_site(site);
}

/* --- what stands there ------------------------------------------------------------------- */

/* Its first byte a breakpoint, the rest what it was; and its slot is for one instruction again. */
static int write_breakpoint(const struct space *space, const struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len;
	int rc = 0;

	if (jump->is_begun)
		rc = mem_write(&space->mem, 0, site->vaddr, arch->swbp.code, n);
	if (rc == 0 && jump->is_begun && jump->jump_len > n)
		rc = mem_write(&space->mem, 0, site->vaddr + n, jump->orig + n,
			       jump->jump_len - n);
	return rc == 0 ? mem_write(&space->mem, 0, site->slot, site->code.code, site->code.len)
		       : rc;
}

/* All threads are held that are not asleep elsewhere. Nobody comes into its detour from now on. */
static int take_jump_back(const struct space *space, struct site *site, const struct who *who)
{
	struct plant_space *ps = space->plant;
	struct site_jump *jump = site->jump;
	int rc = write_breakpoint(space, site);

	if (rc < 0)
		return rc;
	if (site->rung == SITE_JUMPED)
		jump_count(site, false);
	site->rung = SITE_BOOSTED;
	jump->is_begun = jump->is_written = false;
	jump->is_quiet = who->known && !who_uses(ps, jump);
	jump->older = site->old_jumps;
	site->old_jumps = jump;
	site->jump = NULL;
	(void)change_site(site);
	site->no_jump = NULL;
	site->is_touched = true;
	ps->last_write = site->vaddr;
	ps->jump.sweep_due = true;
	ps->jump.due = true;
	return 0;
}

/* Nobody asks for what stands there any more. */
static bool is_idle(const struct site *site)
{
	return site->is_touched && site->planted && !site_is_probed(site) && !site->watches &&
	       !site->jump;
}

/* A thread may have stopped there, or be in its slot: the site stays known. */
static int take_breakpoint_out(struct space *space, struct site *site)
{
	int rc = site_unplant(space, 0, site);

	if (rc < 0)
		return rc;
	site->planted = false;
	((struct plant_space *)space->plant)->last_write = site->vaddr;
	return 0;
}

static bool has_stale(const struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_stale(value))
			return true;
	return false;
}

static int take_stale_back(const struct space *space, const struct who *who)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;
	int rc = 0;

	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_stale(value)) {
			int one = take_jump_back(space, value, who);

			rc = rc < 0 ? rc : one;
		}
	return rc;
}

static int take_idle_out(struct space *space)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;
	int rc = 0;

	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_idle(value)) {
			int one = take_breakpoint_out(space, value);

			rc = rc < 0 ? rc : one;
		}
	return rc;
}

/* 0; -ESRCH: it has another image; -ETIMEDOUT: not all threads could be stopped. */
static int hold(struct tracer *tracer, struct space *space, struct who *ret_who)
{
	const struct plant_space *ps = space->plant;

	who_hold(tracer, space, false, ret_who);
	if (space->plant != ps)
		return -ESRCH;
	return ret_who->all ? 0 : -ETIMEDOUT;
}

/* The caller has a reference to the space. */
static int renew(struct tracer *tracer, struct space *space)
{
	struct plant_space *ps = space->plant;
	struct who who;
	int rc = 0;

	if (has_stale(ps)) {
		rc = hold(tracer, space, &who);
		if (rc == 0)
			rc = take_stale_back(space, &who);
		hold_end(tracer, space, NULL);
		(void)who_end(&who);
	}
	if (space->plant != ps)
		return 0;
	if (rc == 0)
		rc = take_idle_out(space);
	ps->jump.renew_due = rc < 0;
	return rc;
}

/* --- a jump in the way ---------------------------------------------------------------------- */

/* The site whose jump reaches over @vaddr. NULL: none does. */
static struct site *jump_over(const struct plant_space *ps, uint64_t vaddr)
{
	for (uint64_t back = 1; back < UBP_WINDOW_MAX; back++) {
		struct site *other = map_get(&ps->sites, vaddr - back);

		if (other && other->jump && other->jump->is_begun &&
		    other->jump->jump_len > back)
			return other;
	}
	return NULL;
}

static bool is_under_hook(const struct plant_space *ps, uint64_t vaddr)
{
	for (uint64_t back = 1; back < UBP_WINDOW_MAX; back++) {
		const struct site *other = map_get(&ps->sites, vaddr - back);

		if (other && other->planted && other->is_patched && other->patch_len > back)
			return true;
	}
	return false;
}

static bool is_in_the_way(const struct update *u)
{
	for (size_t i = 0; i < u->n_added; i++)
		if (u->added[i].is_new && jump_over(u->space->plant, u->added[i].site->vaddr))
			return true;
	return false;
}

static int clear_way(const struct update *u, const struct who *who)
{
	struct site *other;
	int rc = 0;

	for (size_t i = 0; i < u->n_added && rc == 0; i++)
		while (rc == 0 && u->added[i].is_new &&
		       (other = jump_over(u->space->plant, u->added[i].site->vaddr)))
			rc = take_jump_back(u->space, other, who);
	return rc;
}

int renew_make_way(struct update *u, struct ubp_err *err)
{
	struct held *held = &u->held;
	struct space *space = u->space;
	bool was_held = held->t->held;
	struct who who;
	int rc;

	for (size_t i = 0; i < u->n_added; i++)
		if (u->added[i].is_new && is_under_hook(space->plant, u->added[i].site->vaddr))
			return ubp_fail(err, EBUSY,
					"process %d: a jump of ubp's own reaches over 0x%lx",
					(int)held->tid, (unsigned long)u->added[i].site->vaddr);
	if (!is_in_the_way(u))
		return 0;
	space->refs++;
	held->t->held = true;
	rc = hold(held->tracer, space, &who);
	if (rc == 0)
		rc = clear_way(u, &who);
	hold_end(held->tracer, space,
		 tracer_has(held->tracer, held->t, held->tid) ? held->t : NULL);
	(void)who_end(&who);
	if (!held_lasts(held))
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)held->tid);
	else
		held->t->held = was_held;
	space_put(held->tracer, space);
	if (rc == 0 || rc == -ESRCH)
		return rc;
	return ubp_fail(err, -rc, "process %d: a jump cannot be taken back: %s", (int)held->tid,
			rc == -ETIMEDOUT ? "a thread could not be stopped" : strerror(-rc));
}

/* --- old detours -------------------------------------------------------------------------- */

/* Nobody is in it, and comes there any more: its block serves another. */
static void free_old(const struct space *space, const struct site *site, struct site_jump *old)
{
	struct plant_space *ps = space->plant;
	uint64_t block = old->copy - UBP_SLOT_SIZE;
	const uint64_t magic = UBP_JUMP_FREE;

	jump_forget_traps(ps, old);
	if (!map_get(&ps->jump.blocks, site->vaddr) &&
	    mem_write(&space->mem, 0, block, &magic, sizeof(magic)) == 0)
		(void)map_put(&ps->jump.blocks, site->vaddr, (void *)(uintptr_t)block);
	jump_free(old);
}

/* True: some are left. */
static bool sweep_site(const struct space *space, struct site *site)
{
	const struct plant_space *ps = space->plant;
	struct site_jump **at = &site->old_jumps;

	while (*at) {
		struct site_jump *old = *at;
		bool is_used = who_uses(ps, old);

		if (is_used || (old->detour.return_at && (!old->is_quiet || old->is_awaited))) {
			old->is_quiet |= !is_used;
			at = &old->older;
			continue;
		}
		*at = old->older;
		free_old(space, site, old);
	}
	return site->old_jumps != NULL;
}

static bool sweep_sites(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;
	bool left = false;

	while (map_next(&ps->sites, &pos, NULL, &value))
		left |= sweep_site(space, value);
	return left;
}

/*
 * First the return addresses: one that an old detour has replaced before it was quiet, and is not there now, has been
 * returned by. Whoever did so is seen behind that in the return code, or in the detour.
 */
static void sweep(struct tracer *tracer, struct space *space)
{
	struct plant_space *ps = space->plant;
	struct who who;

	hijack_note_awaited(space);
	if (hold(tracer, space, &who) == 0 && who.known)
		ps->jump.sweep_due = sweep_sites(space);
	hold_end(tracer, space, NULL);
	(void)who_end(&who);
}

/* --- in its turn ----------------------------------------------------------------------------- */

static void wait_longer(struct plant_space *ps, uint64_t now)
{
	uint64_t least = ps->jump.renew_due ? RENEW_LEAST_NS : SWEEP_LEAST_NS;

	ps->jump.renew_wait_ns *= 2;
	if (ps->jump.renew_wait_ns < least)
		ps->jump.renew_wait_ns = least;
	if (ps->jump.renew_wait_ns > WAIT_MOST_NS)
		ps->jump.renew_wait_ns = WAIT_MOST_NS;
	ps->jump.renew_ns = now + ps->jump.renew_wait_ns;
}

static void renew_space(struct tracer *tracer, struct space *space, uint64_t now)
{
	struct plant_space *ps = space->plant;

	space->refs++;
	if (ps->jump.renew_due)
		(void)renew(tracer, space);
	else
		sweep(tracer, space);
	if (space->plant == ps)
		wait_longer(ps, now);
	space_put(tracer, space);
}

static bool is_due(const struct plant_space *ps, uint64_t now)
{
	return ps && !ps->closing && (ps->jump.renew_due || ps->jump.sweep_due) &&
	       now >= ps->jump.renew_ns;
}

bool renew_pass(struct tracer *tracer)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);
	size_t pos = 0;
	void *value;
	bool done = true;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		struct space *space = ((struct process *)value)->space;

		if (!is_due(space->plant, now))
			continue;
		renew_space(tracer, space, now);
		pos = 0; /* the table may have changed */
	}
	pos = 0;
	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		const struct plant_space *ps = ((struct process *)value)->space->plant;

		done &= !ps || ps->closing || !ps->jump.renew_due;
	}
	return done;
}

bool renew_is_whole_copy(const struct space *parent, const struct space *child)
{
	const struct plant_space *ps = parent->plant;
	uint8_t in_parent[LOOK_LEN], in_child[LOOK_LEN];
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;
		size_t n;

		if (!site->is_touched)
			continue;
		n = mem_peek(&parent->mem, site->vaddr, in_parent, LOOK_LEN);
		if (mem_peek(&child->mem, site->vaddr, in_child, LOOK_LEN) != n ||
		    memcmp(in_parent, in_child, n) != 0)
			return false;
	}
	return true;
}
