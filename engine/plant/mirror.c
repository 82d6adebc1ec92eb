/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/mirror.h"

#include <errno.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/page.h"
#include "engine/code/mirrors.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/areas.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"

/* The head of an area, and a table with one entry, which is empty. */
#define HEAD_LEN (2 * (uint64_t)PAGE)

/* --- which bytes ----------------------------------------------------------------------------- */

bool mirror_takes_breakpoints(const struct ubp_arch *arch, const struct site *site)
{
	const struct site_jump *jump = site->jump;
	/* Behind a punned jump instructions begin that are part of it. */
	bool takes = jump->reach <= jump->jump_len || site->hop.has_all;

	for (size_t i = 1; i < jump->n; i++)
		takes &=
			mirrors_is_breakpoint(arch, jump->bytes, jump->jump_len, jump->from[i]);
	return takes;
}

/* --- where ----------------------------------------------------------------------------------- */

static bool is_mirror(const struct area *area)
{
	return area->keys && !area->n_entries && area->used == area->len;
}

static bool is_in_mirror(const struct plant_space *ps, uint64_t at)
{
	const struct area *area = area_of(ps, at);

	return area && is_mirror(area) && at - area->vaddr >= HEAD_LEN &&
	       area_of(ps, at + UBP_HOP_LEN - 1) == area;
}

bool mirror_choose(const struct plant_space *ps, const struct ubp_arch *arch,
		   const struct window *window, struct site *site)
{
	const int64_t *mirror = arch->jump.mirrors;

	if (site->hop.vaddr)
		return site->hop.is_own;
	for (; window->n > 1 && mirror && *mirror; mirror++) {
		uint64_t at = site->vaddr + window->jump_len + (uint64_t)*mirror;

		if (!is_in_mirror(ps, at) || map_get(&ps->jump->hops, at) ||
		    !mirrors_serve(arch, window, site->vaddr, at) ||
		    map_put(&ps->jump->hops, at, site) < 0)
			continue;
		site->hop = (struct site_hop){ .vaddr = at, .is_own = true };
		return true;
	}
	return false;
}

/* --- made ------------------------------------------------------------------------------------ */

static bool is_free(const struct maps *maps, uint64_t from, uint64_t to)
{
	bool is = from >= MIRRORS_LOWEST && from < to;

	for (size_t i = 0; is && i < maps->n; i++)
		is = maps->v[i].end <= from || maps->v[i].start >= to;
	return is;
}

/* -EEXIST: something is there. */
static int make(const struct held *held, const struct maps *maps, uint64_t from, uint64_t to,
		struct ubp_err *err)
{
	struct space *space = held->t->process->space;
	struct guard_head head = { .magic = UBP_GUARD_MAGIC,
				   .version = UBP_GUARD_VERSION,
				   .len = to - from,
				   .used = to - from };
	struct area *area;
	uint64_t vaddr;
	int rc;

	if (!is_free(maps, from, to) || area_is_too_much(space->plant, &head))
		return ubp_fail(err, EEXIST, "no room for a mirror");
	rc = area_map(held, space->plant->stub, from, head.len, PROT_READ | PROT_EXEC, &vaddr,
		      err);
	if (rc < 0)
		return rc;
	area = area_new(vaddr, &head);
	if (!area)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = area_join(space, area, &head, held->tid, err);
	if (rc < 0)
		area_free_all(area);
	return rc;
}

static bool is_there(const struct plant_space *ps, uint64_t from, uint64_t to)
{
	return is_in_mirror(ps, from) && is_in_mirror(ps, to - UBP_HOP_LEN);
}

/* Of @code, the first that there is room for. True: it was not there before. */
static bool provide(const struct held *held, const struct maps *maps,
		    const struct mapping *code, struct ubp_err *err)
{
	const struct space *space = held->t->process->space;
	const int64_t *mirror = space->arch->jump.mirrors;
	int rc = -EEXIST;

	for (; *mirror && rc < 0 && held_lasts(held); mirror++) {
		uint64_t from = (code->start + (uint64_t)*mirror) / PAGE * PAGE;
		uint64_t to = code->end + UBP_HOP_LEN + (uint64_t)*mirror;

		to = (to + PAGE - 1) / PAGE * PAGE;
		/* Nothing is below. */
		if (*mirror < 0 &&
		    code->start < (uint64_t) - *mirror + MIRRORS_LOWEST + HEAD_LEN)
			continue;
		if (is_there(space->plant, from, to))
			return false;
		rc = make(held, maps, from - HEAD_LEN, to, err);
	}
	return rc == 0;
}

int mirror_provide(const struct held *held, struct maps *maps, uint64_t vaddr,
		   uint64_t *ret_end, struct ubp_err *err)
{
	const struct space *space = held->t->process->space;
	const struct mapping *code = maps_at(maps, vaddr);
	struct ubp_err ignored;

	*ret_end = code ? code->end : vaddr + 1;
	if (!code || !space->arch->jump.mirrors || !space->plant->stub)
		return 0;
	ubp_err_reset(&ignored);
	/* Without one, the process is not let go of. */
	if (!provide(held, maps, code, &ignored) && held_lasts(held))
		return 0;
	if (!held_lasts(held))
		return ubp_fail(err, ESRCH, "the thread has ended");
	maps_free(maps);
	return maps_read(held->tid, maps, err);
}
