/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a process should carry and does not yet: probes whose file it maps, the exits of
 * functions whose return address is not replaced, and what is watched for our own sake. Sites
 * are made for it, in memory of ours.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/hooks.h"
#include "engine/plant/plant.h"
#include "engine/plant/run_up.h"
#include "engine/plant/sigaction.h"
#include "engine/plant/site.h"
#include "engine/plant/update.h"
#include "engine/plant/watch.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/probe_list.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/tracer.h"

/* Probe @p of @list, if it lies in @m. */
static struct uprobe *probe_in(const struct probe_list *list, size_t p, const struct mapping *m)
{
	struct uprobe *probe = p < list->n ? list->v[p] : NULL;

	return probe && m->ino == probe->ino && m->dev == probe->dev &&
			       probe->foffset >= m->foffset &&
			       probe->foffset - m->foffset < m->end - m->start
		       ? probe
		       : NULL;
}

bool plant_wants(const struct probe_list *list, const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];

		if (m->exec && m->ino &&
		    probe_in(list, probe_list_first(list, m->dev, m->ino, m->foffset), m))
			return true;
	}
	return false;
}

static int note_added(struct update *u, const struct added *added)
{
	if (VEC_DOUBLE(u->added, u->n_added) < 0)
		return -ENOMEM;
	u->added[u->n_added++] = *added;
	return 0;
}

static bool is_joined(const struct site *site, const struct added *what)
{
	if (what->run_up || site->run_up)
		return what->run_up && site->run_up && site_has_probe(site, what->probe);
	if (what->func_vaddr)
		return site_has_exit(site, what->probe, what->func_vaddr);
	return what->probe ? site_has_probe(site, what->probe)
			   : (site->watches & what->watches) == what->watches;
}

/* Nothing of ours stood there for a while: is it still what it was? */
static bool is_outdated(struct update *u, const struct site *site)
{
	uint8_t now[UBP_INSN_MAX];
	size_t n = site->insn.len;

	return !site->planted && !site->rests && !site_is_probed(site) && !site->watches &&
	       (mem_view_peek(&u->view, site->vaddr, now, n) != n ||
		memcmp(now, site->insn.bytes, n) != 0);
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
	if (site && site->run_up && !what.run_up)
		run_up_give_way(site);
	if (site && is_outdated(u, site))
		return ubp_fail(err, EBUSY,
				"code at 0x%lx in process %d has changed since it was probed",
				(unsigned long)vaddr, (int)u->tid);
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
	if (what.run_up)
		site->run_up = what.run_up;
	what.watches &= ~site->watches; /* what was there before stays, whatever comes */
	u->added[u->n_added - 1].watches = what.watches;
	site->watches |= what.watches;
	watch_decide(ps, site);
	return 0;
}

static int join_hook(void *ctx, const struct mapping *m, uint64_t vaddr, unsigned watches)
{
	struct update *u = ctx;
	int rc = join(u, m, vaddr, (struct added){ .watches = watches },
		      &(struct site_origin){ 0 }, false, u->err);

	/* What is not to be had there is no reason to probe nothing. */
	if (rc < 0 && rc != -ENOMEM && watches & (WATCH_CALLS | WATCH_ASKS) &&
	    !(watches & WATCH_LOADER)) {
		ubp_err_reset(u->err);
		rc = 0;
	}
	return rc;
}

/* Is it planted behind its lead, though it is one that stands at it elsewhere? */
static bool is_behind(const struct update *u, uint64_t vaddr, const struct uprobe *probe)
{
	const struct plant_space *ps = u->space->plant;
	const struct site *site = map_get(&ps->sites, vaddr + probe->window.lead.len);

	return probe->window.lead.len && site && site_has_probe(site, probe);
}

/*
 * How far behind its place it is to be planted. Where a uprobe of the kernel's or another tracer's
 * breakpoint stands on the first instruction, behind that, if it can be.
 */
static unsigned behind(struct update *u, uint64_t vaddr, struct uprobe *probe)
{
	const struct uprobe_window *w = &probe->window;
	const struct plant_space *ps = u->space->plant;
	const struct site *site = w->lead.len ? map_get(&ps->sites, vaddr + w->lead.len) : NULL;

	/* Those that are there were moved to their first instruction (first.c). */
	if (site && site->is_moved)
		return 0;
	if (w->is_behind || is_behind(u, vaddr, probe))
		return w->lead.len;
	if (!site_is_taken(u->space, &u->view, vaddr, probe))
		return 0;
	if (w->lead_due)
		u->plant->opt.find_lead(u->plant->opt.defs, probe);
	return w->lead.len;
}

static int join_entry(struct update *u, const struct mapping *m, uint64_t vaddr,
		      struct uprobe *probe, struct ubp_err *err)
{
	unsigned so_far = behind(u, vaddr, probe);
	struct site_origin from = { .code = &probe->code,
				    .insn = &probe->insn,
				    .what = probe->what };
	const struct uprobe_window *w = &probe->window;

	if (so_far)
		from = (struct site_origin){ &w->code, &w->insn, &w->lead, probe->what };
	vaddr += so_far;
	if (vaddr >= m->end)
		m = maps_at(&u->maps, vaddr);
	if (!m || !m->exec || m->ino != probe->ino || m->dev != probe->dev)
		return ubp_fail(err, ENOTSUP, "%s: it is not mapped whole in process %d",
				probe->what, (int)u->tid);
	return join(u, m, vaddr, (struct added){ .probe = probe }, &from, false, err);
}

/* Beside the ret that the function at @func_vaddr is left by. Without it, that is a breakpoint. */
static int join_run_up(struct update *u, const struct mapping *m, uint64_t vaddr,
		       struct uprobe *probe, const struct uprobe_exit *e, struct ubp_err *err)
{
	const struct plant_space *ps = u->space->plant;
	const struct site *ret = map_get(&ps->sites, vaddr);
	int rc;

	/* With one at which a handler runs the ret stays a breakpoint, so it is no use to the others. */
	if (probe->at_hit.handler.is_there || !e->run_up || e->jump_due ||
	    vaddr - m->start < e->run_up || !ret || !run_up_fits(u->space, &u->view, ret, e))
		return 0;
	rc = join(u, m, vaddr - e->run_up,
		  (struct added){ .probe = probe, .run_up = e->run_up },
		  &(struct site_origin){ .what = probe->what }, false, err);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	ubp_err_reset(err);
	return 0;
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
					probe->what, (int)u->held.t->process->pid);
		rc = join(u, m, vaddr,
			  (struct added){ .probe = probe, .func_vaddr = func_vaddr },
			  &(struct site_origin){ .code = &e->code, .what = probe->what },
			  e->is_jump, err);
		if (rc == 0)
			rc = join_run_up(u, m, vaddr, probe, e, err);
	}
	return rc;
}

/* Is the return of the function at @func_vaddr caught already, one way or the other? */
static bool has_return(const struct update *u, const struct uprobe *probe, uint64_t func_vaddr)
{
	const struct plant_space *ps = u->space->plant;
	const struct site *site = map_get(&ps->sites, func_vaddr);

	if ((site && site_has_probe(site, probe)) || is_behind(u, func_vaddr, probe))
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
	enum seccomp_way calls;
	struct ubp_err ignored;

	if (!u->has_facts) {
		hooks_return_facts(u->plant, &u->space->cost, u->tid, &u->maps, &u->facts);
		u->facts.cannot_sign = u->held.t && u->space->arch->stub.sign &&
				       seccomp_check(u->held.t, &calls, &ignored) < 0;
	}
	u->has_facts = true;
	facts = u->facts;
	facts.is_go = probe->facts.is_go;
	facts.takes_return = probe->facts.takes_return;
	facts.uses_return = probe->facts.uses_return;
	facts.hides_unwinder |= probe->facts.hides_unwinder;
	facts.walks_stacks = probe->facts.walks_stacks;
	way = return_way_of(&facts, ret_why);
	if (way == RETURN_AT_RETS && probe->exits_due)
		u->plant->opt.find_exits(probe);
	if (way == RETURN_AT_RETS && run_ups_are_wanted(u->plant, u->space))
		u->plant->opt.find_exit_jumps(probe);
	return way;
}

static int join_return(struct update *u, const struct mapping *m, uint64_t vaddr,
		       struct uprobe *probe, struct ubp_err *err)
{
	const char *why;

	if (has_return(u, probe, vaddr))
		return 0;
	if (way_of(u, probe, &why) == RETURN_AT_RETS) {
		if (probe->program->needs_duration || probe->at_hit.entry)
			return ubp_fail(
				err, ENOTSUP,
				"%s: %s cannot be told in process %d: %s, so "
				"breakpoints on ret instructions are needed, where it is "
				"not known %s a function was entered",
				probe->what, probe->at_hit.entry ? "entry()" : "$duration",
				(int)u->held.t->process->pid, why,
				probe->at_hit.entry ? "with what" : "when");
		if (probe->n_exits)
			return join_exits(u, probe, vaddr, err);
		if (!u->plant->opt.force)
			return ubp_fail(err, ENOTSUP,
					"%s: its return cannot be probed in process %d: %s, "
					"so breakpoints on ret instructions are needed, and %s",
					probe->what, (int)u->held.t->process->pid, why,
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

	if (probe->kind != PROBE_RETURN)
		return join_entry(u, m, vaddr, probe, err);
	if (u->held.t)
		return join_return(u, m, vaddr, probe, err);
	/* Where it stands is asked again when the process stands still. */
	(void)way_of(u, probe, &why);
	return 0;
}

int update_collect_probes(struct update *u, struct ubp_err *err)
{
	const struct probe_list *list = probe_list(u->plant);
	int rc = 0;

	u->view = (struct mem_view){ .mem = &u->space->mem };
	for (size_t i = 0; i < u->maps.n && rc == 0; i++) {
		const struct mapping *m = &u->maps.v[i];
		struct uprobe *probe;

		if (!m->exec || !m->ino)
			continue;
		for (size_t p = probe_list_first(list, m->dev, m->ino, m->foffset);
		     rc == 0 && (probe = probe_in(list, p, m)); p++) {
			/* A file of another kind is data there, or code that it runs by a
			 * far jump. */
			if (probe->arch == u->space->arch)
				rc = join_probe(u, m, probe, err);
			/* What can't be had now may be had later. */
			u->has_passed_over |= rc < 0;
			if (!u->held.t && rc != -ENOMEM)
				rc = 0;
		}
	}
	return rc;
}

/* Are there return addresses that a killed tracer replaced? Without a return probe, too, unwinders may
 * meet them. */
static bool has_returns(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return returns_n(ps) || return_ops(space)->keeps_hijacks(ps);
}

static int expect_hook(void *ctx, const struct mapping *m, uint64_t vaddr, unsigned watches)
{
	const struct update *u = ctx;

	(void)m;
	(void)watches;
	mem_expect(&u->space->mem, vaddr);
	return 0;
}

static int each_hook(struct update *u, int (*each)(void *ctx, const struct mapping *m,
						   uint64_t vaddr, unsigned watches))
{
	enum seccomp_way way;
	struct ubp_err why;
	struct file_cost *cost = &u->space->cost;
	int rc = hooks_each(u->plant, cost, u->tid, &u->maps, has_returns(u->space), each, u);

	/* Without a guard there is nothing to keep. */
	if (rc == 0 && !plant_is_unguarded(u->space) &&
	    seccomp_check(u->held.t, &way, &why) == 0)
		rc = sigaction_each(u->plant, u->space->arch, cost, u->tid, &u->maps, each, u);
	return rc;
}

uint64_t update_sum(const struct maps *maps)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		const uint64_t words[] = {
			m->start, m->end, m->foffset, m->dev, m->ino, m->exec
		};

		for (size_t k = 0; m->ino && k < sizeof(words) / sizeof(words[0]); k++)
			sum = (sum ^ words[k] ^ sum >> 29) * 0x9e3779b97f4a7c15;
	}
	return sum ? sum : 1;
}

/* Is what was found while all ran all that there is? Of return probes it is asked when the process stands still. */
static bool is_known(const struct update *u)
{
	return u->n_added && !u->has_passed_over && !probe_list(u->plant)->has_returns &&
	       u->seen == update_sum(&u->maps);
}

int update_collect(struct update *u, struct ubp_err *err)
{
	int rc;

	u->err = err;
	/* What it finds out is known from then on. */
	if (!mem_is_sure(&u->space->mem, u->tid))
		(void)each_hook(u, expect_hook);
	rc = u->part == UPDATE_GUARD || is_known(u) ? 0 : update_collect_probes(u, err);
	if (rc < 0)
		return rc;
	rc = each_hook(u, join_hook);
	if (rc == -EINTR)
		return tracer_give_up(err);
	/* Also where that was found by way of something else. */
	if (rc != -ENOMEM && u->space->cost.is_late)
		return ubp_fail(err, ETIME,
				"looking through the files that process %d executes takes "
				"longer than %u ms",
				(int)u->held.t->process->pid,
				(unsigned)(FILE_COST_LIMIT_NS / 1000000));
	return rc == -ENOMEM ? ubp_fail(err, ENOMEM, "out of memory") : rc;
}
