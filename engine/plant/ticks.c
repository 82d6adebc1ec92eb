/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/ticks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

#define SECCOMP_STRICT 1

/* Behind struct guard_gate its page is not used. */
#define ANSWER 128

static bool is_strict(const struct process *p)
{
	long n_filters;

	for (const struct tracee *t = p->tracees; t; t = t->next)
		if (task_seccomp(t->tid, &n_filters) == SECCOMP_STRICT)
			return true;
	return false;
}

/* Threads and processes begin with what the one that made them has, so one is asked. */
int ticks_check(const struct held *held, struct ubp_err *err)
{
	const struct space *space = held->t->process->space;
	const uint64_t at = guard_gate(space->plant) + ANSWER;
	const uint64_t args[6] = { PR_GET_TSC, at };
	int32_t answer = PR_TSC_ENABLE;
	int64_t result;
	int rc;

	if (is_strict(held->t->process))
		return ubp_fail(err, ENOTSUP, "a thread of it is in seccomp's strict mode");
	rc = area_call(held, space->plant->stub, space->arch->call.nr_prctl, args, &result,
		       err);
	/* Of other instruction sets nobody is asked. */
	if (rc < 0 || result < 0)
		return rc;
	if (mem_peek(&space->mem, at, &answer, sizeof(answer)) == sizeof(answer) &&
	    answer == PR_TSC_SIGSEGV)
		return ubp_fail(err, ENOTSUP,
				"it may not read the processor's counter (PR_SET_TSC)");
	return 0;
}
