/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/pun.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/page.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/hooks.h"
#include "engine/plant/hop.h"
#include "engine/plant/neighbour.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* 16 MiB of addresses, 2 MiB of memory; and whoever looks for an area looks at all. */
#define AREAS_MAX 256
/* A process that has more mappings may need all that it is allowed (vm.max_map_count, mostly 65530). */
#define MAPPINGS_MAX 32768
/* So much of an area may be lost in front of a hop; it stays untouched memory, and no other area could be mapped there. */
#define SKIP_MAX (256 * PAGE)
/* The hops of functions that begin alike are as far from each other as these. */
#define AREA_LEN (256 * PAGE)
/* And with a breakpoint at one of its lower bytes a jump leads not much lower. */
#define LEFT_OUT (16 * PAGE)

const char pun_why_none[] = "there is no free memory where its jump would lead";

/* Where the jump of a site may lead, the ends included. */
struct range {
	uint64_t low, high;
};

static bool range_of(const struct site *site, const struct pun *pun, struct range *ret)
{
	ret->low = site->vaddr + (uint64_t)pun->low;
	ret->high = ret->low + pun->n - 1;
	/* Around address 0. */
	if (ret->high < ret->low)
		ret->low = 0;
	return (int64_t)ret->high > 0;
}

static bool is_in(const struct range *r, uint64_t vaddr)
{
	return vaddr >= r->low && vaddr <= r->high;
}

/* One that was made before, and nobody has. 0: none. */
static uint64_t find_old(const struct space *space, const struct range *r)
{
	static const uint8_t nothing[UBP_HOP_LEN];
	const struct plant_space *ps = space->plant;
	uint8_t now[UBP_HOP_LEN];
	uint64_t vaddr;
	size_t pos = 0;

	while (map_next(&ps->jump->puns, &pos, &vaddr, NULL))
		if (is_in(r, vaddr) && area_of(ps, vaddr) &&
		    area_of(ps, vaddr) == area_of(ps, vaddr + UBP_HOP_LEN - 1) &&
		    !hop_near(ps, vaddr, UBP_HOP_LEN) &&
		    mem_peek(&space->mem, vaddr, now, UBP_HOP_LEN) == UBP_HOP_LEN &&
		    memcmp(now, nothing, UBP_HOP_LEN) == 0)
			return vaddr;
	return 0;
}

/* In what was left out in front of another hop: nobody has had it. 0: there is none. */
static uint64_t take_left_out(const struct held *held, const struct area *area,
			      const struct range *r, size_t len, struct site *site)
{
	static const uint8_t nothing[UBP_SLOT_SIZE + UBP_FAR_JUMP_MAX];
	uint64_t slot = r->low / UBP_SLOT_SIZE * UBP_SLOT_SIZE;
	size_t n = (size_t)(r->low - slot) + len;
	uint8_t now[sizeof(nothing)];

	if (r->low != r->high || !area->keys || !area_holds(area, slot, n) ||
	    slot + n > area->vaddr + area->used)
		return 0;
	for (uint64_t at = slot; at < slot + n; at += UBP_SLOT_SIZE)
		if (*area_owner(area, at))
			return 0;
	if (mem_peek(&held->t->process->space->mem, slot, now, n) != n ||
	    memcmp(now, nothing, n) != 0)
		return 0;
	area_own_block(area, slot, n, site);
	return r->low;
}

/* In what is not used yet of @area, @len bytes. 0: there is no room. */
static uint64_t take_in(const struct held *held, struct area *area, const struct range *r,
			size_t len, struct site *site)
{
	const struct space *space = held->t->process->space;
	uint64_t from = area->vaddr + area->used, vaddr = from > r->low ? from : r->low;
	uint64_t slot = vaddr / UBP_SLOT_SIZE * UBP_SLOT_SIZE;
	uint64_t end = area->vaddr + area->len - area->promised.slots * UBP_SLOT_SIZE;
	uint64_t used = area->used;

	if (!area->keys || !is_in(r, vaddr) || slot - from > SKIP_MAX ||
	    end - area->vaddr > area->len || vaddr + len > end)
		return 0;
	area->used = slot - area->vaddr;
	if (!area_take_block(area, (size_t)(vaddr - slot) + len, site)) {
		area->used = used;
		return 0;
	}
	/* A later session is to leave it alone. */
	(void)mem_write(&space->mem, held->tid, area->vaddr + offsetof(struct guard_head, used),
			&area->used, sizeof(area->used));
	return vaddr;
}

/* Go's runtime has no heap of this kind; what C code has in such a program goes elsewhere when it can grow no further. */
#define BEHIND_HEAP_GO 0x1000000ULL

/* What a process is left behind its heap. */
static uint64_t behind_heap(struct plant *plant, const struct held *held,
			    const struct maps *maps)
{
	return hooks_is_go(plant, &held->t->process->space->cost, held->tid, maps)
		       ? BEHIND_HEAP_GO
		       : MAPS_BEHIND_HEAP;
}

/* Where memory is free for an area whose slots behind @left_out bytes of them are in the range. 0: nowhere. */
static uint64_t find_gap(struct plant *plant, const struct held *held, struct maps *maps,
			 const struct range *r, const struct guard_head *head,
			 uint64_t left_out)
{
	uint64_t low = r->low / PAGE * PAGE, high = r->high / PAGE * PAGE;
	uint64_t in_front = head->used + left_out;

	if (high < in_front)
		return 0;
	return maps_find_within(maps, held->tid, behind_heap(plant, held, maps),
				low > in_front ? low - in_front : 0, high - in_front,
				head->len);
}

/*
 * Sites are seen to in the order of their addresses, and the ranges of jumps that are followed by the same byte are 16 MiB: at the end of one's
 * range an area serves all that come behind it.
 */
static uint64_t find_shared_gap(struct plant *plant, const struct held *held, struct maps *maps,
				const struct range *r, const struct guard_head *head)
{
	struct range end = { r->high - 4 * AREA_LEN, r->high - AREA_LEN };

	return r->high - r->low > 4 * AREA_LEN
		       ? find_gap(plant, held, maps, &end, head, LEFT_OUT)
		       : 0;
}

/* An area that has slots in the range. */
static int make_area(struct plant *plant, const struct held *held, struct maps *maps,
		     const struct range *r, struct area **ret_area)
{
	struct plant_space *ps = held->t->process->space->plant;
	struct guard_head head =
		area_lay_out((struct area_room){ .slots = AREA_LEN / UBP_SLOT_SIZE });
	struct ubp_err ignored;
	uint64_t hint;
	int rc;

	ubp_err_reset(&ignored);
	if (ps->jump->n_pun_areas >= AREAS_MAX || maps->n > MAPPINGS_MAX ||
	    area_is_too_much(ps, &head) || !ps->stub)
		return -ENOSPC;
	hint = find_shared_gap(plant, held, maps, r, &head);
	if (!hint)
		hint = find_gap(plant, held, maps, r, &head, LEFT_OUT);
	if (!hint) {
		head = area_lay_out((struct area_room){ 0 });
		hint = find_gap(plant, held, maps, r, &head, 0);
	}
	if (!hint)
		return -ERANGE;
	rc = area_make(plant, held, maps, hint, &head, ret_area, &ignored);
	if (rc == 0)
		ps->jump->n_pun_areas++;
	if (held_lasts(held)) {
		maps_free(maps);
		if (maps_read(held->tid, maps, &ignored) < 0)
			rc = -ESRCH;
	}
	return held_lasts(held) ? rc : -ESRCH;
}

static int take_new(struct plant *plant, const struct held *held, struct maps *maps,
		    const struct range *r, size_t len, struct site *site, uint64_t *ret_vaddr)
{
	const struct space *space = held->t->process->space;
	struct area *area;
	int rc;

	*ret_vaddr = 0;
	for (area = space->plant->areas; area && !*ret_vaddr; area = area->next)
		*ret_vaddr = take_left_out(held, area, r, len, site);
	for (area = space->plant->areas; area && !*ret_vaddr; area = area->next)
		*ret_vaddr = take_in(held, area, r, len, site);
	if (*ret_vaddr)
		return 0;
	rc = make_area(plant, held, maps, r, &area);
	if (rc == 0)
		*ret_vaddr = take_in(held, area, r, len, site);
	return rc < 0 || *ret_vaddr ? rc : -ENOSPC;
}

static int take(struct plant *plant, const struct held *held, struct maps *maps,
		const struct range *r, struct site *site, uint64_t *ret_vaddr)
{
	*ret_vaddr = find_old(held->t->process->space, r);
	if (*ret_vaddr)
		return 0;
	return take_new(plant, held, maps, r, UBP_HOP_LEN, site, ret_vaddr);
}

/* --- with breakpoints of others behind it ------------------------------------------------------ */

/* Does it stand at @vaddr from earlier, in memory of ours? */
static bool is_jump_at(const struct space *space, uint64_t vaddr, const uint8_t *code,
		       size_t len)
{
	const struct plant_space *ps = space->plant;
	uint8_t now[UBP_FAR_JUMP_MAX];

	return area_of(ps, vaddr) && area_of(ps, vaddr) == area_of(ps, vaddr + len - 1) &&
	       !hop_near(ps, vaddr, len) && mem_peek(&space->mem, vaddr, now, len) == len &&
	       memcmp(now, code, len) == 0;
}

/* One jump more that leads to the hop of @site. */
static int provide_one_also(struct plant *plant, const struct held *held, struct maps *maps,
			    struct site *site, uint64_t vaddr)
{
	const struct space *space = held->t->process->space;
	const struct range r = { vaddr, vaddr };
	uint8_t code[UBP_FAR_JUMP_MAX];
	size_t len = space->arch->jump.build_far(site->hop.vaddr, code);
	int rc = 0;

	if (!is_jump_at(space, vaddr, code, len)) {
		rc = take_new(plant, held, maps, &r, len, site, &vaddr);
		if (rc == 0)
			rc = mem_write(&space->mem, held->tid, vaddr, code, len);
	}
	if (rc == 0 && map_put(&space->plant->jump->hops, vaddr, site) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		site->hop.also[site->hop.n_also++] = vaddr;
	return rc;
}

/*
 * A debugger that comes while nobody traces the process, or the kernel, may set breakpoints at the instructions that are part of
 * the jump, and then it leads elsewhere: from there, to its hop. Without all of these the process is not let go of.
 */
static int provide_also(struct plant *plant, const struct held *held, struct maps *maps,
			struct site *site)
{
	const struct arch_jump *arch = &held->t->process->space->arch->jump;
	const struct pun *pun = &site->hop.pun;
	unsigned starts = pun->starts & ((1u << pun->n_fixed) - 1);
	int rc = 0;

	if (plant->opt.stay || !arch->pun_with || __builtin_popcount(starts) > 3)
		return 0;
	for (unsigned some = starts; some && rc == 0; some = (some - 1) & starts) {
		uint64_t vaddr = arch->pun_with(pun, site->vaddr, site->hop.vaddr, some);

		/* Such a byte may be what a breakpoint is. */
		if (!map_get(&held->t->process->space->plant->jump->hops, vaddr))
			rc = provide_one_also(plant, held, maps, site, vaddr);
	}
	site->hop.has_all = rc == 0;
	return rc == -ESRCH ? rc : 0;
}

/* With so many bytes in front of its opcode. */
static int provide(struct plant *plant, const struct held *held, struct maps *maps,
		   struct site *site, const struct pun *pun)
{
	struct plant_space *ps = held->t->process->space->plant;
	struct range r;
	uint64_t vaddr;
	int rc;

	if (!range_of(site, pun, &r))
		return -ERANGE;
	rc = take(plant, held, maps, &r, site, &vaddr);
	if (rc < 0)
		return rc;
	if (map_put(&ps->jump->puns, vaddr, ps->jump) < 0 ||
	    map_put(&ps->jump->hops, vaddr, site) < 0)
		return -ENOMEM;
	/* It is nobody's memory: zeros stand there. */
	site->hop = (struct site_hop){ .vaddr = vaddr, .pun = *pun };
	return provide_also(plant, held, maps, site);
}

bool pun_is_scarce(const struct plant_space *ps)
{
	return ps->jump->n_pun_areas >= AREAS_MAX / 2;
}

bool pun_is_needed(const struct site *site)
{
	const struct pun *pun = jump_pun(site);

	return pun && pun->n_fixed;
}

int pun_provide(struct plant *plant, const struct held *held, struct maps *maps,
		struct site *site)
{
	const struct space *space = held->t->process->space;
	const struct arch_jump *arch = &space->arch->jump;
	const struct pun *pun = pun_is_needed(site) ? jump_pun(site) : NULL;
	struct window window = { 0 };
	int rc = -ERANGE;

	if (!pun || site->hop.vaddr || !arch->take_pun)
		return 0;
	window.pun.starts = pun->starts;
	window.jump_len = (uint8_t)(pun->n_prefix + UBP_HOP_LEN - pun->n_fixed);
	for (uint8_t n = pun->n_prefix; n < window.jump_len && rc < 0 && rc != -ESRCH; n++) {
		/* More of what follows is a part of it then: of a run-up, the ret, where a breakpoint stands. */
		if (!arch->take_pun(&window, n, pun->fixed) ||
		    (n > pun->n_prefix && site->run_up) ||
		    (n > pun->n_prefix &&
		     neighbour_of(space->plant, site,
				  (size_t)window.jump_len + window.pun.n_fixed)))
			break;
		rc = provide(plant, held, maps, site, &window.pun);
	}
	return rc;
}
