/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/handle.h"

#include "engine/event/clock.h"
#include "engine/space/space.h"
#include "engine/trace/process.h"

bool hit_handle(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t addr,
		bool is_return)
{
	struct uprobe_handled *handled = &probe->stats.handled;
	struct ubp_hit h = { .arch = m->t->process->space->arch,
			     .its = probe->at_hit.handler,
			     .regs = m->regs,
			     .change = m->change,
			     .addr = addr,
			     .now_ns = m->now_ns,
			     .pid = m->t->process->pid,
			     .tid = m->t->tid,
			     .is_return = is_return,
			     .hit = hit,
			     .m = m,
			     .probe = probe };
	bool skipped = m->change && m->change->skips;
	uint64_t begun_ns = event_clock_now(CLOCK_KIND_MONO), ns;
	bool is_wanted = hit->opt.handle(hit->opt.ctx, &h);

	ns = event_clock_now(CLOCK_KIND_MONO) - begun_ns;
	uprobe_count(&handled->n);
	uprobe_count_by(&handled->total_ns, ns);
	if (ns > handled->longest_ns)
		__atomic_store_n(&handled->longest_ns, ns, __ATOMIC_RELAXED);
	if (!is_wanted)
		uprobe_count(&handled->dropped);
	if (h.has_changed)
		uprobe_count(&handled->changed);
	if (m->change && m->change->skips && !skipped)
		uprobe_count(&handled->skipped);
	uprobe_count_by(&handled->refused, h.n_refused);
	return is_wanted;
}
