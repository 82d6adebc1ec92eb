/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracing thread of a session: handles stops until it is told to end, and takes
 * everything out again.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/event/ring.h"
#include "engine/object/maps.h"
#include "engine/session/session.h"
#include "engine/trace/attach.h"
#include "engine/trace/follow.h"
#include "engine/trace/task.h"

#define STOPS_PER_TURN 64
#define JUMPS_BEGIN_NS 250000000ULL /* before tracing is said to have begun */
#define JUMPS_TURN_NS  5000000ULL   /* between two looks at what has stopped */

void session_news(struct ubp_session *s)
{
	const uint64_t one = 1;

	(void)again_write(s->news_fd, &one, sizeof(one));
}

void session_warn(struct ubp_session *s, const char *fmt, ...)
{
	struct warning *w;
	char text[WARNING_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w = malloc(sizeof(*w) + strlen(text) + 1);
	pthread_mutex_lock(&s->lock);
	if (w) {
		w->next = NULL;
		memcpy(w->text, text, strlen(text) + 1);
		*s->last_warning = w;
		s->last_warning = &w->next;
	} else if (!s->spare_warning[0]) {
		memcpy(s->spare_warning, text, strlen(text) + 1);
	}
	pthread_mutex_unlock(&s->lock);
	session_news(s);
}

void session_warn_now(const struct ubp_session *s, const char *fmt, ...)
{
	char text[WARNING_MAX];
	va_list ap;

	if (!s->opt.warn)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->opt.warn(s->opt.warn_ctx, text);
}

void session_mark_known(struct ubp_session *s, pid_t pid, bool known)
{
	pthread_mutex_lock(&s->lock);
	if (known)
		(void)map_put(&s->known, (uint64_t)pid, s);
	else
		map_remove(&s->known, (uint64_t)pid);
	pthread_mutex_unlock(&s->lock);
}

void session_count_process(struct ubp_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_processes++;
	pthread_mutex_unlock(&s->lock);
}

static bool is_open(const struct ubp_session *s)
{
	return !s->opt.n_pids && !s->opt.tid && !s->argv;
}

/* Are processes of this kind to be kept when a traced one gives birth to them? */
bool session_follows_children(const struct ubp_session *s)
{
	if (s->opt.follow == UBP_FOLLOW_AUTO)
		return !s->opt.n_pids && !s->opt.tid;
	return s->opt.follow == UBP_FOLLOW_YES;
}

static void end_session(struct ubp_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_mutex_unlock(&s->lock);
	event_queue_wake(s->queue);
	session_news(s);
}

/* --- what the tracer asks (struct tracer_ops) ------------------------------------- */

static enum trap_verdict on_trap(void *ctx, struct tracee *t)
{
	struct ubp_session *s = ctx;

	enum trap_verdict verdict = hit_trap(&s->hit, t);

	if (verdict == TRAP_FOREIGN)
		release_if_spared(s, t, SIGTRAP);
	return verdict;
}

static bool on_pc_has_trap(void *ctx, struct tracee *t, uint64_t pc)
{
	(void)ctx;
	return hit_pc_has_trap(t, pc);
}

static bool on_signal(void *ctx, struct tracee *t, int sig)
{
	struct ubp_session *s = ctx;

	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	bool is_ours = hit_signal(&s->hit, t, sig);

	if (!is_ours && map_get(&s->tracer.tracees, (uint64_t)tid) == t &&
	    t->n_execs == n_execs)
		release_if_spared(s, t, sig);
	return is_ours;
}

static void tell_lost_returns(struct ubp_session *s, const struct process *p)
{
	const struct plant_space *ps = p->space->plant;
	size_t more = 0;
	const struct uprobe *lost = ps ? plant_lost_returns(p->space, &more) : NULL;
	char others[48] = "";

	if (!lost)
		return;
	if (more)
		(void)snprintf(others, sizeof(others), " (and %zu more)", more);
	session_warn(s, "returns of %s%s cannot be caught in process %d: %s",
		     lost->what ? lost->what : "a function", others, (int)p->pid, ps->no_room);
}

/* What an earlier session left, and what --force left out. */
static void tell_about(struct ubp_session *s, const struct process *p, bool was_unguarded)
{
	struct plant_space *ps = p->space->plant;

	if (ps && ps->n_leftovers)
		session_warn(s,
			     "process %d: %u breakpoint%s taken out that a killed ubp had left",
			     (int)p->pid, ps->n_leftovers, ps->n_leftovers == 1 ? "" : "s");
	if (ps && ps->n_left_raised)
		session_warn(s,
			     "process %d: %u semaphore%s lowered that a killed ubp had raised",
			     (int)p->pid, ps->n_left_raised, ps->n_left_raised == 1 ? "" : "s");
	if (ps)
		ps->n_leftovers = ps->n_left_raised = 0;
	tell_lost_returns(s, p);
	if (was_unguarded || !plant_is_unguarded(p->space))
		return;
	session_warn(s,
		     "process %d has probes in places that nothing guards (--force): if ubp is "
		     "killed (SIGKILL), it dies too",
		     (int)p->pid);
	pthread_mutex_lock(&s->lock);
	s->n_unguarded++;
	pthread_mutex_unlock(&s->lock);
}

/* What could not be taken out of a process, which is left so. */
void session_tell_left(struct ubp_session *s, pid_t pid, const struct plant_left *left)
{
	char where[32] = "", more[48] = "";

	if (!left || !left->n)
		return;
	if (left->vaddr)
		(void)snprintf(where, sizeof(where), " at 0x%lx", (unsigned long)left->vaddr);
	if (left->n > 1)
		(void)snprintf(more, sizeof(more), " (and %u more)", left->n - 1);
	pthread_mutex_lock(&s->lock);
	s->has_failed = true;
	pthread_mutex_unlock(&s->lock);
	session_warn(s,
		     "process %d: %s%s%s could not be taken out: %s; %sthe next ubp that "
		     "traces it does so",
		     (int)pid, left->what, where, more, strerror(left->code),
		     left->is_live ? "the guard stays with it, and " : "");
}

/* plant_update(), and a word about what the user should know. */
int session_plant(struct ubp_session *s, struct tracee *t, const struct ubp_regs *at,
		  struct ubp_err *err)
{
	bool was_unguarded = plant_is_unguarded(t->process->space);
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	size_t n = 0;
	int rc;

	tracer_stop_begin(&s->tracer);
	rc = plant_update(&s->plant, &s->tracer, t, at, &n, err);
	tracer_stop_end(&s->tracer);
	if (rc == 0 && map_get(&s->tracer.tracees, (uint64_t)tid) == t &&
	    t->n_execs == n_execs) {
		tell_about(s, t->process, was_unguarded);
		jumps_due(s, t->process->space, t->n_execs > 0);
	}
	return rc;
}

/* Plant what its mappings call for; LET_GO: nothing of ours may stay in it. */
static enum keep_verdict update(struct ubp_session *s, struct tracee *t,
				const struct ubp_regs *at)
{
	struct process *p = t->process;
	pid_t pid = p->pid;
	struct ubp_err err;
	int rc = session_plant(s, t, at, &err);

	if (rc == -ESRCH)
		return KEEP_TRACING; /* gone; its end is or will be reported */
	if (rc < 0)
		session_warn(s, "process %d: %s", (int)pid, err.text);
	return KEEP_TRACING;
}

/* The guard of a new process that is held goes, if nothing needs it. */
static void take_guard(struct ubp_session *s, struct tracee *first, struct plant_left *left)
{
	struct space *space = first->process->space;
	pid_t tid = first->tid;
	struct ubp_regs regs;
	struct ubp_err err;
	int rc = guard_close_mask(first);

	if (rc == 0 && space->plant)
		rc = ubp_host_get_regs(tid, &regs);
	if (rc == 0 && space->plant)
		rc = guard_uninstall(&s->tracer, first, &regs, &err);
	if (map_get(&s->tracer.tracees, (uint64_t)tid) != first)
		return;
	if (rc == 0 || rc == -EACCES)
		plant_unhook(space, tid, tid, left);
	else if (rc != -ESRCH)
		plant_left_note(left, "the handler of SIGTRAP", 0, rc);
}

/* Nothing of ours may stay in a new process that is held. *left: what does all the same. */
static enum keep_verdict leave_child(struct ubp_session *s, struct tracee *first,
				     struct plant_left *left)
{
	pid_t tid = first->tid;

	if (!left->is_live)
		take_guard(s, first, left);
	session_tell_left(s, tid, left);
	return LET_GO;
}

static enum keep_verdict forked_whole(struct ubp_session *s, struct process *parent,
				      struct tracee *first)
{
	struct space *space = first->process->space;
	struct plant_left left = { 0 };
	bool copied = plant_copy(parent->space, space, first) == 0;

	/* Born while breakpoints are taken out, it may have copies of them. */
	if (copied && !first->process->silent) {
		session_mark_known(s, first->tid, true);
		session_count_process(s);
		return KEEP_TRACING;
	}
	plant_clean_copy(parent->space, space, first->tid, &left);
	return leave_child(s, first, &left);
}

/* It was born while breakpoints were written: its parent has more than it has. */
static enum keep_verdict forked_partly(struct ubp_session *s, struct tracee *first)
{
	bool keep = !first->process->silent;
	struct plant_left left = { 0 };
	pid_t tid = first->tid;
	struct ubp_err err;
	int rc = plant_clean_partly(&s->tracer, first, &err);

	if (map_get(&s->tracer.tracees, (uint64_t)tid) != first)
		return LET_GO;
	if (rc < 0) {
		plant_left_live(&left, "all breakpoints", 0, rc);
		session_tell_left(s, tid, &left);
		return LET_GO;
	}
	if (!keep)
		return leave_child(s, first, &left);
	/* Whatever it has of the guard is found out by installing it. */
	first->process->is_guarded = false;
	session_mark_known(s, tid, true);
	session_count_process(s);
	return update(s, first, NULL);
}

/* Its parent was seized, and nothing planted yet. */
static enum keep_verdict forked_early(struct ubp_session *s, struct tracee *first)
{
	if (first->process->silent)
		return LET_GO;
	session_mark_known(s, first->tid, true);
	session_count_process(s);
	return update(s, first, NULL);
}

/* Its breakpoints are its parent's; it is kept until it has its own memory. */
static enum keep_verdict forked_sharing(struct ubp_session *s, struct tracee *first)
{
	struct process *p = first->process;
	const struct plant_space *ps = p->space->plant;

	p->silent = !session_follows_children(s);
	jumps_born(s, p->born_of, first);
	session_mark_known(s, first->tid, true);
	/* Signal actions are its own: born before the guard, it has none. */
	p->is_guarded = p->is_guarded && task_catches(first->tid, SIGTRAP);
	return !p->is_guarded && ps && ps->sites.n && !plant_is_closing(p->space)
		       ? update(s, first, NULL)
		       : KEEP_TRACING;
}

static enum keep_verdict on_forked(void *ctx, struct process *parent, struct tracee *first,
				   bool shares)
{
	struct ubp_session *s = ctx;
	struct space *space = first->process->space;
	bool is_whole;

	first->process->is_guarded = parent->is_guarded;
	if (shares)
		return forked_sharing(s, first);
	first->process->silent =
		!session_follows_children(s) || plant_is_closing(parent->space);
	if (!parent->space->plant)
		return forked_early(s, first);
	is_whole = plant_is_whole_copy(parent->space, space) &&
		   !(first->process->silent && plant_forgot(parent->space));
	return is_whole ? forked_whole(s, parent, first) : forked_partly(s, first);
}

static bool is_dynamic(const struct process *p)
{
	const struct plant_space *ps = p->space->plant;
	size_t pos = 0;
	void *value;

	while (ps && map_next(&ps->sites, &pos, NULL, &value))
		if (((struct site *)value)->watches & WATCH_LOADER)
			return true;
	return false;
}

bool session_has_probes(const struct process *p)
{
	const struct plant_space *ps = p->space->plant;
	size_t pos = 0;
	void *value;

	while (ps && map_next(&ps->sites, &pos, NULL, &value))
		if (site_is_probed(value))
			return true;
	return false;
}

static enum keep_verdict on_execed(void *ctx, struct tracee *t)
{
	struct ubp_session *s = ctx;
	pid_t tid = t->tid;

	t->process->is_guarded = false;
	t->process->loses_guard = false;
	t->process->ends_by_trap = false;
	(void)guard_close_mask(t);
	if (t->process->silent || s->is_ending)
		return LET_GO; /* a child that nobody asked for, now in its own memory */
	session_mark_known(s, tid, true);
	(void)update(s, t, NULL);
	if (map_get(&s->tracer.tracees, (uint64_t)tid) != t)
		return KEEP_TRACING;
	/* Static and not one of ours: it can't become one without another exec. */
	if (is_open(s) && !session_has_probes(t->process) && !is_dynamic(t->process)) {
		session_mark_known(s, tid, false);
		return LET_GO;
	}
	return KEEP_TRACING;
}

static void on_loader(void *ctx, struct tracee *t, const struct ubp_regs *at)
{
	struct ubp_session *s = ctx;
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;

	(void)update(s, t, at);
	if (map_get(&s->tracer.tracees, (uint64_t)tid) == t && t->n_execs == n_execs)
		stacks_mapped(s, t);
	/* Held by a remote call: the hit goes on as if there had been none. */
	if (map_get(&s->tracer.tracees, (uint64_t)tid) == t && t->n_execs == n_execs)
		t->held = false;
}

static void on_born(void *ctx, pid_t mother, struct tracee *t)
{
	struct ubp_session *s = ctx;

	jumps_born(s, mother, t);
}

static void on_vfork_done(void *ctx, struct tracee *t)
{
	(void)ctx;
	if (t->lends)
		plant_take_back(t->process->space, t->tid);
	t->lends = false;
}

static void on_tracing(void *ctx, struct tracee *t, enum site_watch watch,
		       const struct ubp_regs *at)
{
	release_for_tracing(ctx, t, watch, at);
}

static void on_tracee_gone(void *ctx, struct tracee *t)
{
	(void)ctx;
	hit_tracee_gone(t);
}

static void on_process_gone(void *ctx, struct process *p)
{
	struct ubp_session *s = ctx;
	bool has_ended = false;

	session_mark_known(s, p->pid, false);
	for (size_t i = 0; i < s->opt.n_pids; i++)
		if (s->pids[i] == p->pid && s->n_wanted)
			has_ended = --s->n_wanted == 0;
	/* Their children are wanted, too. */
	if (s->opt.follow == UBP_FOLLOW_YES)
		has_ended = s->opt.n_pids && !s->n_wanted && !s->tracer.processes.n;
	if (has_ended || (s->opt.tid && s->opt.n_pids == 0 && s->tracer.processes.n == 0))
		end_session(s);
}

static void on_command_ended(void *ctx, int status)
{
	struct ubp_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->command_ended = true;
	s->command_status = status;
	pthread_mutex_unlock(&s->lock);
	end_session(s);
}

static void on_space_gone(void *ctx, struct space *space)
{
	struct ubp_session *s = ctx;

	stacks_space_gone(s, space);
	plant_forget(space);
}

static void on_idle(void *ctx)
{
	struct ubp_session *s = ctx;

	follow_nobody(&s->tracer);
}

static const struct tracer_ops tracer_ops = {
	.trap = on_trap,
	.pc_has_trap = on_pc_has_trap,
	.signal = on_signal,
	.born = on_born,
	.forked = on_forked,
	.execed = on_execed,
	.vfork_done = on_vfork_done,
	.tracee_gone = on_tracee_gone,
	.process_gone = on_process_gone,
	.command_ended = on_command_ended,
	.space_gone = on_space_gone,
	.idle = on_idle,
};

static int fill_plant(struct ubp_session *s, struct ubp_err *err)
{
	if (windows_settle(s) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	s->plant.step = s->opt.mode == UBP_MODE_STEP;
	s->plant.force = s->opt.force;
	s->plant.rings = s->rings;
	if (s->rings)
		ring_set_n_probes(s->rings, (unsigned)s->n_probes);
	s->plant.lossless = s->opt.lossless;
	s->plant.count_dropped = s->opt.count_dropped;
	s->plant.frames = s->opt.stack == UBP_STACK_FP ? stacks_frames(s) : 0;
	s->plant.find_exits = define_find_exits;
	s->plant.ctx = s;
	s->plant.probes = calloc(s->n_probes + 1, sizeof(struct uprobe *));
	if (!s->plant.probes)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < s->n_probes; i++)
		s->plant.probes[s->plant.n_probes++] = &s->probes[i]->uprobe;
	return plant_sort(&s->plant) < 0 ? ubp_fail(err, ENOMEM, "out of memory") : 0;
}

static int fill_hit(struct ubp_session *s, struct ubp_err *err)
{
	s->hit = (struct hit){
		.tracer = &s->tracer,
		.plant = &s->plant,
		.queue = s->queue,
		.clock = s->clock,
		.only_tid = s->opt.tid,
		.lossless = s->opt.lossless,
		.stack = s->opt.stack != UBP_STACK_NONE,
		.frames = stacks_frames(s),
		.maps = s->stack_maps,
		.unwinder = s->unwinder,
		.loader = on_loader,
		.wants_rings = jumps_want_rings,
		.tracing = on_tracing,
		.wants_jumps = jumps_wanted,
		.ctx = s,
	};
	s->hit.scratch = fetch_scratch_new();
	return s->hit.scratch ? 0 : ubp_fail(err, ENOMEM, "out of memory");
}

static int set_up(struct ubp_session *s, struct ubp_err *err)
{
	int rc = fill_plant(s, err);

	if (rc == 0)
		rc = fill_hit(s, err);
	if (rc == 0)
		rc = tracer_init(&s->tracer, &tracer_ops, s, err);
	if (rc < 0)
		return rc;
	rc = targets_begin(s, err);
	if (rc == 0)
		(void)jumps_pass(s, JUMPS_BEGIN_NS);
	return rc;
}

/* --- the loop ----------------------------------------------------------------------------- */

/* All that were found meanwhile: together they cost less. */
static void try_candidates(struct ubp_session *s)
{
	pid_t *pids;
	size_t n;

	pthread_mutex_lock(&s->lock);
	pids = s->candidates;
	n = s->n_candidates;
	s->candidates = NULL;
	s->n_candidates = s->cap_candidates = 0;
	pthread_mutex_unlock(&s->lock);
	if (n)
		targets_try(s, pids, n);
	free(pids);
}

static bool must_stop(struct ubp_session *s)
{
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop_asked;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

static void tell_all_left(struct ubp_session *s)
{
	size_t pos = 0;
	void *value;

	while (map_next(&s->tracer.processes, &pos, NULL, &value)) {
		const struct process *p = value;

		if (!plant_left(p->space))
			continue;
		session_tell_left(s, p->pid, plant_left(p->space));
		/* Once, whoever else lives in that memory. */
		((struct plant_space *)p->space->plant)->left.n = 0;
	}
}

static void tell_untaken(struct ubp_session *s)
{
	unsigned n = s->tracer.n_untaken;

	if (!n)
		return;
	session_warn(s, "%u hit%s or new process%s not taken up: out of memory", n,
		     n == 1 ? "" : "s", n == 1 ? " was" : "es were");
	pthread_mutex_lock(&s->lock);
	s->has_failed = true;
	pthread_mutex_unlock(&s->lock);
}

static void tear_down(struct ubp_session *s)
{
	size_t pos = 0;
	void *value;

	s->is_ending = true;
	if (s->n_released > 1)
		session_warn(s, "%u processes in all had other tracers", s->n_released);
	release_pass(s);
	jumps_end(s);
	while (map_next(&s->tracer.processes, &pos, NULL, &value))
		plant_remove(value);
	attach_drain(&s->tracer, NULL);
	plant_leave(&s->tracer, NULL);
	tell_all_left(s);
	tell_untaken(s);
	event_queue_wake(s->queue);
	tracer_fini(&s->tracer);
	fetch_scratch_free(s->hit.scratch);
	s->hit.scratch = NULL;
}

static void announce(struct ubp_session *s, int rc, const struct ubp_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (rc < 0) {
		s->thread_err = *err;
		s->start_failed = true;
	} else {
		s->is_ready = true;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
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

/* Threads that stop can't be told any more: none may be left in a stop. */
static void fail(struct ubp_session *s)
{
	session_warn(s, "tracing ends: threads cannot be waited for: %s",
		     strerror(s->tracer.wait_code));
	pthread_mutex_lock(&s->lock);
	s->has_failed = true;
	pthread_mutex_unlock(&s->lock);
	end_session(s);
}

void *run_thread(void *arg)
{
	struct ubp_session *s = arg;
	struct ubp_err err;
	int rc;

	s->thread_tid = gettid();
	let_sigchld_be_dropped();
	rc = set_up(s, &err);

	if (rc < 0) {
		/* Whatever was attached and planted already goes first. */
		finder_stop(s->finder);
		s->finder = NULL;
		tear_down(s);
		announce(s, rc, &err);
		return NULL;
	}
	announce(s, 0, &err);
	while (!must_stop(s) && !s->tracer.wait_code) {
		release_pass(s);
		/* Hits do not wait while jumps are made in many processes. */
		if (jumps_pass(s, JUMPS_TURN_NS))
			(void)tracer_run(&s->tracer, STOPS_PER_TURN);
		else
			tracer_poll(&s->tracer, STOPS_PER_TURN);
		try_candidates(s);
	}
	if (s->tracer.wait_code)
		fail(s);
	tear_down(s);
	return NULL;
}
