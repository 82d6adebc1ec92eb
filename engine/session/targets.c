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

#define ATTACH_TRIES 20

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
		sharer->silent = !session_follows_children(s);
		(void)plant_in(s, sharer, &err);
		p = map_get(&s->tracer.processes, (uint64_t)pid);
		pos = 0; /* the table may have changed */
	}
}

static int try_attach(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);
	int rc;

	if (p) {
		p->silent = false;
		return 0;
	}
	rc = attach_process(&s->tracer, pid, &p, err);
	if (rc < 0)
		return rc;
	rc = attach_sharers(&s->tracer, p, err);
	if (rc < 0) {
		attach_undo(&s->tracer, pid);
		return rc;
	}
	rc = plant_in(s, p, err);
	if (rc < 0)
		return rc;
	session_mark_known(s, pid, true);
	session_count_process(s);
	plant_in_sharers(s, pid);
	return 0;
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

/* A process that maps a probed file. One that may not be traced is passed over. */
void targets_try(struct ubp_session *s, pid_t pid)
{
	struct ubp_err err;
	int rc;

	if (is_known(s, pid) || task_tracer(pid) == gettid())
		return;
	rc = attach_and_plant(s, pid, &err);
	if (rc == 0 || rc == -ESRCH)
		return;
	pthread_mutex_lock(&s->lock);
	(void)map_put(&s->given_up, (uint64_t)pid, s);
	s->n_skipped++;
	pthread_mutex_unlock(&s->lock);
	/* What belongs to others is counted; the unexpected is told. */
	if (rc != -EPERM && rc != -EACCES)
		session_warn(s, "process %d is not traced: %s", (int)pid, err.text);
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

static bool wants(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	struct ubp_err err;
	struct maps maps;
	pid_t tid = task_live_thread(pid);
	bool found;

	found = tid && maps_read(tid, &maps, &err) == 0 && plant_wants(&s->plant, &maps) &&
		!is_ubp(tid);
	if (!tid)
		return false;

	maps_free(&maps);
	return found;
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

static int attach_if_wanted(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	struct ubp_err err;

	if (map_get(&s->excluded, (uint64_t)pid))
		return 0;
	if (wants(s, pid))
		targets_try(s, pid);
	else if (task_check_access(pid, &err) < 0)
		s->n_unseen++;
	return 0;
}

/* Every process there is, and from now on those that come. */
static int attach_all(struct ubp_session *s, struct ubp_err *err)
{
	int rc = exclude_collect(&s->excluded);

	if (rc < 0)
		return ubp_fail(err, -rc, "cannot look through /proc: %s", strerror(-rc));
	rc = finder_start(&finder_ops, s, &s->finder, err);
	if (rc < 0)
		return rc;
	s->finder_kind = finder_kind(s->finder);
	(void)finder_each_process(attach_if_wanted, s);
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

static int attach_named(struct ubp_session *s, struct ubp_err *err)
{
	size_t n = s->opt.n_pids;

	for (size_t i = 0; i < n; i++) {
		pid_t pid = s->pids[i];
		int rc = attach_and_plant(s, pid, err);

		if (rc == 0)
			rc = check_mapped(s, pid, err);
		if (rc == 0)
			s->n_wanted++;
		else if (rc != -ESRCH || n == 1 || task_live_thread(pid))
			return rc;
		else
			session_warn(s, "process %d has ended: the others are traced",
				     (int)pid);
	}
	return s->n_wanted ? 0 : ubp_fail(err, ESRCH, "all %zu processes have ended", n);
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
