/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/probes_at.h"

#include <stdlib.h>

#include "engine/hit/entry_values.h"
#include "engine/hit/record.h"
#include "engine/plant/upgrade.h"
#include "engine/returns/entry.h"
#include "engine/returns/ops.h"
#include "engine/space/probe_list.h"
#include "engine/space/space.h"
#include "engine/trace/process.h"

/* As it was in front of the lead that the site stands behind, for one that is there. */
static const struct ubp_regs *regs_before(const struct site *site, const struct uprobe *probe,
					  const struct ubp_regs *regs, struct ubp_regs *before)
{
	if (!site_behind(site, probe))
		return regs;
	*before = *regs;
	lead_undo(probe->arch, &probe->window.lead, site_probed(site, probe), before);
	return before;
}

/* The return addresses of all return probes. */
static void entry_return(struct hit *hit, struct moment *m, struct site *site,
			 const struct uprobe *probe, struct ubp_regs *regs)
{
	struct return_entry entry = {
		.site = site,
		.entered_ns = moment_mono_ns(hit, m),
		.n_numbers = probe_list(hit->plant)->n_numbers,
	};
	struct ubp_regs before;
	const struct ubp_regs *seen = regs_before(site, probe, regs, &before);

	m->regs = seen;
	entry.kept = entry_values_keep(hit, m, site);
	m->regs = regs;
	return_hijack(hit->plant, m->t, &entry, seen == regs ? regs : &before);
	if (seen != regs)
		return_ops(m->t->process->space)->copy(probe->arch, regs, &before);
	free(entry.kept);
}

static void entry_probes(struct hit *hit, struct moment *m, struct site *site,
			 struct ubp_regs *regs)
{
	const struct hit_change *change = m->change;
	struct space *space = m->t->process->space;
	const struct uprobe *returning = NULL;

	for (size_t i = 0; i < site->n_probes; i++) {
		struct uprobe *probe = site->probes[i];
		struct ubp_regs before;

		if (probe->kind == PROBE_RETURN) {
			returning = uprobe_is_on(probe) ? probe : returning;
			continue;
		}
		m->regs = regs_before(site, probe, regs, &before);
		record_hit(hit, m, probe, site_probed(site, probe), 0);
		m->regs = regs;
	}
	if (returning && !change->skips)
		entry_return(hit, m, site, returning, regs);
	upgrade_returns(hit->plant, hit->tracer, space);
}

/*
 * About to leave functions whose returns are caught here: registers as the caller
 * will find them.
 */
static void exit_probes(struct hit *hit, const struct moment *m, const struct site *site)
{
	const struct ubp_arch *arch = m->t->process->space->arch;
	struct ubp_regs after = *m->regs;
	struct hit_change change = { .regs = &after, .earlier = m->change };
	struct moment then = *m;
	uint64_t to = 0;

	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].is_jump && uprobe_is_on(site->exits[i].probe) &&
		    arch->insn.is_taken(&site->insn, m->regs))
			uprobe_count(&site->exits[i].probe->stats.missed[MISSED_TAIL_JUMP]);
	if (site->insn.leave != LEAVE_RET || !arch->insn.is_taken(&site->insn, m->regs) ||
	    !return_address(m->t, m->regs, &to))
		return;
	then.regs = &after;
	then.change = &change;
	after.r[arch->reg.pc] = to;
	after.r[arch->reg.sp] += site->insn.ret_pops;
	for (size_t i = 0; i < site->n_exits; i++)
		record_hit(hit, &then, site->exits[i].probe, site->exits[i].func_vaddr, to);
	if (!change.is_set)
		return;
	/* The instruction itself is still to run. */
	after.r[arch->reg.pc] = m->regs->r[arch->reg.pc];
	after.r[arch->reg.sp] = m->regs->r[arch->reg.sp];
	*m->change->regs = after;
	m->change->is_set = true;
}

void probes_at(struct hit *hit, struct tracee *t, struct site *site, struct ubp_regs *regs,
	       struct hit_change *change)
{
	struct moment m;

	moment_begin(hit, &m, t, regs);
	m.change = change;
	/* As the kernel shows it: the pc at the probed instruction. */
	regs->r[t->process->space->arch->reg.pc] = site->vaddr;
	entry_probes(hit, &m, site, regs);
	if (site->n_exits && !change->skips)
		exit_probes(hit, &m, site);
	moment_end(hit, &m);
}
