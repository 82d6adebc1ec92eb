/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Planting in one process: slots and areas for what was collected, the guard, then the
 * breakpoints; all of it, or nothing.
 */

#include "engine/plant/plant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/area_in_file.h"
#include "engine/plant/cave.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/jump_make_way.h"
#include "engine/plant/leftover.h"
#include "engine/plant/renew.h"
#include "engine/plant/site.h"
#include "engine/plant/site_counts.h"
#include "engine/plant/update.h"
#include "engine/returns/returns.h"
#include "engine/space/probe_list.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

#define TRIES 8

/* Sites whose file is no longer mapped there: nothing of ours is left to undo. */
static void bury_unmapped(struct plant_space *ps, const struct maps *maps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;
		const struct mapping *m = maps_at(maps, site->vaddr);

		if (site_is_mapped(site, m))
			continue;
		map_remove(&ps->sites, site->vaddr);
		ps->forgot |= site->planted;
		site_bury(ps, site);
		pos = 0;
	}
}

/* Does a jump to the guard stand there, and no breakpoint? */
static bool is_hook(const struct site *site)
{
	return site->patch_len && !site->is_spared && !site_is_probed(site);
}

/*
 * The jumps to the guard that can be written at once, or the others: each of these is a breakpoint for a moment. Then it is seen that they
 * stand, by the page.
 */
static int plant_hooks(const struct update *u, bool at_once, struct ubp_err *err)
{
	struct space *space = u->space;
	struct mem_view view = { .mem = &space->mem };
	struct site **sites = malloc((u->n_added + 1) * sizeof(struct site *));
	size_t n = 0;
	int rc;

	if (!sites)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < u->n_added; i++) {
		added_fetch_ahead(u->added, u->n_added, i);
		if (is_hook(u->added[i].site) && !u->added[i].site->planted &&
		    site_is_at_once(space, u->added[i].site) == at_once)
			sites[n++] = u->added[i].site;
	}
	rc = n ? site_plant_all(space, u->tid, sites, n, err) : 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = site_read_back(space, &view, sites[i], err);
	free(sites);
	return rc;
}

/* What keeps the target alive if we are killed: before the first breakpoint. */
static int protect(struct update *u, struct ubp_err *err)
{
	struct plant_space *ps = u->space->plant;
	bool was_guarded = u->held.t->process->probes->is_guarded;
	int rc;

	if (!u->space->arch->guard.code || !ps->stub ||
	    (!ps->sites.n && u->part != UPDATE_GUARD))
		return 0;
	rc = guard_prepare(&u->held, err);
	/* Some of what comes next are breakpoints for a moment, and one that is hidden has no guard. */
	if (rc == 0 && u->is_attaching)
		rc = sharers_check_hidden(u->space, err);
	/* First the jumps to the guard: from when it stands the program must not
	 * meet it, and not replace it. */
	if (rc == 0)
		rc = plant_hooks(u, true, err);
	if (rc == 0)
		rc = u->is_attaching ? sharers_guard(u, err) : guard_install(&u->held, err);
	if (rc == 0)
		rc = plant_hooks(u, false, err);
	if (rc == 0)
		guard_set_settled(ps);
	if (rc == 0 && probe_list(u->plant)->has_returns)
		rc = guard_provide_returns(&u->held, err);
	if (rc < 0 && rc != -ESRCH && rc != -EINPROGRESS && u->plant->opt.force) {
		guard_set_missing(ps);
		(void)returns_set_trap(u->space, u->tid, true);
		return 0;
	}
	if (rc == 0 && u->is_attaching)
		rc = sharers_check_hidden(u->space, err);
	if (rc == 0 && !was_guarded)
		guard_open_masks(&u->held, &u->maps);
	/* Others were stopped for that: one may have ended it by an exec. */
	if (rc == 0 && !held_lasts(&u->held))
		return ubp_fail(err, ESRCH, "thread %d has ended", (int)u->tid);
	return rc;
}

/* It all stands. */
static void note_done(const struct update *u)
{
	unsigned version = probe_list(u->plant)->version;
	bool any = false, is_change = version > 1;

	for (size_t i = 0; i < u->n_added; i++) {
		const struct added *a = &u->added[i];

		added_fetch_ahead(u->added, u->n_added, i);
		if (i + 8 < u->n_added && u->added[i + 8].probe)
			uprobe_fetch_ahead(u->added[i + 8].probe);
		any |= a->is_written;
		if (a->probe && !a->run_up)
			count_site(a->site, a->probe, a->func_vaddr != 0);
		/* Or one is just being made, for those that were there. */
		if (jump_is_stale(a->site) || (a->probe && !a->is_new && is_change))
			renew_due(u->plant, u->space->plant);
		if (a->func_vaddr && a->probe && a->probe->at_hit.leaf)
			renew_exit_came(u->plant, u->space->plant);
	}
	if (any)
		area_note_change(u->space, u->tid);
	if (u->part != UPDATE_PIECE)
		u->space->plant->list_version = version;
}

/* What can't be taken out now will be at the end. */
static void take_out(const struct update *u, struct site *site)
{
	site->planted = site_unplant(u->space, u->tid, site) < 0;
	u->space->plant->forgot = true;
	area_note_change(u->space, u->tid);
}

/* Everything this call added goes again. Threads may have hit it meanwhile: a site
 * that was planted stays known, without probes. */
static void roll_back(struct update *u)
{
	struct space *space = u->space;

	while (u->n_added) {
		struct added *a = &u->added[--u->n_added];

		if (update_is_buried(u, a->site))
			continue;
		/* Who has the guard needs the jumps to it. */
		if (is_hook(a->site) && a->site->planted)
			continue;
		if (a->func_vaddr)
			site_drop_exits(a->site, a->probe, a->func_vaddr);
		else if (a->probe)
			site_drop_probe(a->site, a->probe);
		else
			a->site->watches &= ~a->watches;
		/* One that was there before may have stood empty. */
		if (a->site->planted &&
		    (a->is_new ||
		     (a->is_written && !site_is_probed(a->site) && !a->site->watches)))
			take_out(u, a->site);
		else if (a->is_new)
			site_discard(space->plant, a->site);
	}
}

/* What was looked up while the process ran is still so? */
static bool is_still_so(struct update *u)
{
	const struct mapping *m = NULL;
	uint8_t now[UBP_INSN_MAX];

	u->view = (struct mem_view){ .mem = &u->space->mem };
	for (size_t i = 0; i < u->n_added; i++) {
		const struct site *site = u->added[i].site;
		size_t n = site->insn.len;

		added_fetch_ahead(u->added, u->n_added, i);
		if (!m || site->vaddr < m->start || site->vaddr >= m->end)
			m = maps_at(&u->maps, site->vaddr);
		if (!site_is_mapped(site, m) ||
		    mem_view_peek(&u->view, site->vaddr, now, n) != n ||
		    memcmp(now, site->insn.bytes, n) != 0)
			return false;
	}
	return true;
}

/* Up to date with what is mapped, in memory of ours. */
static int look(struct update *u, struct ubp_err *err)
{
	struct plant_space *ps = u->space->plant;
	int rc = maps_read(u->tid, &u->maps, err);

	file_cost_renew(&u->space->cost);
	if (rc == 0)
		rc = cave_provide_frames(u->plant, u->held.t, &u->maps, &u->at, err);
	if (rc == 0 && !guard_has_looked(ps)) {
		unsigned n = 0;

		guard_note_look(ps);
		rc = leftover_adopt(&u->held, &u->maps, &n, err);
		guard_note_found(ps, (struct guard_found){ .n_breakpoints = n });
		ps->forgot |= n > 0;
		/* It may have gone on, out of the guard. */
		if (rc == 0 && !u->is_stopped_at)
			rc = ubp_host_get_regs(u->tid, &u->at);
	}
	if (rc < 0)
		return rc;
	if (!is_still_so(u) || (u->part >= UPDATE_PIECE && u->seen != update_sum(&u->maps))) {
		roll_back(u);
		update_drop_ahead(u);
	}
	if (!u->n_added)
		bury_unmapped(ps, &u->maps);
	return update_collect(u, err);
}

/* Was something unmapped meanwhile that is probed, or was about to be? */
static bool is_outdated(const struct update *u)
{
	struct ubp_err ignored;
	struct maps maps;
	bool is_known = maps_read(u->tid, &maps, &ignored) == 0;
	bool outdated = is_known && update_sum(&maps) != update_sum(&u->maps);

	for (size_t i = 0; i < u->n_added && is_known && !outdated; i++) {
		const struct mapping *m = maps_at(&maps, u->added[i].site->vaddr);

		outdated = !site_is_mapped(u->added[i].site, m) ||
			   update_is_buried(u, u->added[i].site);
	}
	maps_free(&maps);
	return outdated;
}

static int attempt(struct update *u, struct ubp_err *err)
{
	int rc = look(u, err);

	if (rc == 0 && u->part == UPDATE_GUARD)
		rc = update_provide_ahead(u, err);
	u->n_buried = u->space->plant->n_buried;
	if (rc == 0)
		rc = update_prepare(u, err);
	if (rc == 0)
		rc = protect(u, err);
	if (rc == 0 && u->part == UPDATE_GUARD)
		rc = ubp_fail(err, EINPROGRESS, "its places come next");
	if (rc == 0)
		rc = jump_make_way(u, err);
	if (rc == 0)
		rc = update_write(u, err);
	if (rc == 0)
		note_done(u);
	return rc;
}

/* A thread of the process, if it has not executed another program; 0: there is none. */
static pid_t thread_in(const struct tracer *tracer, const struct space *space)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		const struct process *p = value;

		if (p->space == space && p->tracees)
			return p->tracees->tid;
	}
	return 0;
}

/* What was added goes again, by another thread if the one that was held has ended; with the last one's end it is gone. */
static void undo(struct update *u)
{
	if (!held_lasts(&u->held))
		u->tid = thread_in(u->held.tracer, u->space);
	if (u->tid)
		roll_back(u);
}

int plant_update(struct plant *plant, const struct held *held, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct update u = {
		.plant = plant, .space = t->process->space, .tid = t->tid, .held = *held
	};
	struct plant_space *ps;
	pid_t tid = t->tid;
	int rc;

	u.held.at = &u.at;
	space_keep(u.space); /* whoever ends meanwhile */
	/* What others stop for meanwhile is no attaching. */
	u.is_attaching = plant->is_attaching;
	u.in_pieces = plant->in_pieces && u.is_attaching;
	plant->is_attaching = plant->in_pieces = false;
	update_take_ahead(&u);
	ps = plant_space_get(u.space);
	if (!ps) {
		space_put(held->tracer, u.space);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	u.is_stopped_at = held->at;
	if (held->at)
		u.at = *held->at;
	rc = held->at ? 0 : ubp_host_get_regs(tid, &u.at);
	if (rc < 0)
		rc = ubp_fail(err, -rc, "thread %d has ended", (int)tid);
	if (rc == 0)
		rc = attempt(&u, err);
	/* Other threads may close libraries while we look, and open them again, or map what they need where we would. */
	for (int i = 0; i < TRIES && rc < 0 && rc != -ESRCH && rc != -EINPROGRESS &&
			(rc == -EEXIST || rc == -EFAULT || is_outdated(&u));
	     i++) {
		roll_back(&u);
		update_drop_ahead(&u);
		maps_free(&u.maps);
		ubp_err_reset(err);
		rc = attempt(&u, err);
	}
	/* Killed meanwhile, by an exec perhaps: whatever failed, failed for that. */
	if (rc < 0 && rc != -ESRCH && held_lasts(held) &&
	    ubp_host_get_regs(tid, &u.at) == -ESRCH)
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	if (rc < 0 && rc != -EINPROGRESS)
		update_drop_ahead(&u);
	if (rc < 0)
		undo(&u);
	else if (u.part == UPDATE_PIECE)
		rc = ubp_fail(err, EINPROGRESS, "more places come next");
	free(u.added);
	maps_free(&u.maps);
	space_put(held->tracer, u.space);
	return rc;
}

bool plant_lacks(const struct plant *plant, const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return !ps || ps->list_version != probe_list(plant)->version;
}

void plant_tried(const struct plant *plant, struct space *space)
{
	struct plant_space *ps = plant_space_get(space);

	if (ps)
		ps->list_version = probe_list(plant)->version;
}
