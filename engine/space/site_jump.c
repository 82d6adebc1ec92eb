/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/site_jump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/space/jump_part.h"
#include "engine/space/site_leaf.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/process.h"

struct site_jump *jump_next(const struct site *site, const struct site_jump *jump)
{
	if (!jump)
		return site->jump ? site->jump : site->old_jumps;
	return jump == site->jump ? site->old_jumps : jump->older;
}

struct site_jump *jump_at(const struct site *site, uint64_t vaddr, uint64_t *ret_at)
{
	struct site_jump *jump = NULL;

	while ((jump = jump_next(site, jump)))
		if (vaddr - jump->copy < jump->len) {
			*ret_at = vaddr - jump->copy;
			return jump;
		}
	return NULL;
}

struct site_jump *jump_of_trap(const struct space *space, uint64_t vaddr,
			       struct site **ret_site, size_t *ret_first, bool *ret_is_return)
{
	const struct plant_space *ps = space->plant;
	struct site *site = ps ? map_get(&ps->jump->traps, vaddr) : NULL;
	uint64_t at;
	struct site_jump *jump = site ? jump_at(site, vaddr, &at) : NULL;

	*ret_site = site;
	*ret_first = 0;
	*ret_is_return = false;
	if (jump && jump->is_watch)
		return jump->detour.trap_at[0] == at ? jump : NULL;
	for (size_t i = 0; jump && i < jump->n_probes; i++) {
		*ret_first = i;
		*ret_is_return = jump->detour.ret_trap_at[i] == at;
		if (*ret_is_return || jump->detour.trap_at[i] == at)
			return jump;
	}
	return NULL;
}

bool jump_has_trap(const struct plant_space *ps, uint64_t vaddr)
{
	return map_get(&ps->jump->traps, vaddr);
}

uint64_t jump_instead(const struct site_jump *jump, size_t i)
{
	/* A run-up is carried out as it is, where the detour begins. */
	return jump->copy +
	       (jump->run_up ? jump->detour.entry_at + jump->from[i] : jump->detour.copy.at[i]);
}

/* The last one that begins at @at or in front of it. NULL: none does. */
static const struct detour_place *last_place(const struct detour *d, uint64_t at)
{
	size_t low = 0, high = d->n_places;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->places[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &d->places[low - 1] : NULL;
}

bool jump_insn_at(const struct site_jump *jump, uint64_t at, uint64_t *ret_from)
{
	const struct detour_place *place = last_place(&jump->detour, at);

	for (size_t i = 0; i < jump->n; i++)
		if (jump->detour.copy.at[i] == at) {
			*ret_from = jump->from[i];
			return true;
		}
	if (!place || place->at != at)
		return false;
	*ret_from = place->from;
	return true;
}

bool jump_insn_around(const struct site_jump *jump, uint64_t at, uint64_t *ret_from)
{
	const struct detour_place *place = last_place(&jump->detour, at);
	unsigned i = jump->n;

	if (at >= jump->detour.copy.len)
		return false;
	while (i > 0 && jump->detour.copy.at[i] > at)
		i--;
	*ret_from = place ? place->from : jump->from[i];
	return true;
}

uint64_t jump_fixup(const struct site_jump *jump, uint64_t at)
{
	const struct detour *d = &jump->detour;
	size_t low = 0, high = d->n_loads;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->loads[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n_loads && d->loads[low].at == at ? jump->copy + d->loads[low].fixup
							  : 0;
}

bool jump_is_at_ret(const struct site *site)
{
	return site->n_exits && !site->n_probes && !site->watches;
}

bool jump_is_at_jump(const struct site *site)
{
	return jump_is_at_ret(site) && site->exits[0].is_jump;
}

bool jump_ends_at_ret(const struct site *site)
{
	return site->n_exits && site->n_probes && !site->run_up;
}

size_t jump_n_recorded(const struct site *site)
{
	if (jump_is_at_ret(site))
		return site->n_exits;
	if (jump_ends_at_ret(site))
		return site->n_probes + site->n_exits;
	return site->n_probes + (site->leaf ? site->leaf->n : 0);
}

struct uprobe *jump_recorded(const struct site *site, size_t i)
{
	size_t first = jump_is_at_ret(site) ? 0 : site->n_probes;

	if (i < first)
		return site->probes[i];
	return site->n_exits ? site->exits[i - first].probe : site->leaf->probes[i - first];
}

int jump_take_probes(struct site_jump *jump, const struct site *site)
{
	size_t n = jump_n_recorded(site);

	jump->probes = calloc(n + 1, sizeof(struct uprobe *));
	if (!jump->probes)
		return -ENOMEM;
	for (; jump->n_probes < n; jump->n_probes++)
		jump->probes[jump->n_probes] = uprobe_get(jump_recorded(site, jump->n_probes));
	return 0;
}

const struct uprobe_exit *jump_exit(const struct site *site)
{
	bool is_one = jump_is_at_ret(site) || (site->run_up && site->n_probes);
	const struct uprobe *probe = is_one ? jump_recorded(site, 0) : NULL;

	for (size_t i = 0; probe && i < probe->n_exits; i++)
		if (probe->exits[i].foffset == site->foffset + site->run_up)
			return &probe->exits[i];
	return NULL;
}

const struct hop *jump_hops(const struct site *site, size_t *ret_n)
{
	const struct uprobe_exit *e = jump_exit(site);
	const struct uprobe_window *w =
		site->n_probes && !site->run_up ? &site->probes[0]->window : NULL;

	if (e) {
		*ret_n = e->n_hops;
		return e->hops;
	}
	*ret_n = w ? w->n_hops : 0;
	return w ? w->hops : NULL;
}

bool jump_is_short(const struct site *site)
{
	size_t n;

	(void)jump_hops(site, &n);
	return n && site->hop.vaddr && !site->hop.is_own && !site->hop.pun.n_fixed;
}

size_t jump_exit_len(const struct site *site, const struct uprobe_exit *its_exit)
{
	return (size_t)site->insn.len +
	       (jump_is_short(site) ? its_exit->short_padding : its_exit->padding);
}

const struct pun *jump_pun(const struct site *site)
{
	const struct uprobe_exit *e = jump_exit(site);

	if (e)
		return jump_is_short(site) ? NULL : &e->pun;
	return site->n_probes && !site->run_up ? &site->probes[0]->window.pun : NULL;
}

bool jump_asks_room(const struct site *site)
{
	const struct uprobe_exit *e = jump_exit(site);

	if (e)
		return e->asks_room;
	return site->run_up || (site->n_probes && site->probes[0]->window.asks_room);
}

bool jump_is_stale(const struct site *site)
{
	const struct site_jump *jump = site->jump;

	if (!jump)
		return false;
	if (jump->is_outdated || jump->n_probes != jump_n_recorded(site))
		return true;
	for (size_t i = 0; i < jump->n_probes; i++)
		if (jump->probes[i] != jump_recorded(site, i))
			return true;
	return false;
}

static struct site_jump *copy_one(const struct site_jump *from)
{
	struct site_jump *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *from;
	copy->older = NULL;
	copy->detour.code = NULL;
	copy->probes = NULL;
	copy->detour.loads = malloc((copy->detour.n_loads + 1) * sizeof(*copy->detour.loads));
	copy->detour.places = calloc(copy->detour.n_places + 1, sizeof(*copy->detour.places));
	copy->detour.exits = calloc(copy->detour.n_exits + 1, sizeof(*copy->detour.exits));
	copy->n_probes = 0;
	copy->probes = calloc(from->n_probes + 1, sizeof(struct uprobe *));
	if (!copy->detour.loads || !copy->detour.places || !copy->detour.exits ||
	    !copy->probes) {
		jump_free(copy);
		return NULL;
	}
	for (; copy->n_probes < from->n_probes; copy->n_probes++)
		copy->probes[copy->n_probes] = uprobe_get(from->probes[copy->n_probes]);
	if (copy->detour.n_loads)
		memcpy(copy->detour.loads, from->detour.loads,
		       copy->detour.n_loads * sizeof(*copy->detour.loads));
	if (copy->detour.n_places)
		memcpy(copy->detour.places, from->detour.places,
		       copy->detour.n_places * sizeof(*copy->detour.places));
	if (copy->detour.n_exits)
		memcpy(copy->detour.exits, from->detour.exits,
		       copy->detour.n_exits * sizeof(*copy->detour.exits));
	return copy;
}

int jump_copy(const struct site *from, struct site *to)
{
	struct site_jump **tail = &to->old_jumps;

	to->jump = to->old_jumps = NULL;
	if (from->jump) {
		to->jump = copy_one(from->jump);
		if (!to->jump)
			return -ENOMEM;
	}
	for (const struct site_jump *old = from->old_jumps; old; old = old->older) {
		*tail = copy_one(old);
		if (!*tail)
			return -ENOMEM;
		tail = &(*tail)->older;
	}
	return 0;
}

void jump_clear(struct site_jump *jump)
{
	for (size_t i = 0; i < jump->n_probes; i++)
		uprobe_put(jump->probes[i]);
	free(jump->probes);
	free(jump->detour.code);
	free(jump->detour.loads);
	free(jump->detour.places);
	free(jump->detour.exits);
	*jump = (struct site_jump){ 0 };
}

void jump_free(struct site_jump *jump)
{
	if (jump)
		jump_clear(jump);
	free(jump);
}

void jump_free_all(struct site *site)
{
	while (site->old_jumps) {
		struct site_jump *older = site->old_jumps->older;

		jump_free(site->old_jumps);
		site->old_jumps = older;
	}
	jump_free(site->jump);
	site->jump = NULL;
}

int jump_keep_block(const struct plant_space *ps, uint64_t vaddr, uint64_t block, size_t looks)
{
	return map_put_within(&ps->jump->blocks, vaddr, (void *)(uintptr_t)block, looks);
}

void jump_drop_block(const struct plant_space *ps, uint64_t vaddr)
{
	(void)map_remove(&ps->jump->blocks, vaddr);
}

void jump_forget_blocks(const struct plant_space *ps)
{
	map_free(&ps->jump->blocks);
	map_free(&ps->jump->led_to);
}

void jump_forget_hop(const struct plant_space *ps, struct site *site)
{
	if (site->hop.vaddr)
		map_remove(&ps->jump->hops, site->hop.vaddr);
	for (uint8_t i = 0; i < site->hop.n_also; i++)
		map_remove(&ps->jump->hops, site->hop.also[i]);
	site->hop = (struct site_hop){ 0 };
}

void jump_forget_hops(const struct plant_space *ps)
{
	map_free(&ps->jump->hops);
	map_free(&ps->jump->puns);
}

int jump_keep_hop(const struct plant_space *ps, uint64_t vaddr, struct site *site, size_t looks)
{
	return map_put_within(&ps->jump->hops, vaddr, site, looks);
}

int jump_keep_pun(const struct plant_space *ps, uint64_t vaddr, size_t looks)
{
	return map_put_within(&ps->jump->puns, vaddr, ps->jump, looks);
}

void jump_show_under_hops(const struct plant_space *ps, uint64_t vaddr, uint8_t *buf,
			  size_t got)
{
	const struct map *hops = &ps->jump->hops;

	for (uint64_t at = vaddr - UBP_HOP_LEN; hops->n && at < vaddr + got; at++) {
		const struct site *site = map_get(hops, at);

		for (size_t k = 0; site && site->hop.stands && k < UBP_HOP_LEN; k++)
			if (at + k - vaddr < got)
				buf[at + k - vaddr] = site->hop.orig[k];
	}
}

void jump_forget_users(struct plant_space *ps, bool is_known)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site_jump *jump = NULL;

		while ((jump = jump_next(value, jump)))
			jump->in_use = !is_known;
	}
	pos = 0;
	while (map_next(&ps->jump->hops, &pos, NULL, &value))
		((struct site *)value)->hop.in_use = !is_known;
	ps->jump->is_returning = false;
}
