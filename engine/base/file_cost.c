/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/file_cost.h"

#include <time.h>

#include "engine/base/cancel.h"
#include "engine/base/proc.h"

static uint64_t now_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void file_cost_renew(struct file_cost *cost)
{
	const uint64_t now = now_ns();
	const uint64_t again =
		(now - cost->since_ns) / (FILE_COST_REFILL_NS / FILE_COST_LIMIT_NS);

	cost->spent_ns -= again < cost->spent_ns ? again : cost->spent_ns;
	cost->since_ns = now;
	cost->is_late = false;
}

bool file_cost_begin(struct file_cost *cost, bool is_costly)
{
	if (is_costly || cost->is_late || cost->spent_ns >= FILE_COST_LIMIT_NS) {
		cost->is_late = true;
		return false;
	}
	cost->begun_ns = proc_cpu_ns();
	cancel_at(cost->begun_ns + (FILE_COST_LIMIT_NS - cost->spent_ns));
	return true;
}

bool file_cost_end(struct file_cost *cost, bool *ret_is_costly)
{
	const uint64_t took = proc_cpu_ns() - cost->begun_ns;

	cost->spent_ns += took;
	cost->is_late = cancel_is_late();
	if (cost->is_late)
		*ret_is_costly = took >= FILE_COST_LIMIT_NS / 2;
	cancel_at(0);
	return !cost->is_late;
}
