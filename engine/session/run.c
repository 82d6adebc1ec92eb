/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracing thread of a session: handles stops until it is told to end, and takes
 * everything out again.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/cancel.h"
#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/plant.h"
#include "engine/plant/setup.h"
#include "engine/plant/taken_sites.h"
#include "engine/plant/upgrade.h"
#include "engine/plant/way_out.h"
#include "engine/session/budget.h"
#include "engine/session/handler.h"
#include "engine/session/inside.h"
#include "engine/session/letting_go.h"
#include "engine/session/mail.h"
#include "engine/session/once.h"
#include "engine/session/processes.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/probe_list.h"
#include "engine/space/space.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait_loop.h"

#define STOPS_PER_TURN 64
#define JUMPS_BEGIN_NS 250000000ULL /* before tracing is said to have begun ... */
#define JUMPS_BEGIN_MAX                                                                        \
	250 /* ... unless there are more processes, of which few would have theirs by then */
#define JUMPS_TURN_NS 5000000ULL /* between two looks at what has stopped */
#define SETTLE_MS     20         /* for stops that are on their way */
#define SLACK_NS      1000UL     /* of naps while a thread is about to stop */

void session_end(struct ubp_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->tracing.has_ended = true;
	pthread_mutex_unlock(&s->lock);
	event_queue_wake(s->out.queue);
	session_news(s);
}

int session_plant(struct ubp_session *s, const struct held *held, struct ubp_err *err)
{
	bool was_unguarded = plant_is_unguarded(held->t->process->space);
	int rc;

	processes_begin(s, held->t->process);
	tracer_stop_begin(&s->tracer);
	rc = plant_update(&s->plant, held, err);
	tracer_stop_end(&s->tracer);
	if (rc == 0 && held_lasts(held)) {
		tell_planted(s, held->t->process, was_unguarded);
		upgrade_planted(&s->plant, held);
		letting_go_soon(s);
	}
	return rc;
}

/* With those that were defined before. */
static int begin_planting(struct ubp_session *s)
{
	const struct plant_options opt = {
		.step = s->opt.mode == UBP_MODE_STEP,
		.force = s->opt.force,
		.lossless = s->opt.lossless,
		.once = s->opt.once,
		.eager = s->opt.mode == UBP_MODE_JUMP,
		.beside_kernel = s->opt.beside_kernel,
		.count_dropped = s->opt.count_dropped || s->opt.limits.max_rate ||
				 s->opt.limits.max_overhead,
		.stay = letting_go_why_none(s) != NULL,
		.follows = session_follows_children(s),
		.unwinds = stacks_unwinds(s),
		.frames = s->opt.stack == UBP_STACK_FP ? stacks_frames(s) : 0,
		.rings = s->out.rings,
		.find_exits = definitions_find_exits,
		.find_exit_jumps = definitions_find_exit_jumps,
		.find_lead = definitions_find_lead,
		.defs = s->defined,
		.object_of = definitions_object_of,
		.rings_made = stacks_mapped,
		.ctx = s,
	};
	size_t n = definitions_n(s->defined);
	struct uprobe **probes = calloc(n + 1, sizeof(*probes));
	int rc = -ENOMEM;

	for (size_t i = 0; probes && i < n; i++)
		probes[i] = definitions_uprobe(s->defined, i);
	if (probes && definitions_settle(s->defined) == 0)
		rc = plant_begin(&s->plant, &opt, probes, n);
	free(probes);
	return rc;
}

/* Somebody has to look now. */
static void on_full(void *ctx)
{
	session_news(ctx);
}

static int begin_hits(struct ubp_session *s)
{
	const struct hit_options opt = {
		.queue = s->out.queue,
		.clock = s->clock,
		.only_tid = s->opt.tid,
		.lossless = s->opt.lossless,
		.stack = s->opt.stack != UBP_STACK_NONE,
		.frames = stacks_frames(s),
		.maps = s->stacks.maps,
		.unwinder = s->stacks.unwinder,
		.loader = loader_stopped,
		.tracing = release_for_tracing,
		.full = on_full,
		.not_stepped = tell_not_stepped,
		.handle = handler_run,
		.ctx = s,
	};

	return hit_begin(&s->hit, &s->tracer, &s->plant, &opt);
}

static int set_up(struct ubp_session *s, struct ubp_err *err)
{
	int rc = begin_planting(s);

	if (rc == 0)
		rc = begin_hits(s);
	if (rc < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = tracer_init(&s->tracer, &session_tracer_ops, s, err);
	if (rc < 0)
		return rc;
	if (!spare_keep(&s->spare))
		return ubp_fail_sys(err, "descriptors to take probes out with");
	s->tracer.cancelled = mailbox_urgent(s->mail);
	plant_set_tracer(&s->plant, &s->tracer);
	rc = targets_begin(s, err);
	if (rc == 0)
		(void)upgrade_pass(&s->plant, &s->tracer,
				   s->tracer.processes.n > JUMPS_BEGIN_MAX ? JUMPS_TURN_NS
									   : JUMPS_BEGIN_NS);
	/* What waits from now on has to be waited for; but not what reads files. */
	s->tracer.cancelled = NULL;
	return rc;
}

static bool must_stop(const struct ubp_session *s)
{
	return mailbox_has(s->mail, MAILBOX_KIND(MAIL_STOP));
}

static void tear_down(struct ubp_session *s)
{
	size_t pos = 0;
	void *value;

	s->is_ending = true;
	cancel_by(NULL);
	spare_use(&s->spare);
	letting_go_end(s);
	loader_end(s);
	budget_end(s);
	once_end(s);
	if (s->n_released > 1)
		session_warn(s, "%u processes in all had other tracers", s->n_released);
	release_pass(s);
	taken_sites_look(&s->plant);
	while (map_next(&s->tracer.processes, &pos, NULL, &value))
		tell_hidden(s, value);
	way_out_all(&s->tracer);
	/* Nobody stands still while what is known of them all is freed. */
	tracer_settle(&s->tracer, SETTLE_MS);
	tell_all_left(s);
	tell_untaken(s);
	event_queue_wake(s->out.queue);
	tracer_fini(&s->tracer);
	hit_end(&s->hit);
}

static void announce(struct ubp_session *s, int rc, const struct ubp_err *err)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	if (rc < 0) {
		s->tracing.err = *err;
		s->tracing.start_failed = true;
	} else {
		s->tracing.is_ready = true;
	}
	pthread_mutex_unlock(&s->lock);
	(void)again_write(s->tracing.started_fd, &one, sizeof(one));
}

/*
 * Every stop of a tracee sends us SIGCHLD. Where nobody handles it, the kernel
 * drops it at once, but only if the tracing thread does not block it: else it
 * is queued and wakes another thread of the process, at each hit.
 */
static void let_sigchld_be_dropped(void)
{
	struct sigaction sa;
	sigset_t set;

	if (sigaction(SIGCHLD, NULL, &sa) < 0 || (sa.sa_flags & SA_SIGINFO) ||
	    (sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN))
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Are the kernel's calls out of order without which there is no tracing? */
static bool is_lost(const struct ubp_session *s)
{
	return s->tracer.wait_code || again_is_hopeless();
}

/* Threads that stop can't be told any more, or not be let go on: none may be left in a stop. */
static void fail(struct ubp_session *s)
{
	if (s->tracer.wait_code)
		session_warn(s, "tracing ends: threads cannot be waited for: %s",
			     strerror(s->tracer.wait_code));
	else
		session_warn(s, "tracing ends: ptrace() or waitid() does not work any more");
	session_mark_failed(s);
	session_end(s);
}

void *run_thread(void *arg)
{
	struct ubp_session *s = arg;
	struct ubp_err err;
	int rc;

	s->tracing.tid = gettid();
	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
	let_sigchld_be_dropped();
	cancel_by(mailbox_urgent(s->mail));
	rc = set_up(s, &err);

	if (rc == -EINTR && s->plant.unread[0])
		rc = ubp_fail(&err, EINTR,
			      "ended while %s was read, before all probes were planted",
			      s->plant.unread);
	if (rc < 0) {
		/* Whatever was attached and planted already goes first. */
		finder_stop(s->newcomer.finder, &s->count.finder);
		s->newcomer.finder = NULL;
		tear_down(s);
		/* Nobody answers changes that are asked for now. */
		mailbox_close(s->mail, MAIL_NEWCOMERS);
		announce(s, rc, &err);
		return NULL;
	}
	budget_begin(s);
	once_begin(s);
	announce(s, 0, &err);
	targets_end_with_last(s);
	while (!must_stop(s) && !is_lost(s)) {
		release_pass(s);
		budget_pass(s);
		once_pass(s);
		changes_pass(s);
		loader_pass(s);
		/* Hits do not wait while jumps are made in many processes. */
		if (!upgrade_pass(&s->plant, &s->tracer, JUMPS_TURN_NS)) {
			tracer_poll(&s->tracer, STOPS_PER_TURN);
		} else {
			letting_go_pass(s);
			(void)tracer_run(&s->tracer, STOPS_PER_TURN);
		}
		newcomers_take(s);
	}
	if (is_lost(s))
		fail(s);
	tear_down(s);
	mailbox_close(s->mail, MAIL_NEWCOMERS);
	return NULL;
}
