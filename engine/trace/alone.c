/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/alone.h"

#include <errno.h>

#include "engine/base/err.h"
#include "engine/trace/alone_watch.h"
#include "engine/trace/attach.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/seize.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define ROUNDS 4 /* for threads that are born while the others are let go */

static void news(void *ctx)
{
	tracer_wake(ctx);
}

/* All threads, as far as they can be stopped. */
static void let_all_go(struct tracer *tracer, struct process *p)
{
	pid_t pid = p->pid;

	p->is_alone = true;
	for (int i = 0; i < ROUNDS && p->n_tracees; i++)
		attach_undo(tracer, pid);
	p->is_leaving = false;
}

int alone_begin(struct tracer *tracer, struct process *p, uint64_t vaddr, const struct alone_bell *bell)
{
	const struct space *space = p->space;
	struct ubp_err ignored;
	pid_t pid = p->pid;
	int rc;

	if (!tracer->alone)
		tracer->alone = alone_watch_start(news, tracer);
	if (!tracer->alone)
		return -ENOMEM;
	rc = alone_watch_add(tracer->alone, pid, vaddr, bell);
	if (rc < 0)
		return rc;
	let_all_go(tracer, p);
	/* It stays known while it is alone, whatever becomes of its threads. */
	if (p->n_tracees == 0 && p->space == space)
		return 0;
	alone_watch_drop(tracer->alone, pid);
	p->is_alone = false;
	rc = seize_threads(tracer, p, &ignored);
	if (p->n_tracees == 0) {
		alone_forget(tracer, p);
		return -ESRCH;
	}
	return rc < 0 ? rc : -EBUSY;
}

int alone_end(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid;
	int rc;

	if (alone_watch_look(tracer->alone, pid) == ALONE_EXECUTED)
		return ubp_fail(err, ESTALE, "process %d executed another program", (int)pid);
	p->is_alone = false;
	rc = seize_threads(tracer, p, err);
	/* From now on an exec is reported. */
	if (rc == 0 && p->n_tracees && alone_watch_look(tracer->alone, pid) < ALONE_EXECUTED) {
		alone_watch_drop(tracer->alone, pid);
		return 0;
	}
	if (rc == 0)
		rc = ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	let_all_go(tracer, p);
	return rc;
}

enum alone_state alone_look(const struct tracer *tracer, const struct process *p)
{
	return alone_watch_look(tracer->alone, p->pid);
}

void alone_heard(const struct tracer *tracer, const struct process *p)
{
	alone_watch_heard(tracer->alone, p->pid);
}

bool alone_take_news(struct tracer *tracer)
{
	return alone_watch_take_news(tracer->alone);
}

void alone_forget(struct tracer *tracer, struct process *p)
{
	alone_watch_drop(tracer->alone, p->pid);
	map_remove(&tracer->processes, (uint64_t)p->pid);
	tracer->ops->process_gone(tracer->ctx, p);
	tracer_drop_process(tracer, p);
}

int alone_executed(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid;
	struct space *space = space_new(tracer, NULL, task_live_thread(pid), err);
	int rc = space ? 0 : -err->code;

	if (space) {
		alone_watch_drop(tracer->alone, pid);
		process_move(tracer, p, space);
		p->is_alone = false;
		rc = seize_threads(tracer, p, err);
	}
	if (rc == 0 && p->n_tracees)
		return 0;
	if (rc == 0)
		rc = ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	let_all_go(tracer, p);
	alone_forget(tracer, p);
	return rc;
}

void alone_fini(struct tracer *tracer)
{
	size_t pos = 0;
	void *value;

	while (pos = 0, map_next(&tracer->processes, &pos, NULL, &value))
		alone_forget(tracer, value);
	alone_watch_stop(tracer->alone);
	tracer->alone = NULL;
}
