/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/cancel.h"

#include <time.h>

static _Thread_local const int *cancelled;
static _Thread_local uint64_t limit_ns; /* 0: none */
static _Thread_local bool is_late;

void cancel_by(const int *flag)
{
	cancelled = flag;
}

void cancel_at(uint64_t end_ns)
{
	limit_ns = end_ns;
	is_late = false;
}

bool cancel_is_late(void)
{
	struct timespec now;

	/* What was given up once stays so, whatever the clock says. */
	if (!is_late && limit_ns && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
		is_late = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= limit_ns;
	return is_late;
}

bool cancel_is_asked(void)
{
	return (cancelled && __atomic_load_n(cancelled, __ATOMIC_RELAXED)) || cancel_is_late();
}
