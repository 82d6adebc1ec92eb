/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What new sites need before a breakpoint is written: areas, slots in them, entries in the guard's table. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/plant/area.h"
#include "engine/plant/area_in_file.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/site.h"
#include "engine/plant/update.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define TRIES 8

static struct area_room count_new_in(const struct update *u, uint64_t lo, uint64_t hi)
{
	const struct plant_space *ps = u->space->plant;
	size_t n = 0;

	for (size_t i = 0; i < u->n_added; i++) {
		const struct site *site = u->added[i].site;

		added_fetch_ahead(u->added, u->n_added, i);
		if (u->added[i].is_new && site->vaddr >= lo && site->vaddr < hi &&
		    !(ps->slots.n && map_get(&ps->slots, site->vaddr)))
			n++;
	}
	return (struct area_room){ n, n };
}

/* Threads of the process map what they need, and so do we: what was read of the mappings may be old. */
static int provide(struct update *u, uint64_t lo, uint64_t hi, struct area_room room,
		   struct area **ret_area, struct ubp_err *err)
{
	int rc = -EEXIST;

	for (int i = 0; i < TRIES && rc == -EEXIST; i++) {
		ubp_err_reset(err);
		rc = area_provide(u->plant, &u->held, &u->maps, lo, hi, room, ret_area, err);
		if (rc == -EEXIST) {
			struct ubp_err ignored;

			maps_free(&u->maps);
			rc = maps_read(u->tid, &u->maps, &ignored) == 0 ? rc : -ESRCH;
		}
	}
	return rc;
}

/*
 * An area that reaches all of the object that @site is in. Where that is too large (.bss counts): all
 * of the code it stands in, or the site alone. What needs nothing near by works from anywhere.
 */
static int provide_near(struct update *u, const struct site *site, uint64_t lo, uint64_t hi,
			struct area **ret_area, struct ubp_err *err)
{
	const struct mapping *m = maps_at(&u->maps, site->vaddr);
	const uint64_t ranges[][2] = { { lo, hi },
				       { m->start, m->end },
				       { site->vaddr, site->vaddr + site->insn.len } };
	int rc = -ERANGE;

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && rc == -ERANGE; i++) {
		u->lo = ranges[i][0];
		u->hi = ranges[i][1];
		u->room = count_new_in(u, u->lo, u->hi);
		rc = provide(u, u->lo, u->hi, u->room, ret_area, err);
	}
	if (rc != -ERANGE)
		return rc;
	u->lo = lo;
	u->hi = hi;
	u->room = count_new_in(u, lo, hi);
	return provide(u, 0, 0, u->room, ret_area, err);
}

static const char *why_no_room(int rc)
{
	switch (rc) {
	case -ENOMEM:
	case -EAGAIN: /* all its memory is locked */
		return UBP_NO_MEMORY;
	case -EACCES:
		return "the process may not be made to map memory";
	default:
		return "nothing can be mapped in it";
	}
}

/* Nobody is held to map one. */
static int take_provided(struct update *u, const struct site *site, struct area **ret_area,
			 struct ubp_err *err)
{
	for (size_t i = 0; i < u->n_provided; i++) {
		const struct provided *p = &u->provided[i];

		if (site->vaddr < p->lo || site->vaddr >= p->hi)
			continue;
		u->lo = p->lo;
		u->hi = p->hi;
		*ret_area = u->area = p->area;
		return 0;
	}
	return ubp_fail(err, ENOSPC, "no area was provided");
}

/* An area for the new sites of the object that @site is in. NULL: in place. */
static int find_area(struct update *u, const struct site *site, struct area **ret_area,
		     struct ubp_err *err)
{
	const struct mapping *m = maps_at(&u->maps, site->vaddr);
	uint64_t lo, hi;
	int rc;

	if (u->area && site->vaddr >= u->lo && site->vaddr < u->hi) {
		*ret_area = u->area; /* made with room for all of them */
		return 0;
	}
	if (!u->held.t)
		return take_provided(u, site, ret_area, err);
	maps_file_extent(&u->maps, m, &lo, &hi);
	rc = provide_near(u, site, lo, hi, ret_area, err);
	if (rc < 0 && rc != -ESRCH && u->plant->opt.force) {
		struct plant_space *ps = u->space->plant;

		guard_set_no_room(ps, why_no_room(rc));
		/* It may not be made to map anything: what is mapped already has to do. */
		if (rc != -EACCES || area_in_file_provide(u->plant, u->held.t, &u->maps, lo, hi,
							  ret_area, err) < 0)
			*ret_area = NULL;
		rc = 0;
		if (!*ret_area)
			return 0;
	}
	if (rc == -ENOMEM) {
		struct ubp_err why = *err;

		ubp_fail(err, ENOMEM,
			 "%s (--force steps in place: then killing ubp kills the process)",
			 why.text);
	}
	u->area = rc < 0 ? NULL : *ret_area;
	return rc;
}

static bool is_to_prepare(const struct added *a)
{
	return a->is_new && !a->is_ready;
}

static int write_slots(const struct update *u, struct ubp_err *err)
{
	const struct space *space = u->space;
	struct site **sites = malloc((u->n_added + 1) * sizeof(struct site *));
	struct area *area = NULL;
	size_t n = 0;
	int rc = 0;

	if (!sites)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i <= u->n_added && rc == 0; i++) {
		bool is_last = i == u->n_added;
		struct site *site = is_last ? NULL : u->added[i].site;
		struct area *its = area;

		if (!is_last &&
		    (!is_to_prepare(&u->added[i]) || !site->slot || site->is_spared))
			continue;
		if (!is_last)
			its = area_of(space->plant, site->slot);
		if (n && (is_last || its != area)) {
			rc = area_enter(space, u->tid, area, sites, n);
			n = 0;
		}
		area = its;
		if (!is_last)
			sites[n++] = site;
	}
	free(sites);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc, "cannot write to the SSOL area: %s", strerror(-rc));
}

/* What is watched, too, since it was made ready is entered once more: the guard is to know that. */
static void watch_ready(struct update *u)
{
	for (size_t i = 0; i < u->n_added; i++) {
		if (u->added[i].is_new || u->added[i].probe || !u->added[i].watches)
			continue;
		for (size_t k = 0; k < i; k++)
			if (u->added[k].site == u->added[i].site)
				u->added[k].is_ready = false;
	}
}

int update_prepare(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	struct plant_space *ps = space->plant;
	struct mem_view view = { .mem = &space->mem };
	bool had_slots = ps->slots.n != 0;

	watch_ready(u);

	for (size_t i = 0; i < u->n_added; i++) {
		struct area *area = NULL;
		int rc = 0;

		if (!is_to_prepare(&u->added[i]))
			continue;
		if (had_slots)
			area = area_of(ps, (uint64_t)(uintptr_t)map_get(
						   &ps->slots, u->added[i].site->vaddr));
		if (!area)
			rc = find_area(u, u->added[i].site, &area, err);
		if (rc == 0)
			rc = site_prepare(u->plant, space, u->tid, &view, u->added[i].site,
					  area, err);
		if (rc < 0)
			return rc;
	}
	return write_slots(u, err);
}

int update_provide(struct update *u, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < u->n_added && rc == 0; i++) {
		const struct site *site = u->added[i].site;
		bool is_in = u->area && site->vaddr >= u->lo && site->vaddr < u->hi;
		struct area *area = NULL;

		added_fetch_ahead(u->added, u->n_added, i);
		if (is_in || !is_to_prepare(&u->added[i]))
			continue;
		rc = find_area(u, site, &area, err);
		if (rc < 0)
			break;
		if (!area)
			continue; /* --force: stepped in place */
		area->promised.slots += u->room.slots;
		area->promised.entries += u->room.entries;
		if (VEC_DOUBLE(u->provided, u->n_provided) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		u->provided[u->n_provided++] = (struct provided){
			.area = area, .lo = u->lo, .hi = u->hi, .room = u->room
		};
	}
	return rc;
}
