/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes whose places all record by themselves are let go of (trace/alone.h): nobody traces them, until something is to be
 * changed in them. That is when they are left, when what is probed changes, or when they have executed a program.
 */

#include <errno.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/plant/stand_alone.h"
#include "engine/session/inside.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/space.h"
#include "engine/trace/alone.h"
#include "engine/trace/attach.h"
#include "engine/trace/drain.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* Until it is looked at again whether those that are traced have to be: twice as long each time. */
#define AGAIN_NS 10000000ULL
#define LATER_NS 1000000000ULL

#define EXEC_TRIES 20

/* Why none of them is let go of; NULL: they may be. */
static const char *why_all_stay(const struct ubp_session *s)
{
	if (session_follows_children(s))
		return "its children are followed";
	if (s->opt.tid)
		return "only one of its threads is traced";
	return NULL;
}

/* The kernel is asked by a thread of it, which stands still for that. Returns 0 or -errno. */
static int prepare(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	struct held held;
	struct ubp_regs regs;
	int rc = attach_hold_one(&s->tracer, p, &held, err);

	if (rc < 0)
		return rc;
	held.at = &regs;
	tracer_stop_begin(&s->tracer);
	rc = ubp_host_get_regs(held.tid, &regs);
	if (rc == 0)
		rc = stand_alone_prepare(&s->plant, &held, err);
	tracer_stop_end(&s->tracer);
	held_let_go(&held);
	return rc;
}

/*
 * Behind an exec, while others may follow: each ends all threads but one, which takes another's place. It is traced meanwhile, so that the
 * next one is told of.
 */
static void plant_in_executed(struct ubp_session *s, struct process *p)
{
	pid_t pid = p->pid;
	struct ubp_err err;
	int rc = -ESRCH;

	s->letting.pid = pid;
	for (int tries = 0; rc == -ESRCH && p && tries < EXEC_TRIES && task_live_thread(pid);
	     tries++) {
		rc = targets_plant_in(s, p, &err);
		p = map_get(&s->tracer.processes, (uint64_t)pid);
	}
	s->letting.pid = 0;
	if (rc == 0)
		return;
	if (p && task_live_thread(pid) && rc != -EINTR)
		session_warn(s, "process %d: %s", (int)pid, err.text);
	if (p && !space_is_shared(p->space))
		release_process(s, pid);
}

/* It is not let go of after all, and traced; or it has executed a program, in which nothing is planted yet. */
static void trace_on(struct ubp_session *s, struct process *p, const struct space *space)
{
	if (p->space == space)
		stand_alone_end(&s->tracer, p);
	else
		plant_in_executed(s, p);
}

static int let_go_of(struct ubp_session *s, struct process *p, const struct space *space,
		     struct ubp_err *err)
{
	pid_t pid = p->pid;
	int rc = prepare(s, p, err);

	if (rc < 0 || map_get(&s->tracer.processes, (uint64_t)pid) != p || p->space != space)
		return rc < 0 ? rc : -EAGAIN;
	if (!p->tracees || stand_alone_begin(p) < 0)
		return -EAGAIN;
	drain_traps(&s->tracer, p);
	if (map_get(&s->tracer.processes, (uint64_t)pid) != p || p->space != space)
		return -EAGAIN;
	rc = stand_alone_note(p);
	if (rc == 0)
		rc = alone_begin(&s->tracer, p, stand_alone_place(space));
	if (rc < 0 && map_get(&s->tracer.processes, (uint64_t)pid) == p)
		trace_on(s, p, space);
	if (rc == 0)
		__atomic_add_fetch(&s->letting.n_alone, 1, __ATOMIC_RELAXED);
	return rc;
}

static int let_go(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	struct space *space = p->space;
	int rc;

	space_keep(space); /* no other one is to have its address, which tells of an exec */
	rc = let_go_of(s, p, space, err);
	space_put(&s->tracer, space);
	return rc;
}

/* Something has changed: they may be let go of, or not any more. */
static void look_again(struct ubp_session *s)
{
	s->letting.is_over = false;
	s->letting.wait_ns = AGAIN_NS;
	s->letting.next_ns = event_clock_now(CLOCK_KIND_MONO) + AGAIN_NS;
}

/* --- back again -------------------------------------------------------------------------- */

/* It runs another program: as if it had just been attached to. */
static void take_executed(struct ubp_session *s, struct process *p)
{
	pid_t pid = p->pid;
	struct ubp_err err;
	int rc;

	if (s->is_ending) {
		alone_forget(&s->tracer, p);
		return;
	}
	rc = alone_executed(&s->tracer, p, &err);
	if (rc != -EBUSY || s->letting.is_over)
		look_again(s);
	if (rc == 0)
		plant_in_executed(s, p);
	else if (rc != -ESRCH && rc != -EINTR && rc != -EBUSY)
		session_warn(s, "process %d: %s", (int)pid, err.text);
}

/* True: it is traced again, or has ended. */
static bool take_back(struct ubp_session *s, struct process *p, struct ubp_err *ret_err)
{
	pid_t pid = p->pid;
	struct ubp_err err;
	int rc;

	if (alone_look(&s->tracer, p) == ALONE_ENDED) {
		alone_forget(&s->tracer, p);
		return true;
	}
	rc = alone_end(&s->tracer, p, &err);
	if (rc == -ESTALE) {
		take_executed(s, p);
		p = map_get(&s->tracer.processes, (uint64_t)pid);
	}
	if (rc == -ESTALE && (!p || !p->is_alone))
		return true;
	if (rc == 0) {
		stand_alone_end(&s->tracer, p);
	} else if (alone_look(&s->tracer, p) == ALONE_ENDED) {
		alone_forget(&s->tracer, p);
	} else {
		*ret_err = err;
		return false;
	}
	return true;
}

/* What has ended, or executed a program. */
static void look_after(struct ubp_session *s)
{
	size_t n;
	pid_t *pids = tracer_pids(&s->tracer, &n);

	for (size_t i = 0; pids && i < n; i++) {
		struct process *p = map_get(&s->tracer.processes, (uint64_t)pids[i]);

		if (!p || !p->is_alone)
			continue;
		switch (alone_look(&s->tracer, p)) {
		case ALONE_ENDED:
			alone_forget(&s->tracer, p);
			break;
		case ALONE_EXECUTED:
			take_executed(s, p);
			break;
		case ALONE_LASTS:
			break;
		}
	}
	ids_give(&s->tracer, pids);
}

/* --- turns of the tracing thread ------------------------------------------------------------- */

/* For statistics, which the caller's thread asks for. */
static void note_why(struct ubp_session *s, const char *why)
{
	__atomic_store_n(&s->letting.why, why, __ATOMIC_RELAXED);
}

/* True: it may be let go of before long. */
static bool try_one(struct ubp_session *s, struct process *p)
{
	struct ubp_err err;
	bool soon;
	const char *why = stand_alone_why_not(&s->plant, p, &soon);

	note_why(s, why);
	if (why)
		return soon;
	if (let_go(s, p, &err) == 0)
		return false;
	note_why(s, "its threads could not be let go of");
	return true;
}

static bool try_all(struct ubp_session *s)
{
	size_t n;
	pid_t *pids = tracer_pids(&s->tracer, &n);
	bool any = false;

	for (size_t i = 0; pids && i < n; i++) {
		struct process *p = map_get(&s->tracer.processes, (uint64_t)pids[i]);

		if (p && p->is_alone)
			any |= alone_look(&s->tracer, p) == ALONE_EXECUTED;
		else if (p)
			any |= try_one(s, p);
	}
	ids_give(&s->tracer, pids);
	return any;
}

void letting_go_pass(struct ubp_session *s)
{
	const char *why = why_all_stay(s);
	uint64_t now;

	if (!s->opt.let_go)
		return;
	if (alone_take_news(&s->tracer))
		look_after(s);
	if (why)
		note_why(s, why);
	if (why || s->letting.is_over)
		return;
	now = event_clock_now(CLOCK_KIND_MONO);
	if (now >= s->letting.next_ns && !s->change.ticket) {
		s->letting.wait_ns =
			s->letting.wait_ns < LATER_NS / 2 ? 2 * s->letting.wait_ns : LATER_NS;
		s->letting.next_ns = now + s->letting.wait_ns;
		look_after(s); /* who could not be seized behind an exec */
		s->letting.is_over = !try_all(s);
	}
	if (!s->letting.is_over && alarm_begin(&s->letting.alarm, &s->tracer))
		alarm_in(&s->letting.alarm,
			 s->letting.next_ns > now ? s->letting.next_ns - now : AGAIN_NS);
}

/* All of them; those that cannot be traced now: to @stays. */
static void take_all_back(struct ubp_session *s,
			  void (*stays)(struct ubp_session *s, struct process *p,
					const struct ubp_err *err, void *ctx),
			  void *ctx)
{
	size_t n;
	pid_t *pids = tracer_pids(&s->tracer, &n);
	struct ubp_err err;

	for (size_t i = 0; pids && i < n; i++) {
		struct process *p = map_get(&s->tracer.processes, (uint64_t)pids[i]);

		if (p && p->is_alone && !take_back(s, p, &err))
			stays(s, p, &err, ctx);
	}
	ids_give(&s->tracer, pids);
	look_again(s);
}

static void keep_why(struct ubp_session *s, struct process *p, const struct ubp_err *err,
		     void *ctx)
{
	(void)s;
	(void)p;
	*(struct ubp_err *)ctx = *err;
}

int letting_go_take_back(struct ubp_session *s, struct ubp_err *err)
{
	ubp_err_reset(err);
	take_all_back(s, keep_why, err);
	return -err->code;
}

/* It is left as by a ubp that was killed. */
static void leave(struct ubp_session *s, struct process *p, const struct ubp_err *err,
		  void *ctx)
{
	(void)ctx;
	session_warn(s,
		     "process %d: its probes stay, and record nothing, as it cannot be traced "
		     "now (%s); "
		     "the next ubp that traces it takes them out",
		     (int)p->pid, err->text);
	session_mark_failed(s);
	alone_forget(&s->tracer, p);
}

void letting_go_end(struct ubp_session *s)
{
	take_all_back(s, leave, NULL);
	alarm_end(&s->letting.alarm);
}
