/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes whose places all record by themselves are let go of (trace/alone.h): nobody traces them, until something is to be
 * changed in them. That is when they are left, when what is probed changes, or when they have executed a program.
 */

#include <errno.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/spare.h"
#include "engine/event/clock.h"
#include "engine/event/ring.h"
#include "engine/plant/bell.h"
#include "engine/plant/claims.h"
#include "engine/plant/stand_alone.h"
#include "engine/returns/returns.h"
#include "engine/session/counting.h"
#include "engine/session/inside.h"
#include "engine/session/letting_go.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/space.h"
#include "engine/trace/alone.h"
#include "engine/trace/attach.h"
#include "engine/trace/drain.h"
#include "engine/trace/held.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/permission.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* Until it is looked at again whether one that is traced has to be: twice as long each time. */
#define AGAIN_NS 10000000ULL
#define LATER_NS 1000000000ULL

#define EXEC_TRIES 20
/* So often a process may be let go of and miss hits: then it stays traced. */
#define MISSES_MOST 4
/* Until a process is seen that has come meanwhile. */
#define NEW_NS 50000000ULL

void letting_go_init(struct ubp_session *s)
{
	s->letting.is_bound = !permission_for_all() && permission_yama() > 0;
}

const char *letting_go_why_none(const struct ubp_session *s)
{
	if (s->opt.stay)
		return "it is to stay so (--stay)";
	if (s->opt.tid)
		return "only one of its threads is traced";
	if (s->letting.is_bound)
		return "it might not be traced again (kernel.yama.ptrace_scope)";
	if (counting_records(s))
		return "what is counted is recorded, and a full ring is to stop it";
	if (stacks_unwinds(s))
		return "user stacks are unwound at stops";
	if (s->opt.lossless)
		return "a full ring is to stop it (--lossless)";
	return NULL;
}

/* The kernel is asked by a thread of it, which stands still for that. Returns 0 or -errno; -ENOTSUP: for what .refused says. */
static int prepare(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	const struct stand_alone_facts facts = stand_alone_look(p);
	const struct space *space = p->space;
	struct held held;
	struct ubp_regs regs;
	pid_t pid = p->pid;
	int rc = attach_hold_one(&s->tracer, p, &held, err);

	if (rc < 0)
		return rc;
	/* The thread may have executed a program before it stood still: of that one nothing is prepared. */
	if (!process_is_there(&s->tracer, pid, p, space)) {
		held_let_go(&held);
		return -EAGAIN;
	}
	held.at = &regs;
	tracer_stop_begin(&s->tracer);
	rc = ubp_host_get_regs(held.tid, &regs);
	if (rc == 0)
		rc = stand_alone_prepare(&s->plant, &held, &facts, &s->letting.refused, err);
	tracer_stop_end(&s->tracer);
	held_let_go(&held);
	return rc;
}

/* On the watching thread, too. */
static bool look_for_claims(void *rings)
{
	return ring_space_look_for_claims(rings);
}

/* Each of its threads is seen to be in the middle of nothing. Who waits for a look at his claim is known then. */
static int drain(struct ubp_session *s, struct process *p)
{
	struct space *space = p->space;
	pid_t pid = p->pid;

	drain_traps(&s->tracer, p);
	if (!process_is_there(&s->tracer, pid, p, space))
		return -ESRCH;
	if (claims_that_wait(p))
		(void)look_for_claims(claims_that_wait(p));
	return !p->tracees || stand_alone_why_not(&s->plant, p) ? -EAGAIN : 0;
}

/* What it was not known to do before may have happened meanwhile. */
static int settle(struct ubp_session *s, struct process *p)
{
	struct space *space = p->space;
	pid_t pid = p->pid;
	int rc = stand_alone_settle(&s->tracer, p);

	if (!process_is_there(&s->tracer, pid, p, space))
		return -ESRCH;
	return rc == 0 && (!p->tracees || stand_alone_why_not(&s->plant, p)) ? -EAGAIN : rc;
}

static int let_go_begun(struct ubp_session *s, struct process *p, const struct alone_bell *bell)
{
	int rc = drain(s, p);

	if (rc == 0)
		rc = settle(s, p);
	if (rc == 0)
		rc = stand_alone_begin(p);
	/* Whose trap was on its way when all was looked at may have entered a function that returns to the tracer. */
	if (rc == 0)
		rc = drain(s, p);
	if (rc == 0)
		rc = stand_alone_send_home(p);
	if (rc == 0 && returns_n(p->space->plant))
		rc = drain(s, p);
	if (rc == 0)
		rc = stand_alone_note(p);
	return rc < 0 ? rc : alone_begin(&s->tracer, p, bell);
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

/* Hits that only a tracer could have recorded, and that nobody did. */
static uint64_t missed_by(const struct space *space)
{
	const uint64_t *missed = space->plant ? bell_missed(space->plant) : NULL;

	return missed ? __atomic_load_n(missed, __ATOMIC_RELAXED) : 0;
}

static int let_go_of(struct ubp_session *s, struct process *p, const struct space *space,
		     struct ubp_err *err)
{
	struct alone_bell bell;
	pid_t pid = p->pid;
	int rc = prepare(s, p, err);

	if (rc < 0 || !process_is_there(&s->tracer, pid, p, space))
		return rc < 0 ? rc : -EAGAIN;
	if (!p->tracees)
		return -EAGAIN;
	bell = (struct alone_bell){ .word = bell_word(space->plant),
				    .rung = bell_count(space->plant),
				    .missed = bell_missed(space->plant),
				    .ctx = claims_that_wait(p) };
	bell.n_missed = missed_by(space);
	p->probes->missed = bell.n_missed;
	bell.tend = bell.ctx ? look_for_claims : NULL;
	rc = stand_alone_announce(p);
	if (rc == 0)
		rc = let_go_begun(s, p, &bell);
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

/* --- when ------------------------------------------------------------------------------------ */

static void look_in(struct ubp_session *s, uint64_t now, uint64_t ns)
{
	if (s->letting.next_ns <= now + ns)
		return;
	s->letting.next_ns = now + ns;
	if (alarm_begin(&s->letting.alarm, &s->tracer))
		alarm_in(&s->letting.alarm, ns);
}

static void look_at(struct ubp_session *s, const struct process *p, uint64_t now)
{
	p->probes->look_ns = now + p->probes->wait_ns;
	look_in(s, now, p->probes->wait_ns);
}

/* Something has changed: it may be let go of, or not any more. */
static void look_again(struct ubp_session *s, const struct process *p)
{
	p->probes->wait_ns = AGAIN_NS;
	look_at(s, p, event_clock_now(CLOCK_KIND_MONO));
}

/* It has asked to be traced: who does so often stays traced. */
static void look_later(struct ubp_session *s, const struct process *p)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (now - p->probes->rang_ns > LATER_NS || p->probes->wait_ns < AGAIN_NS)
		p->probes->wait_ns = AGAIN_NS;
	p->probes->rang_ns = now;
	look_at(s, p, now);
}

/* --- back again -------------------------------------------------------------------------- */

/* Once of each process that it does. */
static void tell_in_vain(struct ubp_session *s, const struct process *p)
{
	if (!p->space->plant || !bell_take_in_vain(p->space->plant) || p->probes->rang_in_vain)
		return;
	session_warn(
		s,
		"process %d could not be traced again in time when it asked for that: what it "
		"loaded, executed, forked or counted then may have been missed",
		(int)p->pid);
	p->probes->rang_in_vain = true;
}

/* It has ended while it was alone. */
static void forget_ended(struct ubp_session *s, struct process *p)
{
	tell_in_vain(s, p);
	alone_forget(&s->tracer, p);
}

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
	tell_in_vain(s, p);
	spare_use(&s->spare);
	rc = alone_executed(&s->tracer, p, &err);
	if (rc == -EBUSY) {
		look_at(s, p, event_clock_now(CLOCK_KIND_MONO));
	} else if (rc == 0) {
		p->probes->n_missed = 0;
		look_again(s, p);
		plant_in_executed(s, p);
	} else if (rc != -ESRCH && rc != -EINTR)
		session_warn(s, "process %d: %s", (int)pid, err.text);
}

/* True: it is traced again, or has ended. */
static bool take_back(struct ubp_session *s, struct process *p, struct ubp_err *ret_err)
{
	pid_t pid = p->pid;
	struct ubp_err err;
	int rc;

	spare_use(&s->spare);
	if (alone_look(&s->tracer, p) == ALONE_ENDED) {
		forget_ended(s, p);
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
		tell_in_vain(s, p);
	} else if (alone_look(&s->tracer, p) == ALONE_ENDED) {
		forget_ended(s, p);
	} else {
		*ret_err = err;
		return false;
	}
	return true;
}

/* While it waits for that, one of its threads has mapped a library, or is about to execute a program. */
static void come(struct ubp_session *s, struct process *p)
{
	pid_t pid = p->pid;
	struct ubp_err err;
	struct held held;

	if (!take_back(s, p, &err)) {
		alone_heard(&s->tracer, p);
		stand_alone_refuse(p);
		return;
	}
	p = map_get(&s->tracer.processes, (uint64_t)pid);
	if (!p || p->is_alone)
		return;
	p->probes->n_missed += missed_by(p->space) != p->probes->missed;
	look_later(s, p);
	/* It does not wait for long: it has made a child by vfork() meanwhile, whose stops are to be handled. */
	if (attach_is_stuck(p))
		return;
	if (attach_hold_one(&s->tracer, p, &held, &err) < 0)
		return;
	session_mappings_changed(s, &held);
	if (held_lasts(&held))
		held_let_go(&held);
}

/* What has ended, executed a program, or rung. */
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
			forget_ended(s, p);
			break;
		case ALONE_EXECUTED:
			take_executed(s, p);
			break;
		case ALONE_RANG:
			come(s, p);
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

static const char too_few[] = "no descriptors would be left to trace it again";
static const char misses[] = "hits were missed each time that nobody traced it";

static void try_one(struct ubp_session *s, struct process *p)
{
	struct ubp_err err;
	const char *why = stand_alone_why_not(&s->plant, p);

	if (!why && p->probes->n_missed >= MISSES_MOST)
		why = misses;
	if (!why && !spare_keep(&s->spare))
		why = too_few;
	note_why(s, why);
	if (why)
		return;
	ubp_err_reset(&err);
	switch (let_go(s, p, &err)) {
	case 0:
		break;
	case -ENOTSUP:
		note_why(s, s->letting.refused);
		break;
	default:
		note_why(s, "its threads could not be let go of");
		break;
	}
}

/* One that is alone, and of whose memory nothing is known, could not be seized behind an exec. */
static bool is_to_be_tried(const struct process *p)
{
	return p && (!p->is_alone || !p->space->plant);
}

static void try_all(struct ubp_session *s, uint64_t now)
{
	size_t n;
	pid_t *pids = tracer_pids(&s->tracer, &n);

	s->letting.next_ns = now + LATER_NS;
	for (size_t i = 0; pids && i < n; i++) {
		struct process *p = map_get(&s->tracer.processes, (uint64_t)pids[i]);

		if (!is_to_be_tried(p))
			continue;
		if (p->probes->look_ns <= now) {
			uint64_t wait = 2 * p->probes->wait_ns;

			p->probes->wait_ns = wait < AGAIN_NS   ? AGAIN_NS
					     : wait < LATER_NS ? wait
							       : LATER_NS;
			p->probes->look_ns = now + p->probes->wait_ns;
			if (p->is_alone)
				take_executed(s, p);
			else
				try_one(s, p);
			p = map_get(&s->tracer.processes, (uint64_t)pids[i]);
		}
		if (is_to_be_tried(p) && p->probes->look_ns < s->letting.next_ns)
			s->letting.next_ns = p->probes->look_ns;
	}
	ids_give(&s->tracer, pids);
}

/* While one is looked after news of others may come, whose wake-up wakes nobody then. */
static void take_news(struct ubp_session *s)
{
	while (alone_take_news(&s->tracer))
		look_after(s);
}

static bool is_any_alone(const struct ubp_session *s)
{
	size_t pos = 0;
	void *value;

	while (map_next(&s->tracer.processes, &pos, NULL, &value)) {
		if (((const struct process *)value)->is_alone)
			return true;
	}
	return false;
}

/* Some were used to look after those that are alone; without them these are traced. */
static void keep_spare(struct ubp_session *s)
{
	struct ubp_err ignored;

	if (spare_keep(&s->spare) || !is_any_alone(s))
		return;
	(void)letting_go_take_back(s, &ignored);
	note_why(s, too_few);
}

void letting_go_pass(struct ubp_session *s)
{
	const char *why = letting_go_why_none(s);
	uint64_t now;

	if (s->opt.stay) {
		note_why(s, why);
		return;
	}
	take_news(s);
	keep_spare(s);
	if (why) {
		note_why(s, why);
		return;
	}
	now = event_clock_now(CLOCK_KIND_MONO);
	if (now < s->letting.next_ns || s->change.ticket)
		return;
	try_all(s, now);
	take_news(s);
	if (alarm_begin(&s->letting.alarm, &s->tracer))
		alarm_in(&s->letting.alarm,
			 s->letting.next_ns > now ? s->letting.next_ns - now : AGAIN_NS);
}

void letting_go_later(struct ubp_session *s, const struct process *p)
{
	if (!s->opt.stay)
		look_later(s, p);
}

void letting_go_soon(struct ubp_session *s)
{
	if (!s->opt.stay)
		look_in(s, event_clock_now(CLOCK_KIND_MONO), NEW_NS);
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
		p = map_get(&s->tracer.processes, (uint64_t)pids[i]);
		if (p && !p->is_alone)
			look_again(s, p);
	}
	ids_give(&s->tracer, pids);
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
