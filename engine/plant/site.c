/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Sites: made for a place, shared by its probes, prepared to be planted, and thrown away. */

#include "engine/plant/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/sort.h"
#include "engine/base/vec.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/spare.h"
#include "engine/space/part.h"
#include "engine/space/site_jump.h"
#include "engine/space/site_leaf.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

static unsigned long ul(uint64_t n)
{
	return (unsigned long)n;
}

/*
 * A call of rt_sigaction() that an earlier session made a jump to its slot, which
 * begins with what stood there.
 */
static void see_through_jump(const struct space *space, uint64_t vaddr, uint8_t *buf,
			     size_t len)
{
	const struct ubp_arch *arch = space->arch;
	const struct plant_space *ps = space->plant;
	uint64_t slot = (uint64_t)(uintptr_t)map_get(&ps->slots, vaddr);
	uint8_t was[UBP_INSN_MAX], patch[UBP_INSN_MAX];
	size_t n = arch->hook.patch_len;
	const struct area *area = area_of(ps, slot);
	struct slot_code code;
	struct ubp_err err;

	/* Nothing leads to one that was never written. */
	if (!area || slot - area->vaddr >= area->fresh)
		return;
	if (arch->guard.code && len >= n && mem_peek(&space->mem, slot, was, n) == n &&
	    arch->hook.build(was, n, vaddr, slot, ps->areas->vaddr, patch, &code, &err) == 0 &&
	    memcmp(buf, patch, n) == 0)
		memcpy(buf, was, n);
}

/* Of @got bytes at @vaddr those that we have written at @site (NULL: none): what was there before. */
static void put_original(const struct space *space, const struct site *site, uint64_t vaddr,
			 uint8_t *buf, size_t got)
{
	const struct site_jump *jump = site ? site->jump : NULL;
	const uint8_t *orig;
	size_t n;

	if (!site || !site->planted)
		return;
	orig = jump && jump->is_begun ? jump->orig : site->insn.bytes;
	n = site->is_patched ? site->patch_len : space->arch->swbp.len;
	if (jump && jump->is_begun)
		n = jump->jump_len;
	for (size_t k = 0; k < n; k++)
		if (site->vaddr + k - vaddr < got)
			buf[site->vaddr + k - vaddr] = orig[k];
}

size_t site_read_original(const struct space *space, struct mem_view *view, uint64_t vaddr,
			  uint8_t *buf, size_t len)
{
	/* Through the file that is written to: by now a thread may have another image. */
	size_t got = view ? mem_view_peek(view, vaddr, buf, len)
			  : mem_peek(&space->mem, vaddr, buf, len);

	see_through_jump(space, vaddr, buf, got);
	for (uint64_t at = vaddr - UBP_INSN_MAX; at < vaddr + got; at++)
		put_original(space, plant_site_at(space, at), vaddr, buf, got);
	jump_show_under_hops(space->plant, vaddr, buf, got);
	return got;
}

static int no_bytes(const struct space *space, const struct site_origin *from, uint64_t vaddr,
		    pid_t tid, struct ubp_err *err)
{
	return ubp_fail(err, EFAULT, "%s%sits code at 0x%lx in process %d can't be read: %s",
			from->what ? from->what : "", from->what ? ": " : "", ul(vaddr),
			(int)tid, mem_error(&space->mem, -EIO));
}

/* @now: @got bytes of memory. */
static int check_bytes(const struct space *space, const struct displaced_insn *insn,
		       const uint8_t *now, size_t got, const struct site_origin *from,
		       const struct file_code *code, pid_t tid, struct ubp_err *err)
{
	for (size_t i = 0; i < insn->len && i < code->len; i++)
		if (i >= got)
			return no_bytes(space, from, insn->vaddr + i, tid, err);
		else if (now[i] != code->bytes[i])
			return ubp_fail(
				err, EBUSY,
				"%s: byte at 0x%lx in process %d is 0x%02x, in the file it "
				"is 0x%02x: another tracer has a breakpoint there, or the "
				"program changed its code",
				from->what, ul(insn->vaddr + i), (int)tid, now[i],
				code->bytes[i]);
	return 0;
}

bool site_is_taken(const struct space *space, struct mem_view *view, uint64_t vaddr,
		   const struct uprobe *probe)
{
	size_t len = probe->insn.len < probe->code.len ? probe->insn.len : probe->code.len;
	uint8_t now[UBP_INSN_MAX];

	if (plant_site_at(space, vaddr) || (mem_view_peek(view, vaddr, now, len) == len &&
					    memcmp(now, probe->code.bytes, len) == 0))
		return false;
	return site_read_original(space, NULL, vaddr, now, len) == len &&
	       memcmp(now, probe->code.bytes, len) != 0;
}

static void forget_probes(struct site *site)
{
	while (site->n_probes)
		uprobe_put(site->probes[--site->n_probes]);
	while (site->n_exits)
		uprobe_put(site->exits[--site->n_exits].probe);
	site_leaf_free(site);
}

/* One whose library was closed and is mapped again where it was. */
static struct site *revive(struct plant_space *ps, uint64_t vaddr, const struct mapping *m)
{
	for (struct site **at = &ps->dead; *at; at = &(*at)->next_dead) {
		struct site *site = *at;

		if (site->vaddr != vaddr || site->dev != m->dev || site->ino != m->ino ||
		    site->foffset != m->foffset + (vaddr - m->start))
			continue;
		*at = site->next_dead;
		site->next_dead = NULL;
		forget_probes(site);
		site->watches = 0;
		return site;
	}
	return NULL;
}

/*
 * What a site stands behind is nothing that we write. What others do there must have the effect that
 * the file tells: a breakpoint, or what the kernel makes of a nop.
 */
static int check_lead(const struct space *space, pid_t tid, struct mem_view *view,
		      uint64_t vaddr, const struct site_origin *from, struct ubp_err *err)
{
	const struct lead *lead = from->lead;
	uint64_t start = vaddr - lead->len;
	struct displaced_insn whole = { .vaddr = start, .len = lead->len };
	struct file_code code = { .len = lead->len };
	uint8_t now[UBP_INSN_MAX];
	size_t got;

	if (mem_view_peek(view, start, now, lead->len) == lead->len &&
	    memcmp(now, lead->bytes, lead->len) == 0)
		return 0;
	memcpy(code.bytes, lead->bytes, lead->len);
	got = site_read_original(space, NULL, start, now, lead->len);
	if (got == lead->len && space->arch->lead.stands(lead, now))
		return 0;
	return check_bytes(space, &whole, now, got, from, &code, tid, err);
}

/* Decode what stands there, if it is what the file says. */
static int decode(const struct space *space, pid_t tid, struct mem_view *view,
		  const struct site_origin *from, struct site *site, struct ubp_err *err)
{
	const struct file_code *code = from->code;
	uint64_t vaddr = site->vaddr;
	uint8_t now[UBP_INSN_MAX];
	size_t got;
	int rc = from->lead ? check_lead(space, tid, view, vaddr, from, err) : 0;

	if (rc < 0)
		return rc;
	if (from->insn && mem_view_peek(view, vaddr, now, from->insn->len) == from->insn->len &&
	    memcmp(now, from->insn->bytes, from->insn->len) == 0) {
		site->insn = *from->insn;
		space->arch->insn.move(&site->insn, vaddr);
		return 0;
	}
	got = site_read_original(space, view, vaddr, now, sizeof(now));
	if (!got)
		return no_bytes(space, from, vaddr, tid, err);
	/* What the file says was checked before; this is about what memory says. */
	if (code)
		rc = check_bytes(space, &(struct displaced_insn){ .vaddr = vaddr, .len = 1 },
				 now, got, from, code, tid, err);
	if (rc == 0)
		rc = space->arch->insn.analyze(now, got, vaddr, &site->insn, err);
	if (rc == 0 && code)
		rc = check_bytes(space, &site->insn, now, got, from, code, tid, err);
	return rc;
}

int site_provide(struct space *space, pid_t tid, struct mem_view *view, uint64_t vaddr,
		 const struct mapping *m, const struct site_origin *from,
		 struct site **ret_site, struct ubp_err *err)
{
	struct plant_space *ps = space->plant;
	struct site *site = map_get(&ps->sites, vaddr);
	int rc;

	if (site) {
		*ret_site = site;
		return 0;
	}
	site = revive(ps, vaddr, m);
	if (!site)
		site = calloc(1, sizeof(*site));
	if (!site)
		return ubp_fail(err, ENOMEM, "out of memory");
	site->vaddr = vaddr;
	site->dev = m->dev;
	site->ino = m->ino;
	site->foffset = m->foffset + (vaddr - m->start);
	rc = decode(space, tid, view, from, site, err);
	if (rc == 0 && map_put(&ps->sites, vaddr, site) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc < 0) {
		site_bury(ps, site); /* one revived may be named by a return instance */
		return rc;
	}
	*ret_site = site;
	return 0;
}

bool site_is_mapped(const struct site *site, const struct mapping *m)
{
	return m && m->ino == site->ino && m->dev == site->dev &&
	       m->foffset + (site->vaddr - m->start) == site->foffset;
}

bool site_has_probe(const struct site *site, const struct uprobe *probe)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i] == probe || uprobe_latest(site->probes[i]) == probe)
			return true;
	return false;
}

/*
 * Those at one address fire in order of definition. Return probes do nothing there that anybody sees, and come last: so a detour can call
 * its function (arch/guard_hijack.h).
 */
static bool comes_behind(const struct uprobe *a, const struct uprobe *b)
{
	bool a_returns = a->kind == PROBE_RETURN, b_returns = b->kind == PROBE_RETURN;

	return a_returns == b_returns ? a->number > b->number : a_returns;
}

int site_add_probe(struct site *site, struct uprobe *probe)
{
	size_t at = site->n_probes;

	if (VEC_FIT(site->probes, site->n_probes + 1) < 0)
		return -ENOMEM;
	for (; at > 0 && comes_behind(site->probes[at - 1], probe); at--)
		site->probes[at] = site->probes[at - 1];
	site->probes[at] = uprobe_get(probe);
	site->n_probes++;
	return 0;
}

bool site_has_return(const struct site *site)
{
	for (size_t i = 0; i < site->n_probes && !site->run_up; i++)
		if (site->probes[i]->kind == PROBE_RETURN)
			return true;
	return false;
}

void site_drop_probe(struct site *site, const struct uprobe *probe)
{
	size_t kept = 0;

	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i] == probe)
			uprobe_put(site->probes[i]);
		else
			site->probes[kept++] = site->probes[i];
	site->n_probes = kept;
}

void site_bury(struct plant_space *ps, struct site *site)
{
	site->planted = false;
	site->is_patched = false;
	/* Who was in its detour came from code that is gone: the block is free. */
	if (site->jump && !site->jump->is_watch)
		spare_add_jump(ps, site->jump);
	jump_free_all(site);
	jump_forget_hop(ps, site);
	site->no_jump = NULL;
	site->next_dead = ps->dead;
	ps->dead = site;
	ps->n_buried++;
}

bool site_has_exit(const struct site *site, const struct uprobe *probe, uint64_t func_vaddr)
{
	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].func_vaddr == func_vaddr &&
		    (site->exits[i].probe == probe ||
		     uprobe_latest(site->exits[i].probe) == probe))
			return true;
	return false;
}

int site_add_exit(struct site *site, const struct site_exit *exit_)
{
	size_t at = site->n_exits;

	if (VEC_FIT(site->exits, site->n_exits + 1) < 0)
		return -ENOMEM;
	for (; at > 0 && site->exits[at - 1].probe->number > exit_->probe->number; at--)
		site->exits[at] = site->exits[at - 1];
	site->exits[at] = *exit_;
	uprobe_get(exit_->probe);
	site->n_exits++;
	return 0;
}

void site_drop_exits(struct site *site, const struct uprobe *probe, uint64_t func_vaddr)
{
	size_t kept = 0;

	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].probe != probe || site->exits[i].func_vaddr != func_vaddr)
			site->exits[kept++] = site->exits[i];
		else
			uprobe_put(site->exits[i].probe);
	site->n_exits = kept;
}

void site_free(struct site *site)
{
	if (site) {
		forget_probes(site);
		free(site->probes);
		free(site->exits);
		site_leaf_free(site);
		jump_free_all(site);
	}
	free(site);
}

void site_discard(struct plant_space *ps, struct site *site)
{
	const struct area *area = area_of(ps, site->slot);

	map_remove(&ps->sites, site->vaddr);
	if (area && *area_owner(area, site->slot) == site)
		*area_owner(area, site->slot) = NULL;
	site_bury(ps, site);
}

struct site **plant_sites_by_place(const struct plant_space *ps, size_t *ret_n)
{
	struct site **sites = malloc((ps->sites.n + 1) * sizeof(struct site *));
	struct sort_item *items = malloc((ps->sites.n + 1) * sizeof(*items));
	size_t pos = 0, n = 0;

	if (!sites || !items) {
		free(sites);
		sites = NULL;
	}
	while (sites && map_next(&ps->sites, &pos, &items[n].key, &items[n].value))
		n++;
	sort_items(items, n);
	for (size_t i = 0; i < n; i++)
		sites[i] = items[i].value;
	free(items);
	*ret_n = n;
	return sites;
}

/* The first number that none of its probes has. */
static unsigned numbers_of(const struct site *site)
{
	unsigned n = site->n_copied;

	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->number >= n)
			n = site->probes[i]->number + 1;
	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].probe->number >= n)
			n = site->exits[i].probe->number + 1;
	return n;
}

static struct site *copy_site(const struct site *site)
{
	struct site *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *site;
	copy->n_copied = numbers_of(site);
	copy->jump = copy->old_jumps = NULL;
	copy->leaf = NULL;
	copy->n_probes = copy->n_exits = 0;
	copy->probes = calloc(site->n_probes + 1, sizeof(struct uprobe *));
	copy->exits = calloc(site->n_exits + 1, sizeof(*copy->exits));
	if (!copy->probes || !copy->exits || jump_copy(site, copy) < 0 ||
	    site_leaf_copy(site, copy) < 0) {
		site_free(copy);
		return NULL;
	}
	for (; copy->n_exits < site->n_exits; copy->n_exits++) {
		copy->exits[copy->n_exits] = site->exits[copy->n_exits];
		uprobe_get(copy->exits[copy->n_exits].probe);
	}
	for (; copy->n_probes < site->n_probes; copy->n_probes++)
		copy->probes[copy->n_probes] = uprobe_get(site->probes[copy->n_probes]);
	return copy;
}

/* The slot it had before, or a new one in @area; the code for it. */
static int provide_slot(struct plant_space *ps, const struct space *space,
			struct mem_view *view, struct site *site, struct area **area,
			struct ubp_err *err)
{
	const struct ubp_arch *arch = space->arch;
	uint64_t slot = (uint64_t)(uintptr_t)map_get(&ps->slots, site->vaddr);
	uint8_t call[UBP_SIGACTION_LOOK];
	size_t len;

	if (slot) {
		*area = area_of(ps, slot);
		*area_owner(*area, slot) = site;
	} else {
		slot = area_take(*area, site);
	}
	if (!slot)
		return ubp_fail(err, ENOMEM, "the SSOL area is full");
	if (map_put(&ps->slots, site->vaddr, (void *)(uintptr_t)slot) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	site->slot = slot;
	site->patch_len = 0;
	if (!(site->watches & WATCH_SIGACTION))
		return arch->slot.build(&site->insn, slot, &site->code, err);
	site->patch_len = arch->hook.patch_len;
	len = site_read_original(space, view, site->vaddr, call, sizeof(call));
	if (len < site->insn.len)
		len = site->insn.len;
	memcpy(call, site->insn.bytes, site->insn.len);
	return arch->hook.build(call, len, site->vaddr, slot, ps->areas->vaddr, site->patch,
				&site->code, err);
}

/* No slot: the others are held while the original instruction is stepped. */
static int prepare_in_place(const struct space *space, pid_t tid, struct site *site,
			    struct ubp_err *err)
{
	struct plant_space *ps = space->plant;

	/* The kernel reads what it is to step, and would wait for it. */
	if (!mem_may_be_touched(&space->mem, tid, site->vaddr, site->insn.len))
		return ubp_fail(
			err, EPERM,
			"process %d: '%s' at 0x%lx would have to be stepped in place "
			"(--force), but its memory may not answer, as that of a stranger",
			(int)space->mem.file.pid, space->arch->insn.text(&site->insn).s,
			ul(site->vaddr));
	site->rung = SITE_IN_PLACE;
	guard_set_missing(ps);
	return 0;
}

int site_prepare(const struct plant *plant, struct space *space, pid_t tid,
		 struct mem_view *view, struct site *site, struct area *area,
		 struct ubp_err *err)
{
	const struct plant_space *ps = space->plant;
	int rc;

	site->rung = plant->opt.step && !site->watches && !site->insn.no_step ? SITE_STEPPED
									      : SITE_BOOSTED;
	if (!area ||
	    (plant->opt.force && area_is_full(area) && !map_get(&ps->slots, site->vaddr)))
		return prepare_in_place(space, tid, site, err);
	rc = provide_slot(space->plant, space, view, site, &area, err);
	/* A call of the kernel that no jump can leave stays as it is. */
	site->is_spared = rc == -ERANGE && !site_is_probed(site) &&
			  (site->patch_len || site->watches & WATCH_CALLS);
	if (site->is_spared)
		return 0;
	if (rc == -ERANGE && plant->opt.force)
		return prepare_in_place(space, tid, site, err);
	if (rc == -ERANGE)
		return ubp_fail(err, ERANGE,
				"process %d has no free memory near 0x%lx, where '%s' would "
				"have to be moved to (--force steps it in place: then killing "
				"ubp kills the process)",
				(int)tid, ul(site->vaddr),
				space->arch->insn.text(&site->insn).s);
	return rc;
}

int sites_copy(const struct part_copied *c)
{
	size_t pos = 0;
	uint64_t vaddr;
	void *value;

	while (map_next(&c->from->sites, &pos, NULL, &value)) {
		struct site *copy = copy_site(value);

		if (!copy || map_put(&c->to->sites, copy->vaddr, copy) < 0) {
			site_free(copy);
			return -ENOMEM;
		}
	}
	pos = 0;
	while (map_next(&c->from->slots, &pos, &vaddr, &value))
		if (map_put(&c->to->slots, vaddr, value) < 0)
			return -ENOMEM;
	c->to->list_version = c->from->list_version;
	c->to->changed_ns = c->from->changed_ns;
	return 0;
}

void sites_leave(struct part_left *l)
{
	site_unplant_all(l->ps, &l->undo, l->tid, false);
}

void sites_forget(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value))
		site_free(value);
	while (ps->dead) {
		struct site *next = ps->dead->next_dead;

		site_free(ps->dead);
		ps->dead = next;
	}
	map_free(&ps->sites);
	map_free(&ps->slots);
}
