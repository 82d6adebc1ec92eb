/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/alone.h"

#include <errno.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/trace/alone_watch.h"
#include "engine/trace/attach.h"
#include "engine/trace/children.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/ids.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/seize.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define ROUNDS                                                                                 \
	4 /* for threads that are born while the others are let go, or an exec while they are seized */
#define EXEC_MS 100

static void news(void *ctx)
{
	tracer_wake(ctx);
}

/*
 * Will nothing be heard of a thread? An exec ends all but one, which takes the first one's place. One that was traced and is replaced so
 * ends without a word; one that was being seized then is known by the number that it had. And a first thread that has ended is
 * a tracee until the process ends, which can't be let go of.
 */
static bool is_mute(const struct process *p, pid_t tid)
{
	struct stop stop;
	int rc = wait_look(tid, &stop);

	return rc == -ESRCH || (rc == 0 && tid == p->pid && task_state(tid) == 'Z');
}

/* True: some are forgotten. */
static bool drop_mute(struct tracer *tracer, const struct process *p)
{
	struct stop end = { .exited = true };
	bool any = false;
	size_t n;
	pid_t *tids = space_ids(tracer, p->space, p, &n);

	for (size_t i = 0; tids && i < n; i++) {
		end.tid = tids[i];
		if (!map_get(&tracer->tracees, (uint64_t)end.tid) || !is_mute(p, end.tid))
			continue;
		tracer_dispatch(tracer, &end);
		any = true;
	}
	ids_give(tracer, tids);
	return any;
}

/* The same thread is traced, and not known by the first one's number. */
static bool know_replacing(struct tracer *tracer, struct process *p)
{
	struct stop stop;

	if (task_tracer(p->pid) != gettid() || map_get(&tracer->tracees, (uint64_t)p->pid))
		return false;
	(void)drop_mute(tracer, p);
	/* Or it tells of its exec by a stop. */
	if (wait_one(p->pid, EXEC_MS, &stop) == 1)
		tracer_dispatch(tracer, &stop);
	return map_get(&tracer->tracees, (uint64_t)p->pid) ||
	       tracer_add_tracee(tracer, p, p->pid);
}

/* It stays known meanwhile, whoever of its threads ends. */
static int seize_all(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	bool again = true;
	int rc = 0;

	p->is_alone = true;
	for (int i = 0; again && i < ROUNDS; i++) {
		rc = seize_threads(tracer, p, err);
		again = rc == 0 ? drop_mute(tracer, p)
				: rc == -EPERM && know_replacing(tracer, p);
	}
	p->is_alone = false;
	return rc;
}

/* All threads, as far as they can be stopped. */
static void let_all_go(struct tracer *tracer, struct process *p)
{
	pid_t pid = p->pid;

	p->is_alone = true;
	(void)drop_mute(tracer, p);
	for (int i = 0; i < ROUNDS && p->n_tracees; i++) {
		attach_undo(tracer, pid);
		(void)drop_mute(tracer, p);
	}
	p->is_leaving = false;
}

int alone_begin(struct tracer *tracer, struct process *p, const struct alone_bell *bell)
{
	const struct space *space = p->space;
	struct ubp_err ignored;
	pid_t pid = p->pid;
	int rc;

	if (!tracer->alone)
		tracer->alone = alone_watch_start(news, tracer);
	if (!tracer->alone)
		return -ENOMEM;
	rc = alone_watch_add(tracer->alone, pid, task_live_thread(pid), bell);
	if (rc < 0)
		return rc;
	let_all_go(tracer, p);
	/* It stays known while it is alone, whatever becomes of its threads. */
	if (p->n_tracees == 0 && p->space == space)
		return 0;
	rc = p->space == space ? alone_end(tracer, p, &ignored) : -ESTALE;
	if (rc != -ESTALE)
		return rc == 0 ? -EBUSY : 0;
	rc = alone_executed(tracer, p, &ignored);
	if (rc == -EBUSY)
		return 0;
	return rc < 0 ? -ESRCH : -EBUSY;
}

static int has_executed(const struct process *p, struct ubp_err *err)
{
	return ubp_fail(err, ESTALE, "process %d executed another program", (int)p->pid);
}

int alone_end(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid;
	int rc;

	if (alone_watch_look(tracer->alone, pid) == ALONE_EXECUTED)
		return has_executed(p, err);
	rc = seize_all(tracer, p, err);
	/* From now on an exec is reported. */
	if (rc == 0 && p->n_tracees && alone_watch_look(tracer->alone, pid) < ALONE_EXECUTED) {
		alone_watch_drop(tracer->alone, pid);
		return 0;
	}
	if (rc == 0)
		rc = ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	let_all_go(tracer, p);
	return alone_watch_look(tracer->alone, pid) == ALONE_EXECUTED ? has_executed(p, err)
								      : rc;
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
	p->is_alone = true;
	/* What could not be stopped to be let go of runs on, whatever stops it. */
	while (p->tracees) {
		pid_t tid = p->tracees->tid;

		tracer_drop_tracee(tracer, p->tracees);
		children_note_unseen(tracer, tid);
	}
	map_remove(&tracer->processes, (uint64_t)p->pid);
	tracer->ops->process_gone(tracer->ctx, p);
	tracer_drop_process(tracer, p);
}

/* Its memory as it is now. Seized, it reports an exec from now on; one just before has left the memory that was opened. */
static int open_again(struct process *p, struct ubp_err *err)
{
	mem_close(&p->space->mem);
	return mem_open(&p->space->mem, task_live_thread(p->pid), err);
}

int alone_executed(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid;
	struct space *space;
	int rc;

	/* Its bell is of the memory that it had, and may go with that whatever comes of this. */
	alone_watch_executed(tracer->alone, pid);
	rc = seize_may_try(tracer, pid, err);
	if (rc < 0)
		return rc;
	space = space_new(tracer, NULL, task_live_thread(pid), err);
	rc = space ? 0 : -err->code;
	if (space) {
		process_move(tracer, p, space);
		rc = seize_all(tracer, p, err);
	}
	if (rc == 0 && p->n_tracees)
		rc = open_again(p, err);
	if (rc == 0 && p->n_tracees) {
		alone_watch_drop(tracer->alone, pid);
		return 0;
	}
	if (rc == 0)
		rc = ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	let_all_go(tracer, p);
	/* Another exec may be under way. */
	if (rc != -EPERM && rc != -EACCES && rc != -ENOTSUP && rc != -ENOMEM &&
	    alone_watch_look(tracer->alone, pid) != ALONE_ENDED)
		return -EBUSY;
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
