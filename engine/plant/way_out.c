/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/way_out.h"

#include "engine/plant/area.h"
#include "engine/plant/jump.h"
#include "engine/plant/leave.h"
#include "engine/plant/upgrade.h"
#include "engine/space/space.h"
#include "engine/trace/drain.h"
#include "engine/trace/hold.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

void way_out_all(struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	upgrade_end(tracer);
	while (map_next(&tracer->processes, &pos, NULL, &value))
		plant_remove(value);
	drain_traps(tracer, NULL);
	plant_leave(tracer, NULL);
}

/* A thread that stands in a slot whose instruction has not run goes back to where that was. */
static void leave_slots(struct tracer *tracer, const struct process *p)
{
	const struct space *space = p->space;
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;
		const struct site *site;
		uint64_t pc;

		if (t->process != p || !t->parked || hold_get_pc(t, &pc) < 0)
			continue;
		site = plant_site_of_slot(space, pc);
		if (site && pc == site->slot)
			(void)hold_set_pc(t, site->vaddr);
	}
}

void way_out_some(struct tracer *tracer, const pid_t *pids, size_t n)
{
	const struct map *processes = &tracer->processes;
	struct process *p;

	for (size_t i = 0; i < n; i++)
		if ((p = map_get(processes, (uint64_t)pids[i])))
			p->is_leaving = true;
	for (size_t i = 0; i < n; i++)
		if ((p = map_get(processes, (uint64_t)pids[i])))
			jump_remove(tracer, p->space);
	for (size_t i = 0; i < n; i++)
		if ((p = map_get(processes, (uint64_t)pids[i])))
			plant_remove(p);
	for (size_t i = 0; i < n; i++)
		if ((p = map_get(processes, (uint64_t)pids[i])))
			drain_traps(tracer, p);
	for (size_t i = 0; i < n; i++) {
		p = map_get(processes, (uint64_t)pids[i]);
		if (p) {
			leave_slots(tracer, p);
			plant_leave(tracer, p);
		}
	}
}

bool way_out_vforked(struct tracer *tracer, struct tracee *t)
{
	struct tracee *mother = map_get(&tracer->tracees, (uint64_t)t->process->born_of);
	struct space *space = t->process->space;

	if (!mother || mother->process->space != space || !t->process->is_vforked ||
	    t->probes->returns.n)
		return false;
	if (!mother->probes->lends)
		plant_lend(space, t->tid);
	mother->probes->lends = true;
	leave_slots(tracer, t->process);
	return true;
}
