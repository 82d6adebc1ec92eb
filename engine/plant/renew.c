/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/renew.h"

#include <errno.h>

#include "arch/guard.h"
#include "engine/event/clock.h"
#include "engine/plant/area.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/jump_who.h"
#include "engine/plant/leaf.h"
#include "engine/plant/site.h"
#include "engine/plant/site_counts.h"
#include "engine/plant/spare.h"
#include "engine/plant/update.h"
#include "engine/returns/hijack.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/site_leaf.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"
#include "engine/trace/hold.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

#define RENEW_LEAST_NS 20000000ULL
#define SWEEP_LEAST_NS 100000000ULL
#define SWEEP_MOST_NS  250000000ULL
#define WAIT_MOST_NS   60000000000ULL

void renew_due(struct plant *plant, struct plant_space *ps)
{
	plant->renews = true;
	ps->jump->renew_due = true;
	ps->jump->renew_ns = ps->jump->renew_wait_ns = 0;
}

void renew_exit_came(struct plant *plant, struct plant_space *ps)
{
	if (ps->jump->n_written)
		renew_due(plant, ps);
}

static bool is_claimless(const struct site *site)
{
	return site->rung == SITE_JUMPED && site->jump && !site->jump->claims;
}

bool renew_has_claimless(const struct plant_space *ps)
{
	return plant_any_site(ps, is_claimless);
}

bool renew_claimless(struct plant *plant, struct plant_space *ps)
{
	bool any = false;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		if (!is_claimless(site))
			continue;
		site->jump->is_outdated = true;
		any = true;
	}
	if (any)
		renew_due(plant, ps);
	return any;
}

/* --- probes of sites -------------------------------------------------------------------- */

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
			count_site(site, next, false);
		}
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
				count_site(site, uprobe_get(e.probe), true);
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

static bool leaf_has_retired(const struct site *site)
{
	for (size_t i = 0; site->leaf && i < site->leaf->n; i++)
		if (site->leaf->probes[i]->life.is_retired)
			return true;
	return false;
}

static bool is_stale(const struct site *site)
{
	return jump_is_stale(site) ||
	       (site->jump && (has_retired(site) || leaf_has_retired(site)));
}

/* What kept it from being a jump may have gone with them. */
static void drop_at(struct plant_space *ps, struct site *site)
{
	if (!change_site(site))
		return;
	site->no_jump = NULL;
	ps->jump->due = true;
}

void renew_drop(struct plant *plant, struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!has_retired(site))
			continue;
		/* Where a jump stands they go with it: all its hits are told by those it was made for. */
		if (!site->jump)
			drop_at(ps, site);
		renew_due(plant, ps);
	}
	for (struct site *site = ps->dead; site; site = site->next_dead)
		(void)change_site(site);
}

/* --- what stands there ------------------------------------------------------------------- */

/* All threads are held that are not asleep elsewhere. Nobody comes into its detour from now on. */
int renew_take_jump_back(const struct space *space, struct site *site, const struct who *who)
{
	struct plant_space *ps = space->plant;
	struct site_jump *jump = site->jump;
	int rc = jump_to_breakpoint(space, site);

	if (rc < 0)
		return rc;
	jump->is_quiet = who->known && !who_uses(ps, jump);
	jump->older = site->old_jumps;
	site->old_jumps = jump;
	site->jump = NULL;
	(void)site_leaf_set(site, NULL, 0);
	(void)change_site(site);
	site->no_jump = NULL;
	ps->jump->sweep_due = true;
	ps->jump->due = true;
	return 0;
}

/* Nobody asks for what stands there any more. */
static bool is_idle(const struct site *site)
{
	return site->planted && !site_is_probed(site) && !site->watches && !site->jump;
}

/* A thread may have stopped there, or be in its slot: the site stays known. */
static int take_breakpoint_out(struct space *space, struct site *site)
{
	int rc = site_unplant(space, 0, site);

	if (rc < 0)
		return rc;
	site->planted = false;
	if (!site->hop.stands)
		jump_forget_hop(space->plant, site);
	return 0;
}

static int take_stale_back(const struct space *space, const struct who *who)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;
	int rc = 0;

	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_stale(value)) {
			int one = renew_take_jump_back(space, value, who);

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

/* 0; -ETIMEDOUT: not all threads could be stopped. */
static int hold(struct tracer *tracer, struct space *space, struct who *ret_who)
{
	who_hold(tracer, space, false, ret_who);
	return ret_who->all ? 0 : -ETIMEDOUT;
}

/* The caller has a reference to the space. */
static int renew(struct tracer *tracer, struct space *space)
{
	struct plant_space *ps = space->plant;
	struct who who;
	int rc = 0;

	(void)leaf_settle(ps);
	if (plant_any_site(ps, is_stale)) {
		rc = hold(tracer, space, &who);
		if (rc == 0)
			rc = take_stale_back(space, &who);
		area_note_change(space, 0);
		hold_end(tracer, space, NULL);
		(void)who_end(&who);
	}
	if (rc == 0)
		rc = take_idle_out(space);
	area_note_change(space, 0);
	/* What was taken back may have told other returns. */
	ps->jump->renew_due = rc < 0 || leaf_settle(ps);
	return rc;
}

/* --- old detours -------------------------------------------------------------------------- */

/* Nobody is in it, and comes there any more: its block serves another. */
static void free_old(const struct space *space, struct site_jump *old)
{
	struct plant_space *ps = space->plant;
	uint64_t block = old->copy - UBP_SLOT_SIZE;
	const uint64_t magic = UBP_JUMP_FREE;

	jump_forget_traps(ps, old);
	if (mem_write(&space->mem, 0, block, &magic, sizeof(magic)) == 0)
		spare_add_jump(ps, old);
	jump_free(old);
}

/* Does its hop lead there yet? */
static bool leads_to(const struct site *site, const struct site_jump *jump)
{
	return site->hop.stands && site->hop.to - jump->copy < jump->len;
}

/* True: some are left, and may go later. */
static bool sweep_site(const struct space *space, struct site *site)
{
	const struct plant_space *ps = space->plant;
	struct site_jump **at = &site->old_jumps;
	bool left;

	if (!site->jump || !site->jump->is_begun)
		(void)hop_take_out(space, site);
	left = site->hop.stands && !site->jump;
	while (*at) {
		struct site_jump *old = *at;
		bool is_used = who_uses(ps, old);

		/* What scans has an entry of the guard's, for good. */
		if (old->is_watch || is_used || leads_to(site, old) ||
		    (old->detour.return_at && (!old->is_quiet || old->is_awaited))) {
			old->is_quiet |= !is_used;
			left |= !old->is_watch;
			at = &old->older;
			continue;
		}
		*at = old->older;
		free_old(space, old);
	}
	return left;
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
		ps->jump->sweep_due = sweep_sites(space);
	hold_end(tracer, space, NULL);
	(void)who_end(&who);
}

/* --- in its turn ----------------------------------------------------------------------------- */

static void wait_longer(struct plant_space *ps, uint64_t now)
{
	uint64_t least = ps->jump->renew_due ? RENEW_LEAST_NS : SWEEP_LEAST_NS;

	ps->jump->renew_wait_ns *= 2;
	if (ps->jump->renew_wait_ns < least)
		ps->jump->renew_wait_ns = least;
	if (ps->jump->renew_wait_ns > WAIT_MOST_NS)
		ps->jump->renew_wait_ns = WAIT_MOST_NS;
	ps->jump->renew_ns = now + ps->jump->renew_wait_ns;
}

static void renew_space(struct tracer *tracer, struct space *space, uint64_t now)
{
	struct plant_space *ps = space->plant;
	bool is_renewed = ps->jump->renew_due;

	space_keep(space);
	if (is_renewed)
		(void)renew(tracer, space);
	/* Where one change follows the other, old ones have to go meanwhile. */
	if (!ps->jump->renew_due &&
	    (!is_renewed ||
	     (ps->jump->sweep_due && now - ps->jump->swept_ns > SWEEP_MOST_NS))) {
		ps->jump->swept_ns = now;
		sweep(tracer, space);
	}
	wait_longer(ps, now);
	space_put(tracer, space);
}

static bool is_due(const struct plant_space *ps, uint64_t now)
{
	return ps && !ps->closing && (ps->jump->renew_due || ps->jump->sweep_due) &&
	       now >= ps->jump->renew_ns;
}

bool renew_pass(struct plant *plant, struct tracer *tracer)
{
	uint64_t now;
	size_t pos = 0;
	void *value;
	bool done = true;

	if (!plant->renews)
		return true;
	now = event_clock_now(CLOCK_KIND_MONO);
	/* What becomes a breakpoint may be made another jump. */
	plant->upgrades_due = true;
	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		struct space *space = ((struct process *)value)->space;

		if (!is_due(space->plant, now))
			continue;
		renew_space(tracer, space, now);
		pos = 0; /* the table may have changed */
	}
	pos = 0;
	plant->renews = false;
	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		const struct plant_space *ps = ((struct process *)value)->space->plant;

		if (!ps || ps->closing)
			continue;
		done &= !ps->jump->renew_due;
		plant->renews |= ps->jump->renew_due || ps->jump->sweep_due;
	}
	return done;
}
