/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Planting in a process that is seized: a thread of it is held, and let go again. */

#include <errno.h>

#include "engine/base/err.h"
#include "engine/plant/plant.h"
#include "engine/plant/settle.h"
#include "engine/session/inside.h"
#include "engine/session/processes.h"
#include "engine/session/tracing.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define ATTACH_TRIES  20
#define STOPS_BETWEEN 64

/* Is it traced for the sake of other probes, or until the next try, so that it stays if nothing can be planted? */
static bool is_to_stay(const struct ubp_session *s, pid_t pid)
{
	return pid == s->change.pid || pid == s->letting.pid;
}

/* Nothing may stay in it: the thread and its process are given up. */
static void plant_failed(struct ubp_session *s, const struct held *held)
{
	struct process *p = held->t->process;
	pid_t pid = p->pid;

	held_let_go(held);
	/* Unless the breakpoints in its memory are those of other processes, too. */
	if (!is_to_stay(s, pid) && !space_is_shared(p->space))
		release_process(s, pid);
}

static int plant_by(struct ubp_session *s, const struct held *held, bool in_pieces,
		    struct ubp_err *err)
{
	int rc;

	s->plant.is_attaching = true;
	s->plant.in_pieces = in_pieces;
	rc = session_plant(s, held, err);
	s->plant.is_attaching = s->plant.in_pieces = false;
	return rc;
}

/* -EINPROGRESS: plant_settle() is next, while nobody stands still for that. */
static int hold_and_plant(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid, *others;
	bool stays = p->stays; /* it must not run without breakpoints */
	struct held held;
	size_t n_others;
	int rc;

	plant_look_ahead(&s->plant, p->space, task_live_thread(pid));
	rc = attach_hold_each(&s->tracer, p, &held, &others, &n_others, err);
	if (rc == -ETIMEDOUT && s->opt.force)
		rc = attach_hold_one(&s->tracer, p, &held, err);
	if (rc < 0) {
		bool is_there = map_get(&s->tracer.processes, (uint64_t)pid) == p &&
				!space_is_shared(p->space) && !is_to_stay(s, pid);

		/* Its exec's stop may have come meanwhile, and on_execed() has planted. */
		if (is_there && p->probes->is_guarded)
			release_process(s, pid);
		else if (is_there)
			attach_undo(&s->tracer, pid);
		return rc;
	}
	rc = plant_by(s, &held, !stays && !is_to_stay(s, pid), err);
	if (rc == -EINPROGRESS && stays) {
		rc = plant_settle(&s->plant, &s->tracer, p, err);
		if (rc == 0 && held_lasts(&held))
			rc = plant_by(s, &held, false, err);
	}
	attach_let_others_go(&s->tracer, others, n_others);
	if (held_has_executed(&held))
		return 0; /* seen to by on_execed() */
	if (!held_lasts(&held))
		return rc < 0 ? rc : ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	if (rc < 0 && rc != -EINPROGRESS) {
		plant_failed(s, &held);
		return rc;
	}
	held_let_go(&held);
	return rc;
}

int targets_plant_more(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	struct held held;
	int rc = attach_hold_one(&s->tracer, p, &held, err);

	if (rc < 0)
		return rc;
	rc = session_plant(s, &held, err);
	held_let_go(&held);
	return rc;
}

int targets_plant_in(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	pid_t pid = p->pid;
	int rc = hold_and_plant(s, p, err);

	/* More than once: it may have executed a program, and have threads again. Or it is planted in pieces. */
	for (int tries = 0; rc == -EINPROGRESS && tries < ATTACH_TRIES;
	     tries += !plant_has_pieces(&s->plant)) {
		tracer_poll(&s->tracer, STOPS_BETWEEN);
		p = map_get(&s->tracer.processes, (uint64_t)pid);
		rc = p ? plant_settle(&s->plant, &s->tracer, p, err) : -ESRCH;
		p = map_get(&s->tracer.processes, (uint64_t)pid);
		if (!p)
			return ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
		if (rc == 0) {
			plant_get_ready(&s->plant, p->space, task_live_thread(pid));
			rc = hold_and_plant(s, p, err);
		} else if (!space_is_shared(p->space) && !is_to_stay(s, pid)) {
			release_process(s, pid);
		}
	}
	plant_forget_ahead(&s->plant);
	return rc;
}

void targets_plant_in_sharers(struct ubp_session *s, pid_t pid)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);
	size_t pos = 0;
	uint64_t other;
	void *value;
	struct ubp_err err;

	while (p && space_is_shared(p->space) &&
	       map_next(&s->tracer.processes, &pos, &other, &value)) {
		struct process *sharer = value;

		if (sharer == p || sharer->space != p->space || map_get(&s->found.known, other))
			continue;
		session_mark_known(s, sharer->pid, true);
		sharer->silent = sharer->silent && !session_follows_children(s);
		processes_begin(s, sharer);
		if (!sharer->probes->is_guarded)
			(void)targets_plant_in(s, sharer, &err);
		p = map_get(&s->tracer.processes, (uint64_t)pid);
		pos = 0; /* the table may have changed */
	}
}
