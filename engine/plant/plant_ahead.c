/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Looking ahead: what takes time (reading maps, decoding, making sites) is done while the
 * process still runs; plant_update() begins with what was found.
 */

#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/plant/cave.h"
#include "engine/plant/hooks.h"
#include "engine/plant/leave.h"
#include "engine/plant/plant.h"
#include "engine/plant/sigaction.h"
#include "engine/plant/update.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/process.h"

/* What plant_look_ahead() has found. */
struct plant_ahead {
	const struct space *of;
	struct space space; /* a stand-in for it; its plant_space becomes the real one */
	struct update u;
};

void update_take_ahead(struct update *u)
{
	struct plant_ahead *ahead = u->plant->ahead;

	if (!ahead || ahead->of != u->space || u->space->plant)
		return;
	u->space->plant = ahead->space.plant;
	u->added = ahead->u.added;
	u->n_added = ahead->u.n_added;
	u->seen = ahead->u.seen;
	u->has_passed_over = ahead->u.has_passed_over;
	u->plant->ahead = NULL;
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

void plant_forget_ahead(struct plant *plant)
{
	struct plant_ahead *ahead = plant->ahead;

	plant->ahead = NULL;
	if (!ahead)
		return;
	plant_forget(&ahead->space);
	free(ahead->u.added);
	free(ahead);
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
}

void plant_look_ahead(struct plant *plant, struct space *space, pid_t tid)
{
	struct ubp_err err;
	struct maps maps;

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
