/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Looking ahead: what takes time (reading maps, decoding, making sites) is done while the
 * process still runs; plant_update() begins with what was found.
 *
 * Where that is very much, a process that is being attached to is stopped several times for a few milliseconds each:
 *
 *   a thread held   the guard; areas with room for all are mapped (UPDATE_GUARD)
 *   all run         plant_get_ready(): slots are written there, and entered into the guard's table, which nobody comes to yet
 *   a thread held   some thousand breakpoints are written (UPDATE_PIECE), and so on; UPDATE_LAST
 *
 * Until its turn a site is known here alone: a child that is born meanwhile has what is planted by then, and lacks the rest.
 * If a piece fails, the process is given up, as whenever attaching fails, and what was planted is taken out.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/plant/area.h"
#include "engine/plant/cave.h"
#include "engine/plant/hooks.h"
#include "engine/plant/leave.h"
#include "engine/plant/plant.h"
#include "engine/plant/sigaction.h"
#include "engine/plant/site.h"
#include "engine/plant/update.h"
#include "engine/space/probe_list.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/process.h"

/* From so many on it is planted in pieces ... */
#define MANY 4096
/* ... of so many. */
#define PIECE 8192

/* What plant_look_ahead() has found. */
struct plant_ahead {
	const struct space *of;
	struct space space; /* a stand-in for it; its plant_space becomes the real one */
	struct update u;
	bool is_ready; /* u.added have their slots, and are known here alone */
	size_t n_done; /* of u.added: planted */
};

static bool is_for_pieces(const struct update *u, const struct plant_ahead *ahead)
{
	const struct plant *plant = u->plant;

	return u->in_pieces && !u->space->plant && ahead->u.n_added >= MANY &&
	       !ahead->u.has_passed_over && !plant->opt.force && u->space->arch->guard.code &&
	       !probe_list(plant)->has_returns && !space_is_shared(u->space);
}

/* The thread is held: what is looked at of sites so many further on is fetched already. */
#define AHEAD 8

/* What is watched for our own sake may stand at one of them by now: then it is one site for both, and none of these is made known. */
static int make_known(struct plant_space *ps, const struct added *added, size_t n)
{
	size_t done = 0;
	int rc = 0;

	for (; done < n && rc == 0; done++) {
		void **place;

		if (done + 2 * AHEAD < n)
			__builtin_prefetch(added[done + 2 * AHEAD].site);
		if (done + AHEAD < n)
			map_fetch_ahead(&ps->sites, added[done + AHEAD].site->vaddr);
		if (!added[done].is_new)
			continue;
		place = map_place(&ps->sites, added[done].site->vaddr);
		if (!place || *place) {
			rc = place ? -EEXIST : -ENOMEM;
			break;
		}
		*place = added[done].site;
	}
	while (rc < 0 && done-- > 0)
		if (added[done].is_new)
			map_remove(&ps->sites, added[done].site->vaddr);
	return rc;
}

/* Those that are next become sites of the space. */
static int take_piece(struct update *u, struct plant_ahead *ahead)
{
	struct plant_space *ps = u->space->plant;
	const struct added *next = ahead->u.added + ahead->n_done;
	size_t left = ahead->u.n_added - ahead->n_done, n = left < PIECE ? left : PIECE;
	size_t room = MANY;
	int rc;

	/* As VEC_DOUBLE() has it: others are added behind them. */
	while (room < n)
		room *= 2;
	rc = VEC_FIT(u->added, room);
	if (rc == 0)
		rc = make_known(ps, next, n);
	if (rc < 0)
		return rc;
	memcpy(u->added, next, n * sizeof(*next));
	u->n_added = n;
	ahead->n_done += n;
	u->seen = ahead->u.seen;
	u->part = n < left ? UPDATE_PIECE : UPDATE_LAST;
	return 0;
}

/* Is something of ours in the way of one of them, as where a probe is at a call that is watched? There are few of ours by then. */
static bool is_any_in_the_way(const struct plant_space *ps, const struct plant_ahead *ahead)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *ours = value;

		for (uint64_t at = ours->vaddr; at < ours->vaddr + UBP_INSN_MAX; at++)
			if (map_get(&ahead->space.plant->sites, at))
				return true;
	}
	return false;
}

void update_take_ahead(struct update *u)
{
	struct plant *plant = u->plant;
	struct plant_ahead *ahead = plant->ahead;

	if (!ahead || ahead->of != u->space)
		return;
	if (ahead->is_ready) {
		/* Others have no time for the next one. */
		if (!u->in_pieces || take_piece(u, ahead) < 0 || u->part == UPDATE_LAST)
			plant_forget_ahead(plant);
		return;
	}
	if (is_for_pieces(u, ahead)) {
		u->part = UPDATE_GUARD;
		return;
	}
	if (u->space->plant)
		return;
	u->space->plant = ahead->space.plant;
	u->added = ahead->u.added;
	u->n_added = ahead->u.n_added;
	u->seen = ahead->u.seen;
	u->has_passed_over = ahead->u.has_passed_over;
	plant->ahead = NULL;
	free(ahead);
}

int update_provide_ahead(struct update *u, struct ubp_err *err)
{
	struct plant_ahead *ahead = u->plant->ahead;
	struct added *added = u->added;
	size_t n_added = u->n_added;
	int rc;

	u->added = ahead->u.added;
	u->n_added = ahead->u.n_added;
	rc = update_provide(u, err);
	ahead->u.provided = u->provided;
	ahead->u.n_provided = u->n_provided;
	u->added = added;
	u->n_added = n_added;
	u->area = NULL; /* others find their own room */
	return rc;
}

void update_drop_ahead(struct update *u)
{
	struct plant_ahead *ahead = u->plant->ahead;

	if (ahead && ahead->of == u->space)
		plant_forget_ahead(u->plant);
	u->part = UPDATE_ALL;
}

/* What was promised to them is taken by now, or free for others. */
static void forget_promises(struct update *u)
{
	for (size_t i = 0; i < u->n_provided; i++) {
		u->provided[i].area->promised.slots -= u->provided[i].room.slots;
		u->provided[i].area->promised.entries -= u->provided[i].room.entries;
	}
	free(u->provided);
	u->provided = NULL;
	u->n_provided = 0;
}

void plant_get_ready(struct plant *plant, struct space *space, pid_t tid)
{
	struct plant_ahead *ahead = plant->ahead;
	struct plant_space *ps = space->plant;
	struct ubp_err ignored;
	struct update *u;

	if (!ahead || ahead->of != space || ahead->is_ready || !ps || !ps->areas)
		return;
	u = &ahead->u;
	u->space = space;
	u->tid = tid;
	ubp_err_reset(&ignored);
	if (is_any_in_the_way(ps, ahead) ||
	    map_keep_room(&ps->slots, ps->slots.n + u->n_added) < 0 ||
	    map_keep_room(&ps->sites, ps->sites.n + u->n_added) < 0 ||
	    update_prepare(u, &ignored) < 0) {
		plant_forget_ahead(plant);
		return;
	}
	forget_promises(u);
	for (size_t i = 0; i < u->n_added; i++)
		u->added[i].is_ready = true;
	/* From now on they are found by .added. */
	map_free(&ahead->space.plant->sites);
	ahead->is_ready = true;
}

bool plant_has_pieces(const struct plant *plant)
{
	return plant->ahead && plant->ahead->is_ready;
}

void plant_space_gone(struct plant *plant, const struct space *space)
{
	if (plant->ahead && plant->ahead->of == space)
		plant_forget_ahead(plant);
}

/* Nothing of them was planted. */
static void drop_sites(struct plant_ahead *ahead)
{
	const struct plant_space *ps = ahead->of->plant;

	for (size_t i = ahead->n_done; i < ahead->u.n_added; i++) {
		struct site *site = ahead->u.added[i].site;
		const struct area *area =
			ps && ahead->u.added[i].is_new ? area_of(ps, site->slot) : NULL;

		if (area && *area_owner(area, site->slot) == site)
			*area_owner(area, site->slot) = NULL;
		if (ahead->is_ready && ahead->u.added[i].is_new)
			site_free(site);
	}
}

void plant_forget_ahead(struct plant *plant)
{
	struct plant_ahead *ahead = plant->ahead;

	plant->ahead = NULL;
	if (!ahead)
		return;
	/* Some of them may have slots already. */
	if (ahead->is_ready || ahead->u.space != &ahead->space)
		drop_sites(ahead);
	if (ahead->u.n_provided)
		forget_promises(&ahead->u);
	plant_forget(&ahead->space);
	free(ahead->u.added);
	free(ahead);
}

static int pass_over(void *ctx, const struct mapping *m, uint64_t vaddr, enum site_watch watch)
{
	(void)ctx;
	(void)m;
	(void)vaddr;
	(void)watch;
	return 0;
}

/* Sites as they will be, in a plant_space that is nobody's yet. */
static void collect_ahead(struct plant *plant, const struct space *space, pid_t tid,
			  const struct maps *maps)
{
	struct plant_ahead *ahead = calloc(1, sizeof(*ahead));
	struct ubp_err err;

	if (!ahead)
		return;
	plant->ahead = ahead;
	ahead->of = space;
	ahead->space =
		(struct space){ .mem = space->mem, .arch = space->arch, .cost = space->cost };
	ahead->u = (struct update){
		.plant = plant,
		.space = &ahead->space,
		.tid = tid,
		.maps = *maps,
		.seen = update_sum(maps),
	};
	/* Room for their slots, too, so that nobody stands still for that. */
	if (!plant_space_get(&ahead->space) || update_collect_probes(&ahead->u, &err) < 0 ||
	    map_keep_room(&ahead->space.plant->slots, ahead->u.n_added) < 0)
		plant_forget_ahead(plant);
	else
		ahead->u.maps = (struct maps){ 0 }; /* the caller's */
}

void plant_look_ahead(struct plant *plant, struct space *space, pid_t tid)
{
	struct ubp_err err;
	struct maps maps;

	if (plant_has_pieces(plant) && plant->ahead->of == space)
		return;
	plant_forget_ahead(plant);
	if (maps_read(tid, &maps, &err) == 0) {
		file_cost_renew(&space->cost);
		(void)hooks_each(plant, &space->cost, tid, &maps, false, pass_over, NULL);
		if (space->arch->guard.code)
			(void)sigaction_each(plant, space->arch, &space->cost, tid, &maps,
					     pass_over, NULL);
		if (!space->plant) {
			cave_look_ahead(plant, space, tid, &maps);
			collect_ahead(plant, space, tid, &maps);
		}
	}
	maps_free(&maps);
}
