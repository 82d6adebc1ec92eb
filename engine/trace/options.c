/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/options.h"

#include <sys/ptrace.h>

#include "engine/base/again.h"
#include "engine/trace/attach.h"
#include "engine/trace/ids.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

static void apply(struct tracer *tracer, struct tracee *t)
{
	if (attach_hold(tracer, t) != 1)
		return;
	if (again_ptrace(PTRACE_SETOPTIONS, t->tid, 0, tracer->options) == 0)
		t->options = tracer->options;
	attach_let_go(t);
}

void options_apply(struct tracer *tracer)
{
	size_t n;
	pid_t *tids = tracer_tids(tracer, &n);

	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);

		if (t && !t->held && t->options != tracer->options)
			apply(tracer, t);
	}
	ids_give(tracer, tids);
}
