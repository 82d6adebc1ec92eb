/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/jump_make_way.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump_who.h"
#include "engine/plant/leaf.h"
#include "engine/plant/renew.h"
#include "engine/plant/run_up.h"
#include "engine/plant/update.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/hold.h"

struct site *jump_over(const struct plant_space *ps, uint64_t vaddr)
{
	struct site *other, *hop;

	for (uint64_t back = 1; back < UBP_WINDOW_MAX; back++) {
		other = map_get(&ps->sites, vaddr - back);
		if (other && other->jump && other->jump->is_begun && other->jump->reach > back)
			return other;
	}
	other = run_up_over(ps, vaddr);
	if (other)
		return other;
	hop = hop_near(ps, vaddr, 1);
	return hop && hop->jump && hop->jump->is_begun ? hop : NULL;
}

static bool is_added(const struct update *u, const struct site *site)
{
	for (size_t i = 0; i < u->n_added; i++)
		if (u->added[i].site == site)
			return u->added[i].is_new;
	return false;
}

/* A new site that @hook, a jump to the guard, reaches over. NULL: there is none. */
static const struct site *under_hook(const struct update *u, const struct site *hook)
{
	for (size_t i = 1; i < hook->patch_len; i++) {
		const struct site *site = map_get(&u->space->plant->sites, hook->vaddr + i);

		if (site && is_added(u, site))
			return site;
	}
	return NULL;
}

/* What may reach over a place: of thousands of sites that are new, mostly few jumps to the guard. */
struct reaching {
	bool any_jump;
	const struct site *under_hook;
};

static struct reaching look_for_reaching(const struct update *u)
{
	const struct space_jumps *jump = u->space->plant->jump;
	struct reaching found = { .any_jump = jump->hops.n > 0 };
	size_t pos = 0;
	void *value;

	/* Nothing of theirs is a jump yet, and those to the guard that stand were looked at (plant_get_ready()). */
	if (u->part >= UPDATE_PIECE && !jump->n_written && !jump->hops.n)
		return found;
	while (map_next(&u->space->plant->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		found.any_jump |= site->jump && site->jump->is_begun;
		if (site->planted && site->is_patched && !found.under_hook)
			found.under_hook = under_hook(u, site);
	}
	return found;
}

/* The site whose hop stands there. NULL: none does. */
static struct site *hop_over(const struct plant_space *ps, uint64_t vaddr)
{
	struct site *site = hop_near(ps, vaddr, 1);

	return site && site->hop.stands ? site : NULL;
}

/* The site whose jump is in the way of @a. A run-up that finds one has no jump. */
static struct site *in_the_way_of(const struct plant_space *ps, const struct leaves *leaves,
				  const struct added *a)
{
	uint64_t vaddr = a->site->vaddr;
	struct site *other;

	if (a->run_up)
		return NULL;
	other = a->is_new ? jump_over(ps, vaddr) : run_up_over(ps, vaddr);
	return other ? other : leaf_over(leaves, a);
}

static bool is_any_in_the_way(const struct update *u, const struct leaves *leaves,
			      bool any_jump)
{
	const struct plant_space *ps = u->space->plant;

	for (size_t i = 0; i < u->n_added; i++) {
		const struct added *a = &u->added[i];

		if ((any_jump && in_the_way_of(ps, leaves, a)) ||
		    (a->is_new && hop_over(ps, a->site->vaddr)))
			return true;
	}
	return false;
}

/* Out of memory: true, so that clear_way() says so. */
static bool is_in_the_way(const struct update *u, bool any_jump)
{
	struct leaves leaves = { 0 };
	bool is;

	if (any_jump && leaf_look(u->space->plant, &leaves) < 0)
		return true;
	is = is_any_in_the_way(u, &leaves, any_jump);
	leaves_free(&leaves);
	return is;
}

/*
 * Hops that what was taken back led to. Who was asleep when all were looked at may have come there
 * since: so this is another hold's.
 */
static int clear_hops(const struct update *u, const struct who *who)
{
	int rc = 0;

	for (size_t i = 0; i < u->n_added && rc == 0; i++) {
		struct site *hop = u->added[i].is_new
					   ? hop_over(u->space->plant, u->added[i].site->vaddr)
					   : NULL;

		if (hop && who->known)
			rc = hop_take_out(u->space, hop);
		/* Somebody may come back to it. */
		if (rc == 0 && hop && hop->hop.stands)
			rc = -EBUSY;
	}
	return rc;
}

static int clear_way(const struct update *u, const struct who *who)
{
	const struct plant_space *ps = u->space->plant;
	struct leaves leaves;
	struct site *other;
	int rc = leaf_look(ps, &leaves);

	for (size_t i = 0; i < u->n_added && rc == 0; i++) {
		while (rc == 0 && (other = in_the_way_of(ps, &leaves, &u->added[i])))
			rc = renew_take_jump_back(u->space, other, who);
	}
	leaves_free(&leaves);
	area_note_change(u->space, 0);
	return rc;
}

/* -ESRCH also: the thread has ended. */
static int clear_held(struct update *u, int (*clear)(const struct update *, const struct who *))
{
	const struct held *held = &u->held;
	struct hold_scope scope;
	struct who who;
	int rc;

	hold_scope_begin(&scope, held);
	who_hold(held->tracer, u->space, false, &who);
	rc = who.all ? 0 : -ETIMEDOUT;
	if (rc == 0)
		rc = clear(u, &who);
	hold_end(held->tracer, u->space, held);
	(void)who_end(&who);
	if (!hold_scope_lasts(&scope))
		rc = -ESRCH;
	hold_scope_end(&scope);
	return rc;
}

int jump_make_way(struct update *u, struct ubp_err *err)
{
	const struct held *held = &u->held;
	struct reaching reaching = look_for_reaching(u);
	int rc;

	if (reaching.under_hook)
		return ubp_fail(err, EBUSY,
				"process %d: a jump of ubp's own reaches over 0x%lx",
				(int)held->tid, (unsigned long)reaching.under_hook->vaddr);
	if (!is_in_the_way(u, reaching.any_jump))
		return 0;
	u->plant->renews = true;
	rc = clear_held(u, clear_way);
	if (rc == 0 && is_in_the_way(u, true))
		rc = clear_held(u, clear_hops);
	if (rc == -ESRCH)
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)held->tid);
	if (rc == 0 || rc == -ESRCH)
		return rc;
	return ubp_fail(err, -rc, "process %d: a jump cannot be taken back: %s", (int)held->tid,
			rc == -ETIMEDOUT ? "a thread could not be stopped" : strerror(-rc));
}
