/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/samples.h"

#include <stddef.h>

#include "engine/base/sample_plan.h"
#include "engine/event/ring_sample.h"
#include "engine/space/thread.h"
#include "engine/space/uprobe.h"
#include "engine/trace/process.h"

/* Where there is no memory for the counter all hits are taken. */
static bool take_own(struct tracee *t, unsigned number, uint32_t step, uint32_t every)
{
	void **place = map_place(&t->probes->samples, number);
	uint64_t count;
	bool is_taken;

	if (!place)
		return true;
	/* Values of maps are not 0. */
	count = (*place ? (uint64_t)(uintptr_t)*place - 1 : 0) + step;
	is_taken = count >= every;
	*place = (void *)(uintptr_t)((is_taken ? count - every : count) + 1);
	return is_taken;
}

bool samples_take(struct tracee *t, struct ring_space *rings, const struct uprobe *probe,
		  const uint8_t *data)
{
	const struct sample_plan *plan = probe->at_hit.sample;
	uint32_t step = sample_step(plan, data);
	int taken = -1;

	samples_hand_over(t, rings);
	if (rings)
		taken = ring_space_sample(rings, t->tid, probe->number, step, plan->every);
	return taken < 0 ? take_own(t, probe->number, step, plan->every) : taken;
}

void samples_hand_over(struct tracee *t, struct ring_space *rings)
{
	uint64_t number;
	size_t pos = 0;
	void *value;

	while (rings && map_next(&t->probes->samples, &pos, &number, &value)) {
		if (!ring_space_give_sample(rings, t->tid, (unsigned)number,
					    (uint32_t)((uintptr_t)value - 1)))
			continue;
		map_remove(&t->probes->samples, number);
		pos = 0; /* the table has changed */
	}
}

void samples_forget(struct tracee *t)
{
	map_free(&t->probes->samples);
}
