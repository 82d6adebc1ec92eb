/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/follow.h"

#include <sched.h>
#include <stdlib.h>

#include "engine/trace/tracer.h"

#define STEADY 16 /* hits in a row on one CPU before the tracer moves there */

static int run_everywhere(struct tracer *tracer)
{
	if (!tracer->follow.all_cpus)
		return -1;
	return sched_setaffinity(0, sizeof(cpu_set_t), tracer->follow.all_cpus);
}

static void remember_all(struct tracer *tracer)
{
	tracer->follow.all_cpus = malloc(sizeof(cpu_set_t));
	if (tracer->follow.all_cpus &&
	    sched_getaffinity(0, sizeof(cpu_set_t), tracer->follow.all_cpus) < 0) {
		free(tracer->follow.all_cpus);
		tracer->follow.all_cpus = NULL;
	}
}

void follow_cpu(struct tracer *tracer, unsigned cpu)
{
	cpu_set_t one;

	if ((int)cpu == tracer->follow.cpu) {
		tracer->follow.same_cpu = 0;
		return;
	}
	if ((int)cpu != tracer->follow.next_cpu) {
		/* Hits from several CPUs: belong to none. */
		tracer->follow.next_cpu = (int)cpu;
		tracer->follow.same_cpu = 0;
		return;
	}
	if (++tracer->follow.same_cpu < STEADY || cpu >= CPU_SETSIZE)
		return;
	if (!tracer->follow.all_cpus)
		remember_all(tracer);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	tracer->follow.same_cpu = 0;
	if (tracer->follow.all_cpus && CPU_ISSET(cpu, tracer->follow.all_cpus) &&
	    sched_setaffinity(0, sizeof(one), &one) == 0)
		tracer->follow.cpu = (int)cpu;
}

void follow_nobody(struct tracer *tracer)
{
	if (tracer->follow.cpu >= 0 && run_everywhere(tracer) == 0)
		tracer->follow.cpu = -1;
	tracer->follow.same_cpu = 0;
}
