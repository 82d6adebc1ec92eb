/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Which processes are traced: the command, those that were named, or every one that
 * maps a probed file, as they come.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/define/definitions.h"
#include "engine/elf/object.h"
#include "engine/os/maps.h"
#include "engine/plant/births.h"
#include "engine/plant/plant.h"
#include "engine/session/exclude.h"
#include "engine/session/inside.h"
#include "engine/session/letting_go.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/probe_list.h"
#include "engine/trace/attach.h"
#include "engine/trace/command.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/members.h"
#include "engine/trace/permission.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define ATTACH_TRIES  20
#define STOPS_AT_ONCE 64
#define LOOKS_AT_ONCE 16 /* at mappings */

/* One more thing that is traced. 0: it is seized; 1: it was traced already. */
static int seize(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (!p)
		return attach_process(&s->tracer, pid, &p, err);
	p->silent = p->is_leaving = false;
	if (p->waits) {
		p->waits = false;
		return 0;
	}
	return p->at_exec ? attach_executed(&s->tracer, p, err) : 1;
}

static int plant_in_seized(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);
	int rc = p ? targets_plant_in(s, p, err)
		   : ubp_fail(err, ESRCH, "process %d has ended", (int)pid);

	if (rc < 0)
		return rc;
	session_mark_known(s, pid, true);
	session_count_process(s);
	targets_plant_in_sharers(s, pid);
	return 0;
}

/* Some that are attached to together, with what became of each: as seize() tells, or -errno. */
struct batch {
	struct ubp_session *s;
	const pid_t *pids;
	int *rcs;
	size_t n;
	struct ubp_err *err; /* of the last that failed */
};

static void sharer_refused(void *ctx, pid_t pid, int rc, const struct ubp_err *err)
{
	struct batch *b = ctx;

	for (size_t i = 0; i < b->n; i++)
		if (b->pids[i] == pid && b->rcs[i] == 0) {
			b->rcs[i] = rc;
			*b->err = *err;
			attach_undo(&b->s->tracer, pid);
		}
}

static void find_sharers(struct batch *b)
{
	pid_t *seized = malloc((b->n + 1) * sizeof(*seized));
	size_t n = 0;

	for (size_t i = 0; seized && i < b->n; i++) {
		pid_t pid = b->rcs[i] == 0 ? b->pids[i] : 0;

		if (pid && newcomers_has_executed(b->s, pid))
			attach_sharers_since_exec(&b->s->tracer, pid, sharer_refused, b);
		else if (pid)
			seized[n++] = pid;
	}
	if (seized)
		attach_sharers(&b->s->tracer, seized, n, sharer_refused, b);
	free(seized);
}

static int try_attach(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	int rc = seize(s, pid, err);
	struct batch b = { .s = s, .pids = &pid, .rcs = &rc, .n = 1, .err = err };

	/* Seized before, and not planted in: that had to be given up, as a process that shared its memory was
	 * about to go, or in an exec; or it has ended. */
	if (rc == 1 && !map_get(&s->found.known, (uint64_t)pid))
		rc = task_live_thread(pid)
			     ? 0
			     : ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	if (rc == 0)
		find_sharers(&b);
	if (rc == 0)
		rc = plant_in_seized(s, pid, err);
	return rc < 0 ? rc : 0;
}

static int attach_and_plant(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	int rc, tries = 0;

	/* An exec ends all threads but one, which takes another's id: it may look as
	 * if the process had ended. */
	do {
		rc = try_attach(s, pid, err);
	} while (rc == -ESRCH && ++tries < ATTACH_TRIES && task_live_thread(pid));
	return rc;
}

static void handle_stops(struct ubp_session *s)
{
	newcomers_take_held(s);
	tracer_poll(&s->tracer, STOPS_AT_ONCE);
	release_pass(s);
}

static void let_newcomer_go(const struct ubp_session *s, pid_t pid)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (p)
		attach_let_stay(p);
}

/*
 * First all are seized, which stops nobody; then it takes one look at all processes to find
 * who else lives in their memories; then each is planted in. Stops are handled in between: what
 * is traced already may run into one at any time. @done is told of each in turn, and may end it. One of @pids
 * that ends meanwhile and is counted becomes 0 (.trying), and is passed over.
 */
static int attach_many(struct ubp_session *s, const pid_t *pids, size_t n,
		       int (*done)(struct ubp_session *s, pid_t pid, int rc,
				   struct ubp_err *err),
		       struct ubp_err *err)
{
	int rc = 0, *rcs = calloc(n + 1, sizeof(*rcs));
	struct batch b = { .s = s, .pids = pids, .rcs = rcs, .n = n, .err = err };

	if (!rcs)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !tracer_is_cancelled(&s->tracer); i++) {
		rcs[i] = pids[i] ? seize(s, pids[i], err) : 0;
		if (i % STOPS_AT_ONCE == 0)
			handle_stops(s);
	}
	if (tracer_is_cancelled(&s->tracer))
		b.n = n = 0; /* not all have a result; what is seized is let go in the end */
	find_sharers(&b);
	for (size_t i = 0; i < n && rc == 0; i++) {
		pid_t pid = pids[i];
		int one = rcs[i];

		if (!pid)
			continue;
		if (one == 0)
			one = plant_in_seized(s, pid, err);
		/* For the reason of a refusal; or it was in the middle of an exec. */
		if (rcs[i] < 0 || one == -ESRCH)
			one = attach_and_plant(s, pid, err);
		if (tracer_is_cancelled(&s->tracer))
			rc = one == -EINTR ? one : tracer_give_up(err);
		else if (pids[i])
			rc = done(s, pid, one < 0 ? one : 0, err);
		let_newcomer_go(s, pid);
		handle_stops(s);
	}
	free(rcs);
	return rc == 0 && tracer_is_cancelled(&s->tracer) ? tracer_give_up(err) : rc;
}

/* One that may not be traced is passed over. */
static int pass_over(struct ubp_session *s, pid_t pid, int rc, struct ubp_err *err)
{
	pid_t live;

	if (rc == 0 || rc == -EINTR /* the session ends */ || session_leave_alone(s, pid, err))
		return 0;
	live = task_live_thread(pid);
	if (rc == -ESRCH || !live || task_is_ending(live)) {
		session_count_late(s, pid); /* it had the file mapped, and has ended */
		return 0;
	}
	pthread_mutex_lock(&s->lock);
	(void)map_put(&s->found.given_up, (uint64_t)pid, s);
	session_count_skipped(s, "%s", err->text);
	pthread_mutex_unlock(&s->lock);
	/* What belongs to others is counted; the unexpected is told. */
	if (rc != -EPERM && rc != -EACCES)
		session_warn(s, "process %d is not traced: %s", (int)pid, err->text);
	return 0;
}

/*
 * Does it live in its parent's memory? Then it is the parent that counts: a child that this has told
 * us of is traced already, and one that was kept from us (CLONE_UNTRACED) is often about to trace its
 * parent. That could not be let go while the other is traced in the same memory.
 */
static bool is_of_parent(pid_t pid)
{
	pid_t parent = task_ppid(pid);

	return parent && task_shares_memory(pid, parent) == 1;
}

/* Is it to be tried? One that was seized in its exec may be ours already: it runs what is probed by
 * now, or the exec has failed, and it goes. */
static bool is_to_try(struct ubp_session *s, pid_t pid)
{
	const struct process *p;

	attach_look_at_exec(&s->tracer, pid);
	p = map_get(&s->tracer.processes, (uint64_t)pid);
	if (p && p->waits)
		return true;
	if (!p || !p->at_exec)
		return whom_has(&s->newcomer.whom, pid) && !newcomers_is_known(s, pid) &&
		       task_tracer(pid) != gettid() && !is_of_parent(pid);
	/* In the middle of an exec that is to be reported it maps its new program already. */
	if (newcomers_wants(s, pid) == FINDER_WANTED)
		return !p->exec_comes;
	attach_not_executed(&s->tracer, pid);
	return false;
}

int targets_stop_soon(struct ubp_session *s, pid_t pid, pid_t tid)
{
	struct ubp_err err;

	if (map_get(&s->tracer.processes, (uint64_t)pid) || !is_to_try(s, pid))
		return 0;
	return attach_to_wait(&s->tracer, pid, tid, &err);
}

void targets_try(struct ubp_session *s, pid_t *pids, size_t n)
{
	struct ubp_err err;
	size_t n_new = 0;

	s->newcomer.trying = pids;
	s->newcomer.n_trying = n;
	handle_stops(s); /* some are about to tell of their exec */
	for (size_t i = 0; i < n; i++) {
		pid_t pid = pids[i];

		pids[i] = 0;
		pids[n_new] = pid;
		n_new += pid && is_to_try(s, pid) && pids[n_new];
	}
	if (n_new && attach_many(s, pids, n_new, pass_over, &err) < 0 && err.code != EINTR)
		session_warn(s, "%s", err.text);
	/* Also where there was no memory for their turn. */
	for (size_t i = 0; i < n_new; i++)
		let_newcomer_go(s, pids[i]);
	s->newcomer.n_trying = 0;
}

/* Those that wait have their turn. */
static struct process *find_planted(const struct ubp_session *s, pid_t pid)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	return p && !p->silent && !p->is_leaving && !p->waits && !p->at_exec && !s->is_ending
		       ? p
		       : NULL;
}

bool targets_lacks_new(const struct ubp_session *s, pid_t pid)
{
	const struct process *p = find_planted(s, pid);

	return p && plant_lacks(&s->plant, p->space);
}

/* Whatever has come of it, it was tried. */
static void note_tried(const struct ubp_session *s, pid_t pid)
{
	const struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (p)
		plant_tried(&s->plant, p->space);
}

int targets_plant_again(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p = find_planted(s, pid);
	int rc;

	ubp_err_reset(err);
	if (!p)
		return 0;
	rc = p->probes->is_guarded ? targets_plant_more(s, p, err)
				   : targets_plant_in(s, p, err);
	if (rc == -ESRCH || rc == -EINTR)
		rc = 0;
	if (rc < 0)
		session_warn(s, "process %d: %s", (int)pid, err->text);
	note_tried(s, pid);
	handle_stops(s);
	return rc;
}

struct found {
	struct ubp_session *s;
	struct pid_list pids;
	unsigned n_looked;
};

static int add_if_wanted(void *ctx, pid_t pid)
{
	struct found *f = ctx;
	const struct process *p;
	struct ubp_err err;

	if (tracer_is_cancelled(&f->s->tracer))
		return -EINTR;
	/* What is traced waits for us meanwhile. */
	if (++f->n_looked % LOOKS_AT_ONCE == 0)
		handle_stops(f->s);
	p = map_get(&f->s->tracer.processes, (uint64_t)pid);
	if (map_get(&f->s->excluded, (uint64_t)pid) || (p && !p->waits && !p->at_exec))
		return 0;
	if (!whom_has(&f->s->newcomer.whom, pid))
		return 0;
	if (newcomers_wants(f->s, pid) != FINDER_WANTED) {
		f->s->n_unseen += permission_to_look(pid, &err) < 0;
		return 0;
	}
	return pid_list_add(&f->pids, pid);
}

void targets_look_again(struct ubp_session *s)
{
	struct found f = { .s = s };

	if (s->command.argv || s->opt.n_pids || s->opt.tid || s->is_ending)
		return;
	(void)proc_each(add_if_wanted, &f);
	targets_try(s, f.pids.v, f.pids.n);
	free(f.pids.v);
}

/* Every process there is, and from now on those that come. */
static int attach_all(struct ubp_session *s, struct ubp_err *err)
{
	struct found f = { .s = s };
	int n_refused, rc = exclude_collect(&s->excluded);

	if (rc < 0)
		return ubp_fail(err, -rc, "cannot look through /proc: %s", strerror(-rc));
	rc = newcomers_begin(s, err);
	if (rc < 0)
		return rc;
	(void)proc_each(add_if_wanted, &f);
	targets_try(s, f.pids.v, f.pids.n);
	free(f.pids.v);
	if (tracer_is_cancelled(&s->tracer))
		return tracer_give_up(err);
	n_refused = (int)(s->count.n_skipped - s->count.n_late);
	if (n_refused && !s->count.n_processes && geteuid() != 0)
		return ubp_fail(
			err, EPERM,
			"no permission to trace any of the %d processes that run this code: "
			"run as the same user, or as root (CAP_SYS_PTRACE)",
			n_refused);
	if (s->n_unseen && !s->count.n_processes)
		session_warn(s,
			     "none of your own processes runs this code yet; %u others may not "
			     "be looked at: run as the same user, or as root (CAP_SYS_PTRACE)",
			     s->n_unseen);
	if (n_refused)
		session_warn(s,
			     "%d process%s could not be traced (no permission, or traced by "
			     "another)",
			     n_refused, n_refused == 1 ? "" : "es");
	return 0;
}

/* The program is another one. Its children may run what is to be probed, if they are traced. */
static int check_program(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	const char *path = definitions_spec(s->defined, 0)->path;

	if (session_follows_children(s)) {
		session_warn(
			s,
			"process %d does not map %s: it runs another program, its children "
			"may run that one",
			(int)pid, path);
		return 0;
	}
	(void)ubp_fail(err, ENOENT, "process %d does not map %s: it runs another program",
		       (int)pid, path);
	ubp_err_hint(err, "--follow traces its children, too, whatever they run");
	return -ENOENT;
}

/*
 * Nothing to plant in a process that was named. A library may still come, by
 * dlopen(); a program file will not, so it is the wrong process.
 */
static int check_mapped(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	const struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	/* What is to be probed may be told later. */
	if (!p || births_has_probes(p->space) || !definitions_n(s->defined))
		return 0;
	for (size_t i = 0; i < definitions_n(s->defined); i++)
		if (!object_interp(definitions_object(s->defined, i))) {
			session_warn(s, "process %d does not map %s yet", (int)pid,
				     definitions_spec(s->defined, i)->path);
			return 0;
		}
	return check_program(s, pid, err);
}

/* Of those that are traced; who has ended before was never one. */
static void count_wanted(struct ubp_session *s, pid_t pid)
{
	const struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (!p || p->probes->is_wanted)
		return;
	p->probes->is_wanted = true;
	s->n_wanted++;
}

void targets_end_with_last(struct ubp_session *s)
{
	/* Their children are wanted, too. */
	bool waits = (s->opt.n_pids && s->n_wanted) ||
		     (s->opt.follow == UBP_FOLLOW_YES && s->tracer.processes.n);

	if ((s->opt.n_pids && !waits) ||
	    (s->opt.tid && !s->opt.n_pids && !s->tracer.processes.n))
		session_end(s);
}

static int take_named(struct ubp_session *s, pid_t pid, int rc, struct ubp_err *err)
{
	if (rc == 0)
		rc = check_mapped(s, pid, err);
	if (rc == 0)
		count_wanted(s, pid);
	if (rc != -ESRCH || s->opt.n_pids == 1 || task_live_thread(pid))
		return rc;
	session_warn(s, "process %d has ended: the others are traced", (int)pid);
	return 0;
}

int targets_add(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	const struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);
	int rc = 0;

	if (p && p->probes->is_wanted)
		return ubp_fail(err, EEXIST, "process %d is traced already", (int)pid);
	/* A child of one of them may be traced, and is asked for by now. */
	if (!p || !find_planted(s, pid))
		rc = attach_and_plant(s, pid, err);
	if (rc == 0)
		count_wanted(s, pid);
	return rc;
}

int targets_remove(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p;
	int rc = letting_go_take_back(s, err);

	if (rc < 0)
		return rc;
	p = map_get(&s->tracer.processes, (uint64_t)pid);
	if (!p || !p->probes->is_wanted)
		return ubp_fail(err, ESRCH, "process %d is none of those that are traced",
				(int)pid);
	if (p->is_vforked || space_is_shared(p->space))
		return ubp_fail(err, EBUSY,
				"process %d shares its memory with others that are traced",
				(int)pid);
	release_process(s, pid);
	return 0;
}

static int attach_named(struct ubp_session *s, struct ubp_err *err)
{
	size_t n = s->opt.n_pids;
	int rc = attach_many(s, s->pids, n, take_named, err);

	return rc < 0 || s->n_wanted ? rc
				     : ubp_fail(err, ESRCH, "all %zu processes have ended", n);
}

static int attach_of_thread(struct ubp_session *s, struct ubp_err *err)
{
	pid_t pid = task_tgid(s->opt.tid);

	return pid ? attach_and_plant(s, pid, err)
		   : ubp_fail(err, ESRCH, "no thread %d", (int)s->opt.tid);
}

static int start_command(struct ubp_session *s, struct ubp_err *err)
{
	struct held held;
	pid_t pid;
	int rc = command_start(&s->tracer, s->command.argv, &s->command.inherited, &held, err);

	if (rc < 0)
		return rc;
	pid = held.tid;
	pthread_mutex_lock(&s->lock);
	s->command.pid = pid;
	pthread_mutex_unlock(&s->lock);
	rc = session_plant(s, &held, err);
	if (rc < 0) {
		(void)kill(pid, SIGKILL);
		return rc;
	}
	session_mark_known(s, pid, true);
	session_count_process(s);
	held_let_go(&held);
	return 0;
}

int targets_begin(struct ubp_session *s, struct ubp_err *err)
{
	if (s->command.argv)
		return start_command(s, err);
	if (s->opt.n_pids)
		return attach_named(s, err);
	return s->opt.tid ? attach_of_thread(s, err) : attach_all(s, err);
}
