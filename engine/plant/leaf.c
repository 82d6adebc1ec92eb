/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/leaf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "arch/leaf.h"
#include "engine/base/map.h"
#include "engine/base/search.h"
#include "engine/base/sort.h"
#include "engine/base/vec.h"
#include "engine/plant/neighbour.h"
#include "engine/plant/run_up.h"
#include "engine/plant/site.h"
#include "engine/plant/update.h"
#include "engine/space/site_jump.h"
#include "engine/space/site_leaf.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* --- which entries ---------------------------------------------------------------------- */

/* Of an entry: whose returns its copy would tell. */
struct wanted {
	const struct leaf *leaf; /* NULL: none */
	uint64_t func_vaddr;
	struct uprobe *probes[UBP_DETOUR_PROBES];
	size_t n;
};

/* Is it left there, and is that all that the site is for? */
static bool is_exit_of(const struct site *site, uint64_t func_vaddr)
{
	if (!site->n_exits || site->n_probes || site->watches)
		return false;
	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].func_vaddr != func_vaddr)
			return false;
	return true;
}

static bool is_told(const struct wanted *w, const struct uprobe *probe)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->probes[i] == probe)
			return true;
	return false;
}

/* The probes of the ret at @site. False: it is none that a copy could be for. */
static bool take_probes(struct wanted *w, const struct site *site, size_t n_entry)
{
	if (site->n_exits + n_entry > UBP_DETOUR_PROBES)
		return false;
	for (size_t i = 0; i < site->n_exits; i++) {
		struct uprobe *probe = site->exits[i].probe;

		if (site->exits[i].is_jump || probe->life.is_retired ||
		    probe->at_hit.handler.is_there || !probe->at_hit.leaf)
			return false;
		w->probes[w->n++] = probe;
	}
	w->leaf = w->probes[0]->at_hit.leaf;
	return true;
}

/* The first ret behind the entry. */
static bool find_probes(struct wanted *w, const struct place *at)
{
	const struct site *site = at->sites[at->i];

	for (size_t i = at->i + 1; i < at->n; i++) {
		const struct site *other = at->sites[i];

		if (other->vaddr - w->func_vaddr >= UBP_LEAF_CODE_MAX)
			return false;
		if (is_exit_of(other, w->func_vaddr) && !other->exits[0].is_jump)
			return take_probes(w, other, site->n_probes);
	}
	return false;
}

/* Are the same probes told at each ret of the copy? */
static bool has_rets(const struct wanted *w, const struct plant_space *ps)
{
	for (size_t i = 0; i < w->leaf->n; i++) {
		const struct site *ret =
			map_get(&ps->sites, w->func_vaddr + w->leaf->insns[i].from);

		if (w->leaf->insns[i].kind != LEAF_RET)
			continue;
		if (!ret || !is_exit_of(ret, w->func_vaddr) || ret->n_exits != w->n)
			return false;
		for (size_t k = 0; k < w->n; k++)
			if (ret->exits[k].probe != w->probes[k] || ret->exits[k].is_jump)
				return false;
	}
	return true;
}

/* May it be passed by in a copy? */
static bool may_be_passed(const struct wanted *w, const struct site *site)
{
	if (is_exit_of(site, w->func_vaddr))
		return true;
	for (size_t i = 0; site->run_up && i < site->n_probes; i++)
		if (!is_told(w, site->probes[i]))
			return false;
	return (site->run_up || !site_is_probed(site)) && !site->watches;
}

/* Would the copy lead out to under the jump that may stand there? */
static bool is_led_into(const struct wanted *w, const struct site *run_up)
{
	uint64_t at = run_up->vaddr - w->func_vaddr;

	return run_up->run_up && leaf_exits_between(w->leaf, at, at + run_up->run_up);
}

static bool is_alone(const struct wanted *w, const struct place *at)
{
	for (size_t i = at->i + 1; i < at->n; i++) {
		const struct site *other = at->sites[i];

		if (other->vaddr >= w->func_vaddr + w->leaf->reach)
			break;
		if (!may_be_passed(w, other) || is_led_into(w, other))
			return false;
	}
	return true;
}

static bool is_entry(const struct site *site)
{
	return site->n_probes && !site->n_exits && !site->run_up && !site->watches &&
	       !site_has_return(site) && !(site->leaf && site->leaf->is_refused);
}

static struct wanted look(const struct plant_space *ps, const struct place *at)
{
	const struct site *site = at->sites[at->i];
	struct wanted w = { 0 };

	if (!is_entry(site))
		return w;
	w.func_vaddr = site_probed(site, site->probes[0]);
	if (!find_probes(&w, at) || !leaf_insn_at(w.leaf, site->vaddr - w.func_vaddr) ||
	    !has_rets(&w, ps) || !is_alone(&w, at))
		return (struct wanted){ 0 };
	return w;
}

void leaf_choose(const struct plant_space *ps, const struct place *at)
{
	struct wanted w = look(ps, at);

	/* Out of memory: there is none. */
	(void)site_leaf_set(at->sites[at->i], w.probes, w.n);
}

bool leaf_settle(const struct plant_space *ps)
{
	struct place at = { 0 };
	struct site **sites = plant_sites_by_place(ps, &at.n);
	bool any = false;

	at.sites = sites;
	for (; sites && at.i < at.n; at.i++) {
		struct site *site = sites[at.i];
		struct wanted w;

		if (!site->jump || jump_is_stale(site))
			continue;
		w = look(ps, &at);
		if (site_leaf_is(site, w.probes, w.n))
			continue;
		site->jump->is_outdated = true;
		any = true;
	}
	free(sites);
	return any;
}

/* --- what it is made of ------------------------------------------------------------------- */

#define PIECE 64

bool leaf_is_there(const struct space *space, struct mem_view *view, struct site *site)
{
	const struct leaf *leaf = site_leaf(site);
	uint64_t func_vaddr = site_probed(site, site->probes[0]);
	uint8_t now[PIECE];

	for (size_t at = 0, n; at < leaf->len; at += n) {
		n = leaf->len - at < PIECE ? leaf->len - at : PIECE;
		if (site_read_original(space, view, func_vaddr + at, now, n) == n &&
		    memcmp(now, leaf->code + at, n) == 0)
			continue;
		site_leaf_refuse(site);
		return false;
	}
	return true;
}

bool leaf_take_ret(const struct plant_space *ps, const struct site *site, struct run_up *r)
{
	const struct leaf *leaf = site_leaf(site);
	uint64_t func_vaddr = site_probed(site, site->probes[0]);
	const struct site *ret;
	size_t i = 0;

	while (i < leaf->n && leaf->insns[i].kind != LEAF_RET)
		i++;
	ret = i < leaf->n ? map_get(&ps->sites, func_vaddr + leaf->insns[i].from) : NULL;
	if (!ret || ret->insn.leave != LEAVE_RET)
		return false;
	run_up_take_ret(r, &ret->insn);
	return true;
}

/* --- what would be passed by ---------------------------------------------------------------- */

static bool has_copy(const struct site *site)
{
	return site->jump && site->jump->detour.leaf_len;
}

int leaf_look(const struct plant_space *ps, struct leaves *ret_leaves)
{
	struct leaves *l = ret_leaves;
	size_t pos = 0;
	uint64_t vaddr;
	void *value;

	*l = (struct leaves){ 0 };
	while (map_next(&ps->sites, &pos, &vaddr, &value)) {
		const struct site *site = value;

		if (!has_copy(site))
			continue;
		if (VEC_DOUBLE(l->v, l->n) < 0) {
			leaves_free(l);
			return -ENOMEM;
		}
		l->v[l->n++] = (struct sort_item){ vaddr, value };
		if (site->jump->detour.leaf_len > l->len)
			l->len = site->jump->detour.leaf_len;
	}
	if (l->n)
		sort_items(l->v, l->n);
	return 0;
}

void leaves_free(struct leaves *leaves)
{
	free(leaves->v);
	*leaves = (struct leaves){ 0 };
}

struct site *leaf_over(const struct leaves *leaves, const struct added *added)
{
	uint64_t vaddr = added->site->vaddr;

	/* Exits of its own function go with their probes (leaf_settle()). */
	if (added->run_up)
		return NULL;
	for (size_t i = search_at_least(leaves->v, leaves->n, key, vaddr);
	     i > 0 && vaddr - leaves->v[i - 1].key < leaves->len; i--) {
		struct site *site = leaves->v[i - 1].value;

		/* It may have been taken back since. */
		if (has_copy(site) && site->jump->is_begun &&
		    site->jump->detour.leaf_len > vaddr - site->vaddr &&
		    added->func_vaddr != site_probed(site, site->probes[0]))
			return site;
	}
	return NULL;
}
