/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/pair.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/page.h"
#include "engine/os/maps.h"
#include "engine/plant/hop.h"
#include "engine/plant/mirror.h"
#include "engine/plant/neighbour.h"
#include "engine/plant/run_up.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* How far from the code their hops are, in steps of UBP_PAIR_STEP: not near it, where other memory is wanted, and so that any detour is in reach. */
#define HIGH_LEAST 4
#define HIGH_MOST  40
/* Choices that are looked at. */
#define CHOICES 4096

/* --- which sites ----------------------------------------------------------------------------- */

static struct site *ret_of(const struct plant_space *ps, const struct site *site)
{
	return map_get(&ps->sites, site->vaddr - site->behind_ret);
}

static struct site *second_of(const struct plant_space *ps, const struct site *ret)
{
	const struct uprobe_exit *e = jump_exit(ret);
	struct site *site = e && e->behind ? map_get(&ps->sites, ret->vaddr + e->behind) : NULL;

	return site && site->behind_ret == e->behind ? site : NULL;
}

size_t pair_span(const struct uprobe_exit *e)
{
	return e->behind_len > UBP_HOP_LEN ? e->behind_len : UBP_HOP_LEN;
}

bool pair_fits(const struct space *space, struct mem_view *view, uint64_t vaddr,
	       const struct uprobe_exit *e)
{
	const struct site *site = plant_site_at(space, vaddr);
	uint8_t now[UBP_RUN_UP_MAX];

	if (site && site->behind_ret != e->behind)
		return false;
	for (uint64_t at = vaddr + 1; at < vaddr + pair_span(e); at++)
		if (plant_site_at(space, at))
			return false;
	return site || (mem_view_peek(view, vaddr, now, e->behind_len) == e->behind_len &&
			memcmp(now, e->run_up_code, e->behind_len) == 0);
}

bool pair_has_first(const struct site *site)
{
	const struct uprobe_exit *e = jump_is_at_ret(site) ? jump_exit(site) : NULL;

	return e && e->behind;
}

static bool has_second(const struct plant_space *ps, const struct site *ret)
{
	const struct site *site = second_of(ps, ret);

	return site && site->jump && site->jump->is_written && site->jump->run_up < 0 &&
	       ret->hop.vaddr;
}

bool pair_stands(const struct space *space, const struct site *site)
{
	const struct uprobe_exit *e = pair_has_first(site) ? jump_exit(site) : NULL;
	const struct pun *pun = &site->hop.pun;
	uint8_t now[UBP_PUN_FIXED];

	return !e || (mem_peek(&space->mem, site->vaddr + e->behind, now, pun->n_fixed) ==
			      pun->n_fixed &&
		      memcmp(now, pun->fixed, pun->n_fixed) == 0);
}

const char *pair_why_no_first(const struct plant_space *ps, const struct site *ret)
{
	return pair_has_first(ret) && !has_second(ps, ret)
		       ? "what stands behind the ret instruction is not moved"
		       : NULL;
}

const char *pair_why_not(const struct plant_space *ps, const struct place *at)
{
	const struct site *site = at->sites[at->i], *ret = ret_of(ps, site);
	const struct uprobe_exit *e = ret && jump_is_at_ret(ret) ? jump_exit(ret) : NULL;
	const char *why;

	if (!site->n_probes || !e || e->behind != site->behind_ret)
		return "something else stands at the ret instruction";
	if (!at_ret_is_hot(ret))
		return "too few returns by the ret instruction for a jump of its kind";
	why = at_ret_why_not_recorded(ret);
	return why ? why : neighbour_at(ps, at, pair_span(e));
}

void pair_wake(const struct plant_space *ps, const struct site *ret)
{
	struct site *site = second_of(ps, ret);

	if (site)
		site->no_jump = NULL;
}

void pair_note_written(const struct plant_space *ps, const struct site *site)
{
	struct site *ret = site->behind_ret ? ret_of(ps, site) : NULL;

	if (!ret)
		return;
	ret->no_jump = NULL;
	ps->jump->due = true;
}

/* --- where they lead -------------------------------------------------------------------------- */

static bool is_nothing(const struct space *space, uint64_t vaddr)
{
	static const uint8_t nothing[UBP_HOP_LEN];
	uint8_t now[UBP_HOP_LEN];

	return !hop_near(space->plant, vaddr, UBP_HOP_LEN) &&
	       mem_peek(&space->mem, vaddr, now, UBP_HOP_LEN) == UBP_HOP_LEN &&
	       memcmp(now, nothing, UBP_HOP_LEN) == 0;
}

static bool are_free(const struct space *space, const struct site *second,
		     const struct jump_pair *pair)
{
	uint64_t apart = pair->first - pair->second;

	if (apart + UBP_HOP_LEN - 1 < 2 * UBP_HOP_LEN - 1)
		return false;
	if (second->hop.vaddr ? second->hop.vaddr != pair->second
			      : !is_nothing(space, pair->second))
		return false;
	return is_nothing(space, pair->first);
}

/* @high: struct arch_jump. False: none in there is free. */
static bool take_in(const struct space *space, struct site *ret, struct site *second, int high)
{
	const struct plant_space *ps = space->plant;
	struct jump_pair pair;

	for (unsigned i = 0;
	     i < CHOICES &&
	     space->arch->jump.pair(ret->vaddr, second->behind_ret, high, i, &pair);
	     i++) {
		if (!mirror_has(ps, pair.first) || !mirror_has(ps, pair.second))
			return false;
		if (!are_free(space, second, &pair))
			continue;
		if (map_put(&ps->jump->hops, pair.first, ret) < 0 ||
		    map_put(&ps->jump->hops, pair.second, second) < 0)
			return false;
		ret->hop = (struct site_hop){ .vaddr = pair.first, .pun = pair.pun };
		if (!second->hop.vaddr)
			second->hop = (struct site_hop){ .vaddr = pair.second, .is_own = true };
		return true;
	}
	return false;
}

/* Jumps to the mirrors of other code lead there. */
static bool is_for_mirror(const struct ubp_arch *arch, int high)
{
	const int64_t *mirror = arch->jump.mirrors;

	for (; mirror && *mirror; mirror++)
		if (*mirror >= (high - 1) * UBP_PAIR_STEP &&
		    *mirror < (high + 2) * UBP_PAIR_STEP)
			return true;
	return false;
}

static int make_in(const struct held *held, const struct maps *maps, const struct mapping *code,
		   int high)
{
	uint64_t from = code->start + (uint64_t)(high * UBP_PAIR_STEP);
	uint64_t to = from + (code->end - code->start) + UBP_PAIR_STEP + UBP_PAIR_SLACK;
	uint64_t whole = from - MIRRORS_HEAD;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	to = (to + PAGE - 1) / PAGE * PAGE;
	/* Nothing is below, or it is where a heap grows. */
	if ((high < 0 && code->start < (uint64_t)(-high * UBP_PAIR_STEP) + MIRRORS_HEAD) ||
	    maps_find_within(maps, held->tid, MAPS_BEHIND_HEAP, whole, whole, to - whole) !=
		    whole)
		return -EEXIST;
	return mirror_make(held, maps, from, to, &ignored);
}

/* +4, -4, +5, -5 ... */
static int high_of(int i)
{
	int high = HIGH_LEAST + i / 2;

	return i % 2 ? -high : high;
}

#define HIGHS (2 * (HIGH_MOST - HIGH_LEAST + 1))

static int make(const struct held *held, struct maps *maps, const struct site *ret,
		int *ret_high)
{
	const struct space *space = held->t->process->space;
	const struct mapping *code = maps_at(maps, ret->vaddr);
	struct ubp_err ignored;
	int rc = -EEXIST;

	ubp_err_reset(&ignored);
	for (int i = 0; i < HIGHS && code && rc == -EEXIST && held_lasts(held); i++) {
		*ret_high = high_of(i);
		if (!is_for_mirror(space->arch, *ret_high))
			rc = make_in(held, maps, code, *ret_high);
	}
	if (!held_lasts(held))
		return -ESRCH;
	if (rc == 0) {
		maps_free(maps);
		rc = maps_read(held->tid, maps, &ignored) < 0 ? -ESRCH : 0;
	}
	return rc;
}

int pair_provide(const struct held *held, struct maps *maps, struct site *site)
{
	const struct space *space = held->t->process->space;
	struct site *ret = ret_of(space->plant, site);
	int high, rc;

	if (!ret || !space->arch->jump.pair || !space->plant->stub)
		return -ERANGE;
	if (ret->hop.vaddr && site->hop.vaddr)
		return 0;
	if (ret->hop.vaddr)
		return -EBUSY;
	for (int i = 0; i < HIGHS; i++)
		if (take_in(space, ret, site, high_of(i)))
			return 0;
	/* One whose ret has lost its hop. */
	if (site->hop.vaddr)
		return -EBUSY;
	rc = make(held, maps, ret, &high);
	return rc < 0 || take_in(space, ret, site, high) ? rc : -ERANGE;
}

int pair_find(const struct space *space, struct mem_view *view, const struct site *site,
	      struct window *ret_window, struct ubp_err *err)
{
	const struct site *ret = ret_of(space->plant, site);
	const struct uprobe_exit *e = ret && jump_is_at_ret(ret) ? jump_exit(ret) : NULL;
	uint8_t code[UBP_RUN_UP_MAX];
	int rc;

	if (!site->hop.vaddr)
		return ubp_fail(err, ENOSPC,
				"there is no free memory where its jump would lead");
	if (!e || e->behind != site->behind_ret ||
	    mem_view_peek(view, site->vaddr, code, e->behind_len) != e->behind_len)
		return ubp_fail(err, EFAULT, "it cannot be read");
	/* Its breakpoint stands since an earlier try. */
	if (site->planted)
		memcpy(code, site->insn.bytes, space->arch->swbp.len);
	if (memcmp(code, e->run_up_code, e->behind_len) != 0)
		return ubp_fail(err, EBUSY, "what stands there is not what the file has");
	/* Behind fewer bytes than a jump has the file has fill. */
	if (e->behind_len < UBP_HOP_LEN)
		rc = space->arch->jump.find(code, e->behind_len, UBP_HOP_LEN, site->vaddr,
					    ret_window, err);
	else
		rc = space->arch->jump.find_punned(code, e->behind_len, UBP_HOP_LEN,
						   site->vaddr, ret_window, err);
	ret_window->is_moved = true;
	return rc;
}
