/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/hop.h"

#include <errno.h>
#include <string.h>

#include "engine/plant/site.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/uprobe.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define TRIES_MAX 4 /* to put one back */

const char hop_why_none[] =
	"others have the unused bytes near by that its short jump could lead to";

static const struct uprobe_window *window_of(const struct site *site)
{
	return site->n_probes && !site->run_up ? &site->probes[0]->window : NULL;
}

bool hop_is_needed(const struct site *site)
{
	const struct pun *pun = jump_pun(site);
	size_t n;

	(void)jump_hops(site, &n);
	return n || (pun && pun->n_fixed);
}

struct site *hop_near(const struct plant_space *ps, uint64_t vaddr, size_t len)
{
	struct site *site = NULL;

	if (!ps->jump->hops.n)
		return NULL;
	for (uint64_t at = vaddr - UBP_HOP_LEN + 1; at < vaddr + len && !site; at++)
		site = map_get(&ps->jump->hops, at);
	return site;
}

bool hop_any(const struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->jump->hops, &pos, NULL, &value))
		if (((const struct site *)value)->hop.stands)
			return true;
	return false;
}

/* So many bytes from its start on are those of its instruction, its jump, or the jump that it may get. */
static size_t reach(const struct site *site)
{
	const struct uprobe_window *w = site->n_probes ? window_of(site) : site->window;
	const struct uprobe_exit *e = jump_is_at_ret(site) ? jump_exit(site) : NULL;
	size_t len = e ? jump_exit_len(site, e) : site->insn.len;

	if (w && (size_t)w->len + w->padding > len)
		len = (size_t)w->len + w->padding;
	if (site->is_patched && site->patch_len > len)
		len = site->patch_len;
	if (site->jump && site->jump->reach > len)
		len = site->jump->reach;
	return len;
}

static bool is_taken(const struct plant_space *ps, const struct site *site, uint64_t vaddr)
{
	const struct site *other = hop_near(ps, vaddr, UBP_HOP_LEN);

	if (other && other != site)
		return true;
	for (uint64_t at = vaddr - UBP_WINDOW_MAX; at < vaddr + UBP_HOP_LEN; at++) {
		other = map_get(&ps->sites, at);
		if (other && (at >= vaddr || vaddr - at < reach(other)))
			return true;
	}
	return false;
}

bool hop_choose(struct plant_space *ps, struct mem_view *view, struct site *site)
{
	size_t n;
	const struct hop *hops = jump_hops(site, &n);

	if (site->hop.vaddr)
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct hop *hop = &hops[i];
		uint64_t vaddr = site->vaddr + (uint64_t)(int64_t)hop->at;
		uint8_t now[UBP_HOP_LEN];

		if (is_taken(ps, site, vaddr) ||
		    mem_view_peek(view, vaddr, now, UBP_HOP_LEN) != UBP_HOP_LEN ||
		    memcmp(now, hop->orig, UBP_HOP_LEN) != 0 ||
		    map_put(&ps->jump->hops, vaddr, site) < 0)
			continue;
		site->hop = (struct site_hop){ .vaddr = vaddr };
		memcpy(site->hop.orig, hop->orig, UBP_HOP_LEN);
		return true;
	}
	return false;
}

bool hop_stands(const struct space *space, const struct site *site,
		const struct site_jump *jump)
{
	uint8_t now[UBP_HOP_LEN];

	return mem_peek(&space->mem, site->hop.vaddr, now, UBP_HOP_LEN) == UBP_HOP_LEN &&
	       memcmp(now, jump->hop, UBP_HOP_LEN) == 0;
}

/* As it was when it was chosen? */
static bool is_fill(const struct space *space, const struct site_hop *hop)
{
	uint8_t now[UBP_HOP_LEN];

	return mem_peek(&space->mem, hop->vaddr, now, UBP_HOP_LEN) == UBP_HOP_LEN &&
	       memcmp(now, hop->orig, UBP_HOP_LEN) == 0;
}

/* Does what follows a punned jump lead there still? */
static bool is_followed(const struct space *space, const struct site *site,
			const struct site_jump *jump)
{
	uint8_t now[UBP_PUN_FIXED];
	size_t n = (size_t)jump->reach - jump->jump_len;

	return n == 0 || (site->hop.pun.n_fixed == n &&
			  mem_peek(&space->mem, site->vaddr + jump->jump_len, now, n) == n &&
			  memcmp(now, site->hop.pun.fixed, n) == 0);
}

int hop_begin(const struct space *space, struct site *site, const struct site_jump *jump)
{
	struct site_hop *hop = &site->hop;

	if (!is_followed(space, site, jump))
		return -EBUSY;
	if (hop->vaddr != jump->hop_at ||
	    (!hop->is_own && (is_taken(space->plant, site, hop->vaddr) ||
			      (!hop->stands && !is_fill(space, hop)))))
		return -EBUSY;
	/* Whatever comes of it, it is to be taken out. */
	hop->stands = true;
	hop->to = jump->copy + jump->detour.entry_at;
	memcpy(hop->bytes, jump->hop, UBP_HOP_LEN);
	return 0;
}

int hop_put_back(const struct space *space, pid_t tid, const struct site *site)
{
	const struct site_hop *hop = &site->hop;
	uint8_t now[UBP_HOP_LEN];
	int rc = -EIO;

	if (hop->is_own)
		return 0;
	for (int i = 0; i < TRIES_MAX; i++) {
		if (mem_peek(&space->mem, hop->vaddr, now, UBP_HOP_LEN) != UBP_HOP_LEN)
			return -EFAULT;
		if (!site_is_ours(space->arch, hop->bytes, hop->orig, UBP_HOP_LEN, now))
			return 0;
		rc = mem_write(&space->mem, tid, hop->vaddr, hop->orig, UBP_HOP_LEN);
	}
	return rc < 0 ? rc : -EIO;
}

int hop_take_out(const struct space *space, struct site *site)
{
	int rc;

	if (!site->hop.stands || site->hop.in_use)
		return 0;
	rc = hop_put_back(space, 0, site);
	site->hop.stands = rc < 0;
	return rc;
}
