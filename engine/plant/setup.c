/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/setup.h"

#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/event/ring.h"
#include "engine/plant/hooks.h"
#include "engine/plant/jump.h"
#include "engine/plant/plant.h"
#include "engine/plant/sigaction.h"
#include "engine/plant/watch.h"
#include "engine/plant/watched_windows.h"
#include "engine/space/probe_list.h"
#include "engine/space/state.h"
#include "engine/trace/reaper.h"
#include "engine/trace/tracer.h"

void plant_init(struct plant *plant)
{
	(void)probe_lists_init(plant);
}

void plant_fini(struct plant *plant)
{
	hooks_free(plant);
	watched_windows_free(plant);
	sigaction_free(plant);
	jump_free_reasons(plant);
	probe_lists_free(plant);
	plant_forget_ahead(plant);
}

int plant_begin(struct plant *plant, const struct plant_options *opt,
		struct uprobe *const *probes, size_t n)
{
	plant->opt = *opt;
	if (opt->rings)
		ring_set_n_probes(opt->rings, (unsigned)n);
	plant->code_has = ubp_host_code_has();
	plant->wake_unwinders = watch_wake_begins;
	return probe_list_change(plant, probes, n, NULL, 0);
}

void plant_set_tracer(struct plant *plant, struct tracer *tracer)
{
	plant->counts_open |=
		plant->opt.rings && !reaper_is_needed() && probe_list(plant)->has_returns;
	if (plant->counts_open)
		tracer->options |= PTRACE_O_TRACEEXIT;
}
