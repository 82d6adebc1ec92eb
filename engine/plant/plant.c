/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/plant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/object/maps.h"
#include "engine/plant/page_edit.h"
#include "engine/trace/attach.h"
#include "engine/trace/seccomp.h"

/* From so many on it pays to write breakpoints by the page. */
#define MANY_SITES 64

/* One call of plant_update(). */
struct update {
	struct plant *plant;
	struct space *space;
	pid_t tid; /* a thread of it */
	struct tracer *tracer;
	struct tracee *t; /* that thread, held; NULL: plant_look_ahead() */
	struct ubp_regs at;
	struct maps maps;
	struct added *added; /* probes joined to sites by this call */
	size_t n_added;
	struct ubp_err *err;
	bool has_facts; /* .facts: what goes for all return probes of the process */
	struct return_facts facts;
	struct mem_view view;
	struct area *area; /* the last one found, for what lies in [lo, hi) */
	uint64_t lo, hi;
};

struct added {
	struct site *site;
	struct uprobe *probe; /* NULL: one of our own */
	uint64_t func_vaddr; /* of .probe, if it is the function's exit that was joined; or 0 */
	unsigned watches;
	bool is_new;     /* the site was made for it */
	bool is_written; /* the breakpoint was written for it */
};

/* What plant_look_ahead() has found. */
struct plant_ahead {
	const struct space *of;
	struct space space; /* a stand-in for it; its plant_space becomes the real one */
	struct update u;
};

struct plant_space *plant_space_get(struct space *space)
{
	if (!space->plant)
		space->plant = calloc(1, sizeof(struct plant_space));
	return space->plant;
}

/* Probe @p of plant->by_place, if it lies in @m. */
static struct uprobe *probe_in(const struct plant *plant, size_t p, const struct mapping *m)
{
	struct uprobe *probe = p < plant->n_probes ? plant->by_place[p] : NULL;

	return probe && m->ino == probe->ino && m->dev == probe->dev &&
			       probe->foffset >= m->foffset &&
			       probe->foffset - m->foffset < m->end - m->start
		       ? probe
		       : NULL;
}

bool plant_wants(const struct plant *plant, const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];

		if (m->exec && m->ino &&
		    probe_in(plant, plant_first_in(plant, m->dev, m->ino, m->foffset), m))
			return true;
	}
	return false;
}

static bool is_mapped_from(const struct site *site, const struct mapping *m)
{
	return m->ino == site->ino && m->dev == site->dev &&
	       m->foffset + (site->vaddr - m->start) == site->foffset;
}

/* Sites whose file is no longer mapped there: nothing of ours is left to undo. */
static void bury_unmapped(struct plant_space *ps, const struct maps *maps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;
		const struct mapping *m = maps_at(maps, site->vaddr);

		if (m && is_mapped_from(site, m))
			continue;
		map_remove(&ps->sites, site->vaddr);
		site_bury(ps, site);
		pos = 0;
	}
}

static int note_added(struct update *u, const struct added *added)
{
	struct added *bigger;

	if ((u->n_added & (u->n_added - 1)) == 0) {
		bigger = realloc(u->added, (u->n_added ? u->n_added * 2 : 1) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		u->added = bigger;
	}
	u->added[u->n_added++] = *added;
	return 0;
}

static bool is_joined(const struct site *site, const struct added *what)
{
	if (what->func_vaddr)
		return site_has_exit(site, what->probe, what->func_vaddr);
	return what->probe ? site_has_probe(site, what->probe)
			   : (site->watches & what->watches) == what->watches;
}

/* Have a site at @vaddr for @what: a probe, a function's exit (@is_jump), or a watch. */
static int join(struct update *u, const struct mapping *m, uint64_t vaddr, struct added what,
		const struct site_origin *from, bool is_jump, struct ubp_err *err)
{
	struct space *space = u->space;
	struct plant_space *ps = space->plant;
	struct site *site = map_get(&ps->sites, vaddr);
	int rc;

	what.is_new = !site;
	if (site && is_joined(site, &what))
		return 0;
	rc = site_provide(space, u->tid, &u->view, vaddr, m, from, &site, err);
	if (rc < 0)
		return rc;
	what.site = site;
	rc = note_added(u, &what);
	if (rc == 0 && what.func_vaddr)
		rc = site_add_exit(site,
				   &(struct site_exit){ what.probe, what.func_vaddr, is_jump });
	else if (rc == 0 && what.probe)
		rc = site_add_probe(site, what.probe);
	if (rc < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	what.watches &= ~site->watches; /* what was there before stays, whatever comes */
	u->added[u->n_added - 1].watches = what.watches;
	site->watches |= what.watches;
	return 0;
}

static int join_hook(void *ctx, const struct mapping *m, uint64_t vaddr, unsigned watches)
{
	struct update *u = ctx;

	return join(u, m, vaddr, (struct added){ .watches = watches },
		    &(struct site_origin){ 0 }, false, u->err);
}

static int join_entry(struct update *u, const struct mapping *m, uint64_t vaddr,
		      struct uprobe *probe, struct ubp_err *err)
{
	struct site_origin from = { &probe->code, &probe->insn, probe->what };

	return join(u, m, vaddr, (struct added){ .probe = probe }, &from, false, err);
}

/* All places where the function of a return probe is left; it starts at @func_vaddr. */
static int join_exits(struct update *u, struct uprobe *probe, uint64_t func_vaddr,
		      struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < probe->n_exits && rc == 0; i++) {
		const struct uprobe_exit *e = &probe->exits[i];
		uint64_t vaddr = func_vaddr + (e->foffset - probe->foffset);
		const struct mapping *m = maps_at(&u->maps, vaddr);

		if (!m || !m->exec || m->ino != probe->ino || m->dev != probe->dev)
			return ubp_fail(err, ENOTSUP,
					"%s: part of the function is not mapped in process %d",
					probe->what, (int)u->t->process->pid);
		rc = join(u, m, vaddr,
			  (struct added){ .probe = probe, .func_vaddr = func_vaddr },
			  &(struct site_origin){ .code = &e->code, .what = probe->what },
			  e->is_jump, err);
	}
	return rc;
}

/* Is the return of the function at @func_vaddr caught already, one way or the other? */
static bool has_return(const struct update *u, const struct uprobe *probe, uint64_t func_vaddr)
{
	const struct plant_space *ps = u->space->plant;
	const struct site *site = map_get(&ps->sites, func_vaddr);

	if (site && site_has_probe(site, probe))
		return true;
	for (size_t i = 0; i < probe->n_exits; i++) {
		site = map_get(&ps->sites,
			       func_vaddr + (probe->exits[i].foffset - probe->foffset));
		if (site && site_has_exit(site, probe, func_vaddr))
			return true;
	}
	return false;
}

/* How the process has it that this probe's returns are caught. */
static enum return_way way_of(struct update *u, struct uprobe *probe, const char **ret_why)
{
	struct return_facts facts;
	enum return_way way;

	if (!u->has_facts)
		hooks_return_facts(u->plant, u->tid, &u->maps, &u->facts);
	u->has_facts = true;
	facts = u->facts;
	facts.is_go = probe->facts.is_go;
	facts.hides_unwinder |= probe->facts.hides_unwinder;
	way = return_way_of(&facts, ret_why);
	if (way == RETURN_AT_RETS && probe->exits_due)
		u->plant->find_exits(u->plant->ctx, probe);
	return way;
}

static int join_return(struct update *u, const struct mapping *m, uint64_t vaddr,
		       struct uprobe *probe, struct ubp_err *err)
{
	const char *why;

	if (has_return(u, probe, vaddr))
		return 0;
	if (way_of(u, probe, &why) == RETURN_AT_RETS) {
		if (probe->program->needs_duration)
			return ubp_fail(
				err, ENOTSUP,
				"%s: $duration cannot be told in process %d: %s, so "
				"breakpoints on ret instructions are needed, where it is "
				"not known when a function was entered",
				probe->what, (int)u->t->process->pid, why);
		if (probe->n_exits)
			return join_exits(u, probe, vaddr, err);
		if (!u->plant->force)
			return ubp_fail(err, ENOTSUP,
					"%s: its return cannot be probed in process %d: %s, "
					"so breakpoints on ret instructions are needed, and %s",
					probe->what, (int)u->t->process->pid, why,
					probe->no_exits ? probe->no_exits : "it has none");
	}
	return join_entry(u, m, vaddr, probe, err);
}

/* Probe @probe, which lies in @m. */
static int join_probe(struct update *u, const struct mapping *m, struct uprobe *probe,
		      struct ubp_err *err)
{
	uint64_t vaddr = m->start + (probe->foffset - m->foffset);

	const char *why;

	if (!probe->is_return)
		return join_entry(u, m, vaddr, probe, err);
	if (u->t)
		return join_return(u, m, vaddr, probe, err);
	/* Where it stands is asked again when the process stands still. */
	(void)way_of(u, probe, &why);
	return 0;
}

/* The probes that this process should carry and does not yet. */
static int collect_probes(struct update *u, struct ubp_err *err)
{
	int rc = 0;

	u->view = (struct mem_view){ .mem = &u->space->mem };
	for (size_t i = 0; i < u->maps.n && rc == 0; i++) {
		const struct mapping *m = &u->maps.v[i];
		struct uprobe *probe;

		if (!m->exec || !m->ino)
			continue;
		for (size_t p = plant_first_in(u->plant, m->dev, m->ino, m->foffset);
		     rc == 0 && (probe = probe_in(u->plant, p, m)); p++) {
			rc = join_probe(u, m, probe, err);
			/* What can't be had now may be had later. */
			if (!u->t && rc != -ENOMEM)
				rc = 0;
		}
	}
	return rc;
}

/* What this process should carry and does not yet. Nothing is written. */
static int collect(struct update *u, struct ubp_err *err)
{
	enum seccomp_way way;
	struct ubp_err why;
	int rc = collect_probes(u, err);

	if (rc < 0)
		return rc;
	u->err = err;
	rc = hooks_each(u->plant, u->tid, &u->maps, join_hook, u);
	/* Without a guard there is nothing to keep. */
	if (rc == 0 && !plant_is_unguarded(u->space) && seccomp_check(u->t, &way, &why) == 0)
		rc = sigaction_each(u->plant, u->space->arch, u->tid, &u->maps, join_hook, u);
	return rc == -ENOMEM ? ubp_fail(err, ENOMEM, "out of memory") : rc;
}

static size_t count_new_in(const struct update *u, uint64_t lo, uint64_t hi)
{
	const struct plant_space *ps = u->space->plant;
	size_t n = 0;

	for (size_t i = 0; i < u->n_added; i++) {
		const struct site *site = u->added[i].site;

		if (u->added[i].is_new && !map_get(&ps->slots, site->vaddr) &&
		    site->vaddr >= lo && site->vaddr < hi)
			n++;
	}
	return n;
}

/* An area for the new sites of the object that @site is in. NULL: in place. */
static int find_area(struct update *u, const struct site *site, struct area **ret_area,
		     struct ubp_err *err)
{
	const struct mapping *m = maps_at(&u->maps, site->vaddr);
	uint64_t lo, hi;
	size_t n;
	int rc;

	if (u->area && site->vaddr >= u->lo && site->vaddr < u->hi) {
		*ret_area = u->area; /* made with room for all of them */
		return 0;
	}
	maps_file_extent(&u->maps, m, &lo, &hi);
	n = count_new_in(u, lo, hi);
	rc = area_provide(u->tracer, u->t, &u->at, &u->maps, lo, hi, n, ret_area, err);
	if (rc == -ERANGE)
		rc = area_provide(u->tracer, u->t, &u->at, &u->maps, 0, 0, n, ret_area, err);
	if (rc < 0 && rc != -ESRCH && u->plant->force) {
		((struct plant_space *)u->space->plant)->unguarded = true;
		/* It may not be made to map anything: what is mapped already has to do. */
		if (rc != -EACCES || slack_provide(u->t, &u->maps, lo, hi, ret_area, err) < 0)
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
	u->lo = lo;
	u->hi = hi;
	return rc;
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

		if (!is_last && (!u->added[i].is_new || !site->slot || site->is_spared))
			continue;
		if (!is_last)
			its = area_of(space->plant, site->slot);
		if (n && (is_last || its != area)) {
			rc = area_enter(space, u->t->tid, area, sites, n);
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

/* Slots for all new sites; still no breakpoint. */
static int prepare(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	struct plant_space *ps = space->plant;

	for (size_t i = 0; i < u->n_added; i++) {
		struct area *area = NULL;
		int rc = 0;

		if (!u->added[i].is_new)
			continue;
		area = area_of(
			ps, (uint64_t)(uintptr_t)map_get(&ps->slots, u->added[i].site->vaddr));
		if (!area)
			rc = find_area(u, u->added[i].site, &area, err);
		if (rc == 0)
			rc = site_prepare(u->plant, space, u->t->tid, u->added[i].site, area,
					  err);
		if (rc < 0)
			return rc;
	}
	return write_slots(u, err);
}

static bool hijacks(const struct plant *plant)
{
	for (size_t i = 0; i < plant->n_probes; i++)
		if (plant->probes[i]->is_return)
			return true;
	return false;
}

/* Does a jump to the guard stand there, and no breakpoint? */
static bool is_hook(const struct site *site)
{
	return site->patch_len && !site->is_spared && !site_is_probed(site);
}

static int plant_hook(const struct update *u, struct site *site, struct ubp_err *err)
{
	struct space *space = u->space;
	struct mem_view view = { .mem = &space->mem };
	int rc = site_plant(space, u->t->tid, site, err);

	return rc == 0 ? site_read_back(space, &view, site, err) : rc;
}

/* What keeps the target alive if we are killed: before the first breakpoint. */
static int protect(struct update *u, struct ubp_err *err)
{
	struct plant_space *ps = u->space->plant;
	bool was_guarded = u->t->process->is_guarded;
	unsigned n_execs = u->t->n_execs;
	pid_t tid = u->t->tid;
	int rc;

	if (!u->space->arch->guard || !ps->stub || !ps->sites.n)
		return 0;
	rc = guard_prepare(u->tracer, u->t, &u->at, err);
	/* First the jumps to the guard: from when it stands the program must not
	 * meet it, and not replace it. */
	for (size_t i = 0; i < u->n_added && rc == 0; i++)
		if (is_hook(u->added[i].site) && !u->added[i].site->planted)
			rc = plant_hook(u, u->added[i].site, err);
	if (rc == 0)
		rc = guard_install(u->tracer, u->t, &u->at, err);
	if (rc == 0 && hijacks(u->plant))
		rc = guard_provide_returns(u->tracer, u->t, &u->at, err);
	if (rc < 0 && rc != -ESRCH && u->plant->force) {
		ps->unguarded = true;
		return 0;
	}
	if (rc == 0 && !was_guarded)
		guard_open_masks(u->tracer, u->t, &u->maps);
	/* Others were stopped for that: one may have ended it by an exec. */
	if (rc == 0 &&
	    (map_get(&u->tracer->tracees, (uint64_t)tid) != u->t || u->t->n_execs != n_execs))
		return ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	return rc;
}

static void count_site(struct uprobe *probe, const struct site *site, bool is_exit)
{
	static const size_t at[] = {
		[SITE_BOOSTED] = offsetof(struct uprobe_stats, boosted),
		[SITE_STEPPED] = offsetof(struct uprobe_stats, stepped),
		[SITE_IN_PLACE] = offsetof(struct uprobe_stats, in_place),
	};
	uint32_t *rung = (uint32_t *)((char *)&probe->stats + at[site->rung]);

	__atomic_store_n(&probe->stats.sites, probe->stats.sites + 1, __ATOMIC_RELAXED);
	__atomic_store_n(rung, *rung + 1, __ATOMIC_RELAXED);
	if (!probe->is_return)
		return;
	rung = is_exit ? &probe->stats.at_rets : &probe->stats.hijacked;
	__atomic_store_n(rung, *rung + 1, __ATOMIC_RELAXED);
}

static bool wants_breakpoint(const struct site *site)
{
	return !site->is_spared &&
	       (!site->planted || (site->is_patched && site_is_probed(site)));
}

/*
 * The held thread is the only one that could run this memory: many breakpoints of a page
 * are one write. What does not come to stand is written by itself afterwards.
 */
static void write_pages(struct update *u)
{
	const struct ubp_arch *arch = u->space->arch;
	struct plant_space *ps = u->space->plant;
	struct page_edit edit = { .mem = &u->space->mem };

	if (u->space->refs != 1 || u->t->process->n_tracees != 1 || u->n_added < MANY_SITES)
		return;
	for (size_t i = 0; i < u->n_added; i++) {
		struct site *site = u->added[i].site;
		size_t n = arch->swbp_len;
		uint8_t *bytes;

		if (site->planted || !wants_breakpoint(site) || site->patch_len)
			continue;
		bytes = page_edit_at(&edit, site->vaddr, n);
		if (!bytes || memcmp(bytes, site->insn.bytes, n) != 0)
			continue;
		memcpy(bytes, arch->swbp, n);
		page_edit_changed(&edit);
		site->planted = true;
		ps->last_write = site->vaddr;
		u->added[i].is_written = true;
	}
	page_edit_end(&edit);
}

static int write_one_by_one(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	struct mem_view view = { .mem = &space->mem };
	struct ubp_err ignored;

	for (size_t i = 0; i < u->n_added; i++) {
		struct site *site = u->added[i].site;
		int rc;

		if (u->added[i].is_written ? site_read_back(space, &view, site, &ignored) == 0
					   : !wants_breakpoint(site))
			continue;
		rc = site_plant(space, u->t->tid, site, err);
		if (rc < 0)
			return rc;
		((struct plant_space *)space->plant)->last_write = site->vaddr;
		u->added[i].is_written = true;
	}
	return 0;
}

static int write_breakpoints(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	struct mem_view view = { .mem = &space->mem };
	int rc;

	write_pages(u);
	rc = write_one_by_one(u, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < u->n_added; i++) {
		rc = u->added[i].is_written
			     ? site_read_back(space, &view, u->added[i].site, err)
			     : 0;
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < u->n_added; i++)
		if (u->added[i].probe)
			count_site(u->added[i].probe, u->added[i].site,
				   u->added[i].func_vaddr != 0);
	rc = semaphore_update(u->plant, space, u->t->tid, &u->maps);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc,
				  "cannot increment a reference counter in process %d: %s",
				  (int)u->t->process->pid, strerror(-rc));
}

/* Everything this call added goes again. Threads may have hit it meanwhile: a site
 * that was planted stays known, without probes. */
static void roll_back(struct update *u)
{
	struct space *space = u->space;

	while (u->n_added) {
		struct added *a = &u->added[--u->n_added];

		if (a->func_vaddr)
			site_drop_exits(a->site, a->probe, a->func_vaddr);
		else if (a->probe)
			site_drop_probe(a->site, a->probe);
		else
			a->site->watches &= ~a->watches;
		if (!a->is_new)
			continue;
		if (a->site->planted) {
			site_unplant(space, u->tid, a->site);
			a->site->planted = false;
		} else {
			site_discard(space->plant, a->site);
		}
	}
}

static size_t count_probe_sites(const struct plant_space *ps)
{
	size_t n = 0, pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value))
		n += site_is_probed(value);
	return n;
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

		if (!m || site->vaddr < m->start || site->vaddr >= m->end)
			m = maps_at(&u->maps, site->vaddr);
		if (!m || !is_mapped_from(site, m) ||
		    mem_view_peek(&u->view, site->vaddr, now, n) != n ||
		    memcmp(now, site->insn.bytes, n) != 0)
			return false;
	}
	return true;
}

/* Begin with what plant_look_ahead() has found, if it was for this space. */
static void take_ahead(struct update *u)
{
	struct plant_ahead *ahead = u->plant->ahead;

	if (!ahead || ahead->of != u->space || u->space->plant)
		return;
	u->space->plant = ahead->space.plant;
	u->added = ahead->u.added;
	u->n_added = ahead->u.n_added;
	u->plant->ahead = NULL;
	free(ahead);
}

/* Up to date with what is mapped, in memory of ours. */
static int look(struct update *u, struct ubp_err *err)
{
	struct plant_space *ps = u->space->plant;
	int rc = maps_read(u->tid, &u->maps, err);

	if (rc == 0 && !ps->looked) {
		ps->looked = true;
		rc = leftover_adopt(u->tracer, u->t, &u->maps, &ps->n_leftovers, err);
	}
	if (rc < 0)
		return rc;
	if (!is_still_so(u))
		roll_back(u);
	if (!u->n_added)
		bury_unmapped(ps, &u->maps);
	return collect(u, err);
}

int plant_update(struct plant *plant, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, size_t *ret_n, struct ubp_err *err)
{
	struct update u = { .plant = plant,
			    .space = t->process->space,
			    .tid = t->tid,
			    .tracer = tracer,
			    .t = t };
	struct plant_space *ps;
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	int rc;

	take_ahead(&u);
	ps = plant_space_get(u.space);
	if (!ps)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (at)
		u.at = *at;
	rc = at ? 0 : ubp_host_get_regs(tid, &u.at);
	if (rc < 0)
		rc = ubp_fail(err, -rc, "thread %d has ended", (int)tid);
	if (rc == 0)
		rc = look(&u, err);
	if (rc == 0)
		rc = prepare(&u, err);
	if (rc == 0)
		rc = protect(&u, err);
	if (rc == 0)
		rc = write_breakpoints(&u, err);
	/* Killed meanwhile, by an exec perhaps: whatever failed, failed for that. */
	if (rc < 0 && rc != -ESRCH && map_get(&tracer->tracees, (uint64_t)tid) == t &&
	    ubp_host_get_regs(tid, &u.at) == -ESRCH)
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	/* After -ESRCH the thread, perhaps the whole space, is gone. */
	if (rc == -ESRCH &&
	    (map_get(&tracer->tracees, (uint64_t)tid) != t || t->n_execs != n_execs))
		u.n_added = 0;
	else if (rc < 0)
		roll_back(&u);
	else
		*ret_n = count_probe_sites(ps);
	free(u.added);
	maps_free(&u.maps);
	return rc;
}

static int pass_over(void *ctx, const struct mapping *m, uint64_t vaddr, enum site_watch watch)
{
	(void)ctx;
	(void)m;
	(void)vaddr;
	(void)watch;
	return 0;
}

void plant_forget_ahead(struct plant *plant)
{
	struct plant_ahead *ahead = plant->ahead;

	plant->ahead = NULL;
	if (!ahead)
		return;
	plant_forget(&ahead->space);
	free(ahead->u.added);
	free(ahead);
}

/* Sites as they will be, in a plant_space that is nobody's yet. */
static void collect_ahead(struct plant *plant, const struct space *space, pid_t tid,
			  const struct maps *maps)
{
	struct plant_ahead *ahead = calloc(1, sizeof(*ahead));
	struct ubp_err err;

	if (!ahead)
		return;
	plant->ahead = ahead;
	ahead->of = space;
	ahead->space = (struct space){ .mem = space->mem, .arch = space->arch };
	ahead->u = (struct update){
		.plant = plant, .space = &ahead->space, .tid = tid, .maps = *maps
	};
	if (!plant_space_get(&ahead->space) || collect_probes(&ahead->u, &err) < 0)
		plant_forget_ahead(plant);
	/* The first to write to these since the waker was born copies pages. */
	for (size_t i = 0; i < plant->n_probes; i++)
		(void)__atomic_fetch_add(&plant->probes[i]->stats.sites, 0, __ATOMIC_RELAXED);
}

void plant_look_ahead(struct plant *plant, const struct space *space, pid_t tid)
{
	struct ubp_err err;
	struct maps maps;

	plant_forget_ahead(plant);
	if (maps_read(tid, &maps, &err) == 0) {
		(void)hooks_each(plant, tid, &maps, pass_over, NULL);
		if (space->arch->guard)
			(void)sigaction_each(plant, space->arch, tid, &maps, pass_over, NULL);
		if (!space->plant)
			collect_ahead(plant, space, tid, &maps);
	}
	maps_free(&maps);
}
