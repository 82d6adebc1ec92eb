/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/quiet_tracer.h"

#include "engine/space/thread.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void tracee_gone(void *ctx, struct tracee *t)
{
	(void)ctx, (void)t;
}

static void process_gone(void *ctx, struct process *p)
{
	(void)ctx, (void)p;
}

static void space_gone(void *ctx, struct space *space)
{
	(void)ctx, (void)space;
}

static enum keep_verdict forked(void *ctx, const struct process *parent,
				const struct held *held, bool shares)
{
	(void)ctx, (void)parent, (void)held, (void)shares;
	return LET_GO;
}

static void born(void *ctx, pid_t mother, const struct held *held)
{
	(void)ctx, (void)mother, (void)held;
}

static bool pc_has_trap(void *ctx, struct tracee *t, uint64_t pc)
{
	(void)ctx, (void)t, (void)pc;
	return false;
}

static bool signal_is_ours(void *ctx, const struct held *held, int sig)
{
	(void)ctx, (void)held, (void)sig;
	return false;
}

const struct tracer_ops quiet_tracer_ops = {
	.thread_len = sizeof(struct thread_probes),
	.process_len = sizeof(struct process_probes),
	.born = born,
	.pc_has_trap = pc_has_trap,
	.signal = signal_is_ours,
	.tracee_gone = tracee_gone,
	.process_gone = process_gone,
	.space_gone = space_gone,
	.forked = forked,
};

struct process *quiet_tracer_add(struct tracer *tracer, pid_t pid)
{
	struct space *space = calloc(1, sizeof(*space));
	struct process *p;

	assert_non_null(space);
	space->mem.file.fd = -1;
	p = tracer_add_process(tracer, pid, space);
	assert_non_null(p);
	return p;
}
