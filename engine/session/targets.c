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

#include "engine/object/maps.h"
#include "engine/session/session.h"
#include "engine/trace/attach.h"
#include "engine/trace/task.h"

#define ATTACH_TRIES  20
#define STOPS_AT_ONCE 64

/* Nothing may stay in it: @t, held, and its process are given up. */
static void plant_failed(struct ubp_session *s, struct tracee *t)
{
	struct process *p = t->process;
	pid_t pid = p->pid;

	attach_let_go(t);
	/* Unless the breakpoints in its memory are those of other processes, too. */
	if (p->space->refs > 1)
		return;
	release_process(s, pid);
}

static int plant_in(struct ubp_session *s, struct process *p, struct ubp_err *err)
{
	pid_t tid, pid = p->pid;
	struct tracee *t;
	unsigned n_execs;
	int rc;

	plant_look_ahead(&s->plant, p->space, task_live_thread(pid));
	rc = attach_hold_one(&s->tracer, p, &t, err);

	if (rc < 0) {
		if (map_get(&s->tracer.processes, (uint64_t)pid) == p && p->space->refs == 1)
			attach_undo(&s->tracer, pid);
		return rc;
	}
	tid = t->tid;
	n_execs = t->n_execs;
	rc = session_plant(s, t, NULL, err);
	if (map_get(&s->tracer.tracees, (uint64_t)tid) != t)
		return rc < 0 ? rc : ubp_fail(err, ESRCH, "process %d has ended", (int)pid);
	if (t->n_execs != n_execs)
		return 0; /* seen to by on_execed() */
	if (rc < 0) {
		plant_failed(s, t);
		return rc;
	}
	attach_let_go(t);
	return 0;
}

/* The other processes in @p's memory are to have the guard, too. */
static void plant_in_sharers(struct ubp_session *s, pid_t pid)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);
	size_t pos = 0;
	uint64_t other;
	void *value;
	struct ubp_err err;

	while (p && p->space->refs > 1 &&
	       map_next(&s->tracer.processes, &pos, &other, &value)) {
		struct process *sharer = value;

		if (sharer == p || sharer->space != p->space || sharer->is_guarded ||
		    map_get(&s->known, other))
			continue;
		session_mark_known(s, sharer->pid, true);
		sharer->silent = sharer->silent && !session_follows_children(s);
		(void)plant_in(s, sharer, &err);
		p = map_get(&s->tracer.processes, (uint64_t)pid);
		pos = 0; /* the table may have changed */
	}
}

/* One more thing that is traced. 0: it is seized; 1: it was traced already. */
static int seize(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (!p)
		return attach_process(&s->tracer, pid, &p, err);
	p->silent = false;
	return 1;
}

static int plant_in_seized(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);
	int rc = p ? plant_in(s, p, err)
		   : ubp_fail(err, ESRCH, "process %d has ended", (int)pid);

	if (rc < 0)
		return rc;
	session_mark_known(s, pid, true);
	session_count_process(s);
	plant_in_sharers(s, pid);
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

	for (size_t i = 0; seized && i < b->n; i++)
		if (b->rcs[i] == 0)
			seized[n++] = b->pids[i];
	if (seized)
		attach_sharers(&b->s->tracer, seized, n, sharer_refused, b);
	free(seized);
}

static int try_attach(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	int rc = seize(s, pid, err);
	struct batch b = { .s = s, .pids = &pid, .rcs = &rc, .n = 1, .err = err };

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
	tracer_poll(&s->tracer, STOPS_AT_ONCE);
	release_pass(s);
}

/*
 * First all are seized, which stops nobody; then it takes one look at all processes to find
 * who else lives in their memories; then each is planted in. Stops are handled in between: what
 * is traced already may run into one at any time. @done is told of each in turn, and may end it.
 */
static int attach_many(struct ubp_session *s, const pid_t *pids, size_t n,
		       int (*done)(struct ubp_session *s, pid_t pid, int rc,
				   struct ubp_err *err),
		       struct ubp_err *err)
{
	int rc = 0, *rcs = malloc((n + 1) * sizeof(*rcs));
	struct batch b = { .s = s, .pids = pids, .rcs = rcs, .n = n, .err = err };

	if (!rcs)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		rcs[i] = seize(s, pids[i], err);
		if (i % STOPS_AT_ONCE == 0)
			handle_stops(s);
	}
	find_sharers(&b);
	for (size_t i = 0; i < n && rc == 0; i++) {
		int one = rcs[i] == 0 ? plant_in_seized(s, pids[i], err) : rcs[i];

		/* For the reason of a refusal; or it was in the middle of an exec. */
		if (rcs[i] < 0 || one == -ESRCH)
			one = attach_and_plant(s, pids[i], err);
		rc = done(s, pids[i], one < 0 ? one : 0, err);
		handle_stops(s);
	}
	free(rcs);
	return rc;
}

static bool is_known(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	bool known;

	pthread_mutex_lock(&s->lock);
	known = map_get(&s->known, (uint64_t)pid) || map_get(&s->excluded, (uint64_t)pid) ||
		map_get(&s->given_up, (uint64_t)pid);
	pthread_mutex_unlock(&s->lock);
	return known;
}

/* A new program under this pid: what was tried before says nothing about it. */
static void is_new(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	map_remove(&s->given_up, (uint64_t)pid);
	pthread_mutex_unlock(&s->lock);
}

/* One that may not be traced is passed over. */
static int pass_over(struct ubp_session *s, pid_t pid, int rc, struct ubp_err *err)
{
	if (rc == 0)
		return 0;
	if (rc == -ESRCH) {
		/* It had the file mapped, and has ended. */
		pthread_mutex_lock(&s->lock);
		s->n_too_late++;
		pthread_mutex_unlock(&s->lock);
		return 0;
	}
	pthread_mutex_lock(&s->lock);
	(void)map_put(&s->given_up, (uint64_t)pid, s);
	s->n_skipped++;
	pthread_mutex_unlock(&s->lock);
	/* What belongs to others is counted; the unexpected is told. */
	if (rc != -EPERM && rc != -EACCES)
		session_warn(s, "process %d is not traced: %s", (int)pid, err->text);
	return 0;
}

void targets_try(struct ubp_session *s, pid_t *pids, size_t n)
{
	struct ubp_err err;
	size_t n_new = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_known(s, pids[i]) && task_tracer(pids[i]) != gettid())
			pids[n_new++] = pids[i];
	if (n_new && attach_many(s, pids, n_new, pass_over, &err) < 0)
		session_warn(s, "%s", err.text);
}

/* Another tracer of our kind: it must be free to stop and wake its own. */
static bool is_ubp(pid_t pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static enum finder_verdict wants(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	struct ubp_err err;
	struct maps maps;
	pid_t tid = task_live_thread(pid);
	bool found;

	if (!tid || (maps_read(tid, &maps, &err) < 0 && !task_live_thread(pid)))
		return FINDER_ENDED;
	found = plant_wants(&s->plant, &maps) && !is_ubp(tid);
	maps_free(&maps);
	return found ? FINDER_WANTED : FINDER_NOT_YET;
}

static void found(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	if (s->n_candidates == s->cap_candidates) {
		size_t cap = s->cap_candidates ? s->cap_candidates * 2 : 64;
		pid_t *bigger = realloc(s->candidates, cap * sizeof(*bigger));

		if (bigger) {
			s->candidates = bigger;
			s->cap_candidates = cap;
		}
	}
	if (s->n_candidates < s->cap_candidates)
		s->candidates[s->n_candidates++] = pid;
	pthread_mutex_unlock(&s->lock);
	tracer_wake(&s->tracer);
}

static const struct finder_ops finder_ops = {
	.wants = wants,
	.found = found,
	.is_known = is_known,
	.is_new = is_new,
};

struct found {
	struct ubp_session *s;
	pid_t *pids;
	size_t n, cap;
};

static int add_if_wanted(void *ctx, pid_t pid)
{
	struct found *f = ctx;
	struct ubp_err err;

	if (map_get(&f->s->excluded, (uint64_t)pid))
		return 0;
	if (wants(f->s, pid) != FINDER_WANTED) {
		f->s->n_unseen += task_check_access(pid, &err) < 0;
		return 0;
	}
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		pid_t *bigger = realloc(f->pids, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		f->pids = bigger;
		f->cap = cap;
	}
	f->pids[f->n++] = pid;
	return 0;
}

/* Every process there is, and from now on those that come. */
static int attach_all(struct ubp_session *s, struct ubp_err *err)
{
	struct found f = { .s = s };
	int rc = exclude_collect(&s->excluded);

	if (rc < 0)
		return ubp_fail(err, -rc, "cannot look through /proc: %s", strerror(-rc));
	rc = finder_start(&finder_ops, s, &s->finder, err);
	if (rc < 0)
		return rc;
	s->finder_kind = finder_kind(s->finder);
	(void)finder_each_process(add_if_wanted, &f);
	targets_try(s, f.pids, f.n);
	free(f.pids);
	if (s->n_skipped && !s->n_processes && geteuid() != 0)
		return ubp_fail(
			err, EPERM,
			"no permission to trace any of the %u processes that run this code: "
			"run as the same user, or as root (CAP_SYS_PTRACE)",
			s->n_skipped);
	if (s->n_unseen && !s->n_processes)
		session_warn(s,
			     "none of your own processes runs this code yet; %u others may not "
			     "be looked at: run as the same user, or as root (CAP_SYS_PTRACE)",
			     s->n_unseen);
	if (s->n_skipped)
		session_warn(s,
			     "%u process%s could not be traced (no permission, or traced by "
			     "another)",
			     s->n_skipped, s->n_skipped == 1 ? "" : "es");
	return 0;
}

/*
 * Nothing to plant in a process that was named. A library may still come, by
 * dlopen(); a program file will not, so it is the wrong process.
 */
static int check_mapped(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	const struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	if (!p || session_has_probes(p))
		return 0;
	for (size_t i = 0; i < s->n_probes; i++)
		if (!object_interp(s->probes[i]->object)) {
			session_warn(s, "process %d does not map %s yet", (int)pid,
				     define_spec(s, i)->path);
			return 0;
		}
	return ubp_fail(err, ENOENT, "process %d does not map %s: it runs another program",
			(int)pid, define_spec(s, 0)->path);
}

static int take_named(struct ubp_session *s, pid_t pid, int rc, struct ubp_err *err)
{
	if (rc == 0)
		rc = check_mapped(s, pid, err);
	s->n_wanted += rc == 0;
	if (rc != -ESRCH || s->opt.n_pids == 1 || task_live_thread(pid))
		return rc;
	session_warn(s, "process %d has ended: the others are traced", (int)pid);
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
	struct tracee *t;
	pid_t pid;
	int rc = attach_command(&s->tracer, s->argv, &s->inherited, &t, err);

	if (rc < 0)
		return rc;
	pid = t->tid;
	pthread_mutex_lock(&s->lock);
	s->command_pid = pid;
	pthread_mutex_unlock(&s->lock);
	rc = session_plant(s, t, NULL, err);
	if (rc < 0) {
		(void)kill(pid, SIGKILL);
		return rc;
	}
	session_mark_known(s, pid, true);
	session_count_process(s);
	attach_let_go(t);
	return 0;
}

int targets_begin(struct ubp_session *s, struct ubp_err *err)
{
	if (s->argv)
		return start_command(s, err);
	if (s->opt.n_pids)
		return attach_named(s, err);
	return s->opt.tid ? attach_of_thread(s, err) : attach_all(s, err);
}
