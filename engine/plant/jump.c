/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/jump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "arch/leaf.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/event/ring.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/claims.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/hijack_room.h"
#include "engine/plant/hop.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/leaf.h"
#include "engine/plant/mirror.h"
#include "engine/plant/neighbour.h"
#include "engine/plant/pun.h"
#include "engine/plant/rings.h"
#include "engine/plant/run_up.h"
#include "engine/plant/scan.h"
#include "engine/plant/site.h"
#include "engine/plant/spare.h"
#include "engine/plant/watch.h"
#include "engine/plant/watched_windows.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/site_leaf.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"

/* See guess(). */
#define PROBE_GUESS  1024
#define RETURN_GUESS 1024 /* a return is recorded by code of its own */
#define OP_GUESS     256
#define STACK_GUESS  512
#define TALLY_GUESS  768 /* it counts in a table */
#define BELL_GUESS   256 /* it asks the tracer to come */

void jump_batch_free(struct jump_batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->n; i++)
		jump_free(batch->tries[i].jump);
	free(batch->tries);
	free(batch->areas);
	free(batch);
}

/* --- which sites ----------------------------------------------------------------- */

static const char *why_not(const struct plant_space *ps, const struct place *at)
{
	const struct site *site = at->sites[at->i];
	size_t len = 0;

	if (site->run_up)
		return run_up_why_not(ps, at);
	if (jump_is_at_ret(site))
		return at_ret_why_not(ps, at);
	if (!site->n_probes) {
		len = (size_t)site->window->len + site->window->padding;
		return len ? neighbour_at(ps, at, len) : site->window->why;
	}
	if (site->n_probes > UBP_DETOUR_PROBES)
		return "more probes than a detour has room for";
	if (site->watches && !bell_is_probed(site))
		return "ubp itself watches this place";
	if (site->n_exits && ends_at_ret_why_not(site))
		return ends_at_ret_why_not(site);
	for (size_t i = 0; i < site->n_probes; i++) {
		const struct uprobe *probe = site->probes[i];

		if (!probe->window.len)
			return probe->window.why ? probe->window.why : "not looked at";
		if (site_behind(site, probe) != uprobe_behind(probe))
			return "somebody else has a breakpoint on its first instruction";
		if (uprobe_behind(probe) != uprobe_behind(site->probes[0]))
			return "another probe stands on the instruction behind the probed one";
		len = probe->window.len + probe->window.padding;
	}
	return neighbour_at(ps, at, len);
}

void jump_tell_why(const struct site *site, const char *why)
{
	/* Whose returns its copy would tell are told of at their rets. */
	size_t n = site->leaf ? site->n_probes : jump_n_recorded(site);

	for (size_t i = 0; i < n; i++)
		__atomic_store_n(&jump_recorded(site, i)->stats.no_jump, why, __ATOMIC_RELAXED);
}

void jump_refuse(struct site *site, const char *why)
{
	site->no_jump = why;
	if (why)
		jump_tell_why(site, why);
}

const char *jump_keep_reason(struct plant *plant, const char *text)
{
	size_t i = 0;

	for (; i < sizeof(plant->reasons) / sizeof(plant->reasons[0]); i++) {
		if (!plant->reasons[i])
			plant->reasons[i] = strdup(text);
		if (plant->reasons[i] && strcmp(plant->reasons[i], text) == 0)
			return plant->reasons[i];
	}
	return "refused";
}

void jump_free_reasons(struct plant *plant)
{
	for (size_t i = 0; i < sizeof(plant->reasons) / sizeof(plant->reasons[0]); i++) {
		free(plant->reasons[i]);
		plant->reasons[i] = NULL;
	}
	while (plant->n_texts)
		free(plant->texts[--plant->n_texts]);
	free(plant->texts);
	plant->texts = NULL;
}

static bool is_candidate(const struct site *site)
{
	return (site->n_probes || jump_is_at_ret(site) ||
		(site->window && !site_is_probed(site))) &&
	       (site->planted || bell_is_call(site) || site->run_up) && !site->is_patched &&
	       !site->is_spared && site->rung == SITE_BOOSTED && !site->no_jump;
}

/* Has it to do with return addresses that are replaced? Not so at a ret. */
static bool needs_table(const struct site *site)
{
	return site_has_return(site) || scan_is_one(site);
}

/* What its block may take, before that is made; what is not needed stays untouched memory. */
static uint32_t guess(const struct plant *plant, const struct site *site)
{
	size_t n = jump_n_recorded(site), len = n ? 0 : PROBE_GUESS;
	const struct leaf *leaf = site_leaf(site);

	len += site_has_return(site) ? RETURN_GUESS : 0;
	/* Behind the copy it is noted where it leads. */
	len += leaf ? leaf->copy_max + 2U * leaf->n : 0;
	for (size_t p = 0; p < n; p++) {
		const struct uprobe *probe = jump_recorded(site, p);
		const struct tally_plan *tally = probe->at_hit.tally;

		len += PROBE_GUESS + (plant->opt.frames ? STACK_GUESS : 0) +
		       (tally && tally_has_table(tally) ? TALLY_GUESS : 0) +
		       (tally && !plant->opt.stay ? BELL_GUESS : 0) +
		       OP_GUESS * probe->program->n_ops;
	}
	return len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

/* Entries first: a ret that finds none may have a punned jump. */
static void choose_hops(const struct space *space, const struct place *at)
{
	struct mem_view view = { .mem = &space->mem };

	for (int at_rets = 0; at_rets < 2; at_rets++)
		for (size_t i = 0; i < at->n; i++) {
			struct site *site = at->sites[i];

			if (jump_is_at_ret(site) == at_rets && is_candidate(site))
				(void)hop_choose(space->plant, &view, site);
		}
}

/* In the order of their places. */
static int collect(const struct plant *plant, const struct space *space,
		   struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	/* See watch.c: a breakpoint first, until one of them is hit. But a process is let go of without that. */
	bool no_returns = !watch_begins_awake(ps) && watch_has_unwinders(ps) && plant->opt.stay;
	struct place at = { 0 };
	struct site **sites = plant_sites_by_place(ps, &at.n);

	at.sites = sites;
	batch->n_buried = ps->n_buried;
	batch->tries = calloc(at.n + 1, sizeof(*batch->tries));
	if (!sites || !batch->tries) {
		free(sites);
		return -ENOMEM;
	}
	choose_hops(space, &at);
	for (; at.i < at.n; at.i++) {
		struct site *site = sites[at.i];

		if (!is_candidate(site) || (no_returns && site_has_return(site)))
			continue;
		leaf_choose(ps, &at);
		jump_refuse(site, why_not(ps, &at));
		batch->has_stale |= jump_is_stale(site);
		if (site->no_jump || jump_is_stale(site))
			continue;
		/* Made before, and put off. */
		batch->tries[batch->n++] = (struct jump_try){ .vaddr = site->vaddr,
							      .site = site,
							      .jump = site->jump,
							      .needs_table = needs_table(site),
							      .needs_pun = pun_is_needed(site),
							      .guess = guess(plant, site) };
		site->jump = NULL;
	}
	free(sites);
	return 0;
}

/* Those that would have to replace return addresses, or to know what was, and can't. */
static void refuse_returns(struct jump_batch *batch, bool all, const char *why)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		if (all || try->needs_table)
			jump_refuse(try->site, why);
		else
			batch->tries[kept++] = *try;
	}
	batch->n = kept;
}

/* --- room for their detours --------------------------------------------------------- */

/* Where some of them may lie: an object with thousands may find no room for all in one piece. */
#define AREA_TRIES 4096
/* Others map what they need where we would. */
#define MAP_TRIES 8

/* @maps is as it is then: what is provided takes up room. */
static int provide_area(struct plant *plant, const struct held *held, struct maps *maps,
			struct batch_area *a, struct area_room room, struct ubp_err *err)
{
	int rc = -EEXIST;

	for (int i = 0; i < MAP_TRIES && rc == -EEXIST; i++) {
		struct ubp_err why;
		int read_rc;

		ubp_err_reset(err);
		rc = area_provide(plant, held, maps, a->lo, a->hi, room, &a->area, err);
		maps_free(maps);
		read_rc = maps_read(held->tid, maps, &why);
		if (read_rc < 0 && rc == 0)
			*err = why;
		rc = read_rc < 0 ? read_rc : rc;
	}
	return rc;
}

static void refuse_some(struct jump_try *tries, size_t n, const char *why)
{
	for (size_t i = 0; i < n; i++)
		if (!tries[i].jump)
			jump_refuse(tries[i].site, why);
}

/* What blocks there are that other detours have left, within reach of all from @lo to @hi. */
static struct spare_counts count_spares(const struct space *space, uint64_t lo, uint64_t hi)
{
	struct spare_counts counts = { { 0 } };

	for (const struct area *area = space->plant->areas; area; area = area->next)
		if (area_reaches(area, lo, hi, space->arch->near_max))
			spare_count(area, &counts);
	return counts;
}

/* For each object that has some of them, one area or several. */
static int provide_areas(struct plant *plant, const struct held *held, struct maps *maps,
			 struct jump_batch *batch, struct ubp_err *err)
{
	/* None of it is there any more where the process ends meanwhile. */
	bool *are_short = &held->t->process->space->plant->jump->spares_are_short;
	const bool takes_spares = !*are_short;
	size_t n_found = 0;
	int rc = 0;

	*are_short = false;
	batch->areas = calloc(batch->n + 1, sizeof(*batch->areas));
	if (!batch->areas)
		return ubp_fail(err, ENOMEM, "out of memory");
	batch->has_spares = false;
	for (size_t i = 0, first = 0; i < batch->n && rc == 0; first = i) {
		struct batch_area *a = &batch->areas[batch->n_areas++];
		const struct mapping *m = maps_at(maps, batch->tries[i].vaddr);
		struct spare_counts spares = { { 0 } };
		struct area_room room = { 0 };
		size_t len = 0;

		if (!m)
			return ubp_fail(err, ESRCH, "it is no longer mapped");
		maps_file_extent(maps, m, &a->lo, &a->hi);
		if (takes_spares)
			spares = count_spares(held->t->process->space, a->lo, a->hi);
		for (; i < batch->n && i - first < AREA_TRIES && batch->tries[i].vaddr < a->hi;
		     i++) {
			if (spare_cover(&spares, batch->tries[i].guess)) {
				batch->has_spares = true;
				continue;
			}
			len += batch->tries[i].guess;
			/* What scans has another entry, for its trap. */
			room.entries += 2;
		}
		a->until = i < batch->n ? batch->tries[i].vaddr : UINT64_MAX;
		room.slots = len / UBP_SLOT_SIZE;
		rc = provide_area(plant, held, maps, a, room, err);
		if (rc == -ERANGE) {
			/* All of the object is too large (.bss counts): what needs its data is refused then. */
			a->lo = batch->tries[first].vaddr;
			a->hi = batch->tries[i - 1].vaddr + UBP_WINDOW_MAX;
			rc = provide_area(plant, held, maps, a, room, err);
		}
		if (rc == 0) {
			a->area->promised.slots += room.slots;
			a->area->promised.entries += room.entries;
			n_found++;
		} else if (rc == -ERANGE) {
			/* The others may find some. */
			refuse_some(batch->tries + first, i - first,
				    jump_keep_reason(plant, err->text));
			a->area = NULL;
			rc = i == batch->n && !n_found ? rc : 0;
		}
	}
	return rc;
}

/* For debuggers that come when the process is let go of. */
static int provide_mirrors(const struct held *held, struct maps *maps,
			   const struct jump_batch *batch, struct ubp_err *err)
{
	uint64_t done = 0;
	int rc = 0;

	for (size_t i = 0; i < batch->n && rc == 0; i++) {
		const struct site *site = batch->tries[i].site;

		/* A bell, and a run-up, stands on an instruction that is as long as a jump; and who has returns caught is not let go of. */
		if (batch->tries[i].vaddr >= done && !bell_is_call(site) && !site->run_up &&
		    !site->n_exits)
			rc = mirror_provide(held, maps, site->vaddr, &done, err);
	}
	return rc;
}

/* Those that get none stay breakpoints. First those that may lead to the most places: they share areas. -ESRCH: the thread has ended. */
static int provide_puns(struct plant *plant, const struct held *held, struct maps *maps,
			struct jump_batch *batch, struct ubp_err *err)
{
	for (int n_fixed = 1; n_fixed <= UBP_PUN_FIXED; n_fixed++)
		for (size_t i = 0; i < batch->n; i++) {
			const struct jump_try *try = &batch->tries[i];
			const struct pun *pun = try->needs_pun ? jump_pun(try->site) : NULL;

			if (pun && pun->n_fixed == n_fixed &&
			    pun_provide(plant, held, maps, try->site) == -ESRCH)
				return ubp_fail(err, ESRCH, "thread %d has ended",
						(int)held->tid);
		}
	return 0;
}

/* They may become jumps then, in the next pass. */
static void wake_begins(const struct held *held)
{
	struct space *space = held->t->process->space;

	(void)watch_wake_begins(space, held->tid);
	space->plant->jump->due |= watch_take_woken(space->plant);
}

static void forget_promises(const struct plant_space *ps)
{
	for (struct area *area = ps->areas; area; area = area->next)
		area->promised = (struct area_room){ 0 };
}

/* False: the thread is gone. */
static bool provide_returns(const struct plant *plant, const struct held *held,
			    const struct maps *maps, struct jump_batch *batch)
{
	struct ubp_err err;
	size_t i = 0;

	/* Stacks may lead through addresses that are replaced later. */
	while (i < batch->n && !plant->opt.frames && !batch->tries[i].needs_table)
		i++;
	if (i < batch->n)
		wake_begins(held);
	if (i < batch->n && hijack_provide(held, maps, &err) < 0) {
		if (!held_lasts(held))
			return false;
		refuse_returns(
			batch, plant->opt.frames,
			plant->opt.frames
				? "there is no table of replaced return addresses, which "
				  "stacks need"
				: "its return address is replaced by the tracer");
	}
	return true;
}

static void give_up(struct plant_space *ps, const char *why)
{
	size_t pos = 0;
	void *value;

	ps->jump->failed = true;
	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_candidate(value))
			jump_refuse(value, why);
}

void jump_refuse_all(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!site->n_probes || !site->planted || site->is_patched || site->no_jump)
			continue;
		if (guard_no_room(ps))
			jump_refuse(site, guard_no_room(ps));
		else
			jump_refuse(site, site->rung == SITE_IN_PLACE
						  ? "there is no free memory near it"
						  : "nothing guards the process (--force)");
	}
}

struct jump_batch *jump_collect(struct plant *plant, const struct space *space)
{
	struct plant_space *ps = space->plant;
	struct jump_batch *batch;
	int rc;

	if (!ps)
		return NULL;
	ps->jump->due = false;
	if (!plant->opt.rings || ps->closing || ps->jump->failed || !guard_data(ps) ||
	    !ps->areas || !ps->areas->keys || guard_is_missing(ps) ||
	    !space->arch->detour.build)
		return NULL;
	if (!watched_windows_look(plant, space, space->mem.file.pid))
		jump_later(ps);
	batch = calloc(1, sizeof(*batch));
	rc = batch ? collect(plant, space, batch) : -ENOMEM;
	if (rc < 0)
		jump_later(ps);
	/* renew.h */
	if (rc == 0 && batch->has_stale)
		plant->renews = ps->jump->renew_due = true;
	if (rc < 0 || !batch->n) {
		jump_batch_free(batch);
		return NULL;
	}
	return batch;
}

/*
 * A library may have been unmapped since its loader was last seen. Its sites are forgotten when that is next so; what
 * is in the batch of them is no try.
 */
static void leave_unmapped(struct plant_space *ps, const struct maps *maps,
			   struct jump_batch *batch)
{
	static const char why[] = "its file is not mapped there any more";
	const struct mapping *m = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		if (!m || try->vaddr < m->start || try->vaddr >= m->end)
			m = maps_at(maps, try->vaddr);
		if (site_is_mapped(try->site, m)) {
			batch->tries[kept++] = *try;
			continue;
		}
		jump_tell_why(try->site, why);
		jump_put_off(ps, try, why);
		ps->jump->due = true;
	}
	batch->n = kept;
}

int jump_prepare(struct plant *plant, const struct held *held, struct jump_batch *batch,
		 struct ubp_err *err)
{
	struct held there = *held;
	struct maps maps = { 0 };
	struct ubp_regs regs;
	int rc;

	if (!there.at)
		there.at = &regs;
	if (!held->at && ubp_host_get_regs(held->tid, &regs) < 0)
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)held->tid);
	else
		rc = maps_read(held->tid, &maps, err);
	if (rc == 0)
		leave_unmapped(held->t->process->space->plant, &maps, batch);
	if (rc == 0)
		rc = rings_provide(plant, &there, &maps, err);
	if (rc == 0)
		rc = provide_areas(plant, &there, &maps, batch, err);
	if (rc == 0)
		rc = provide_puns(plant, &there, &maps, batch, err);
	if (rc == 0 && !plant->opt.stay)
		rc = provide_mirrors(&there, &maps, batch, err);
	if (held_lasts(held))
		forget_promises(held->t->process->space->plant);
	if (rc == 0)
		claims_provide(&there, plant->code_has);
	if (rc == 0 && !provide_returns(plant, &there, &maps, batch))
		rc = -ESRCH;
	maps_free(&maps);
	if (rc == 0)
		return 0;
	if (!held_lasts(held))
		return ubp_fail(err, ESRCH, "thread %d has ended", (int)held->tid);
	give_up(held->t->process->space->plant, jump_keep_reason(plant, err->text));
	return rc;
}
