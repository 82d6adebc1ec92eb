/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes that start while the session runs: what the finder of them is told, and what the
 * tracing thread does with those that it finds.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/define/definitions.h"
#include "engine/elf/object.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/os/untrusted_file.h"
#include "engine/plant/plant.h"
#include "engine/session/inside.h"
#include "engine/session/mail.h"
#include "engine/session/newcomers_hold.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/space/probe_list.h"
#include "engine/trace/attach.h"
#include "engine/trace/exec_hold.h"
#include "engine/trace/permission.h"
#include "engine/trace/seize_late.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define MEANWHILE_MAX 4    /* seized at once in the middle of something else */
#define GONE_MS       2000 /* numbers are not given out again so soon */

static uint64_t now_ms(void)
{
	return event_clock_now(CLOCK_KIND_MONO) / 1000000;
}

static void tidy(struct map *times, uint64_t now)
{
	size_t pos = 0;
	uint64_t pid;
	void *value;

	while (map_next(times, &pos, &pid, &value))
		if (now - (uint64_t)(uintptr_t)value > GONE_MS) {
			map_remove(times, pid);
			pos = 0;
		}
}

/* @times: .gone, .executed or .young, by their time alone believed for a while. */
static void note_time(struct ubp_session *s, struct map *times, pid_t pid)
{
	uint64_t now = now_ms();

	if (now - s->found.tidied_ms > GONE_MS) {
		s->found.tidied_ms = now;
		tidy(&s->found.gone, now);
		tidy(&s->found.executed, now);
		tidy(&s->found.young, now);
	}
	(void)map_put(times, (uint64_t)pid, (void *)(uintptr_t)now);
}

static bool is_fresh(const struct map *times, pid_t pid)
{
	uint64_t when = (uint64_t)(uintptr_t)map_get(times, (uint64_t)pid);

	return when && now_ms() - when <= GONE_MS;
}

bool newcomers_has_executed(struct ubp_session *s, pid_t pid)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = is_fresh(&s->found.executed, pid);
	pthread_mutex_unlock(&s->lock);
	return has;
}

void session_mark_known(struct ubp_session *s, pid_t pid, bool known)
{
	pthread_mutex_lock(&s->lock);
	if (known)
		(void)map_put(&s->found.known, (uint64_t)pid, s);
	else
		map_remove(&s->found.known, (uint64_t)pid);
	pthread_mutex_unlock(&s->lock);
}

void session_count_process(struct ubp_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->count.n_processes++;
	pthread_mutex_unlock(&s->lock);
}

static bool is_young(struct ubp_session *s, pid_t pid)
{
	bool young;

	pthread_mutex_lock(&s->lock);
	young = is_fresh(&s->found.young, pid);
	pthread_mutex_unlock(&s->lock);
	return young;
}

/* Has it ended just now? */
static bool is_gone(struct ubp_session *s, pid_t pid)
{
	bool gone;

	pthread_mutex_lock(&s->lock);
	gone = is_fresh(&s->found.gone, pid);
	pthread_mutex_unlock(&s->lock);
	return gone;
}

/* What the finder has told, into the lists of the tracing thread. */
static void read_mail(struct ubp_session *s)
{
	struct session_newcomers *n = &s->newcomer;
	struct mailbox_message message;

	while (mailbox_take(s->mail, MAIL_NEWCOMERS, &message)) {
		pid_t id = (pid_t)message.value;
		struct pid_list *list = message.kind == MAIL_FOUND      ? &n->candidates
					: message.kind == MAIL_EXECUTES ? &n->executors
									: &n->loaders;

		/* Whom there is no memory for the finder tells again. */
		if (message.kind != MAIL_FOUND || !is_gone(s, id))
			(void)pid_list_add(list, id);
	}
}

/* Returns how many are left. */
static size_t leave_out(pid_t *pids, size_t n, pid_t pid)
{
	size_t n_left = 0;

	for (size_t i = 0; i < n; i++)
		if (pids[i] != pid)
			pids[n_left++] = pids[i];
	return n_left;
}

/*
 * @pid has ended, and was counted: so it must not be met again. It may have been found several times, and
 * under load its next turn comes only when nobody remembers any more that it is gone.
 */
static void forget_found(struct ubp_session *s, pid_t pid)
{
	struct session_newcomers *n = &s->newcomer;

	read_mail(s);
	n->candidates.n = leave_out(n->candidates.v, n->candidates.n, pid);
	n->n_waiting = leave_out(n->waiting, n->n_waiting, pid);
	for (size_t i = 0; i < n->n_trying; i++)
		if (n->trying[i] == pid)
			n->trying[i] = 0;
}

void session_mark_gone(struct ubp_session *s, pid_t pid)
{
	bool was_known;

	pthread_mutex_lock(&s->lock);
	was_known = map_remove(&s->found.known, (uint64_t)pid);
	if (was_known)
		note_time(s, &s->found.gone, pid);
	pthread_mutex_unlock(&s->lock);
	if (was_known)
		forget_found(s, pid);
}

void session_count_late(struct ubp_session *s, pid_t pid)
{
	pthread_mutex_lock(&s->lock);
	if (!is_fresh(&s->found.gone, pid)) {
		s->count.n_too_late++;
		note_time(s, &s->found.gone, pid);
	}
	pthread_mutex_unlock(&s->lock);
	forget_found(s, pid);
}

void session_count_skipped(struct ubp_session *s, const char *fmt, ...)
{
	va_list ap;

	if (s->count.n_skipped++)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(s->count.why_skipped, sizeof(s->count.why_skipped), fmt, ap);
	va_end(ap);
}

bool session_leave_alone(struct ubp_session *s, pid_t pid, const struct ubp_err *err)
{
	uint64_t until_ms = seize_late_until(&s->tracer.late, pid, NULL) / 1000000;
	bool is_told;

	if (!until_ms)
		return false;
	pthread_mutex_lock(&s->lock);
	is_told = map_get(&s->found.late, (uint64_t)pid);
	(void)map_put(&s->found.late, (uint64_t)pid, (void *)(uintptr_t)until_ms);
	if (!is_told)
		session_count_skipped(s, "process %d: %s", (int)pid, err->text);
	s->count.n_late += !is_told;
	pthread_mutex_unlock(&s->lock);
	if (!is_told)
		session_warn(s, "process %d is not traced now: %s", (int)pid, err->text);
	return true;
}

/* Is it left alone for a while? */
static bool is_late(const struct ubp_session *s, pid_t pid)
{
	return now_ms() < (uint64_t)(uintptr_t)map_get(&s->found.late, (uint64_t)pid);
}

bool newcomers_is_known(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	bool known;

	pthread_mutex_lock(&s->lock);
	known = map_get(&s->found.known, (uint64_t)pid) ||
		map_get(&s->excluded, (uint64_t)pid) ||
		map_get(&s->found.given_up, (uint64_t)pid) || is_late(s, pid) ||
		is_fresh(&s->found.gone, pid);
	pthread_mutex_unlock(&s->lock);
	return known;
}

/* A new program under this pid: what was tried before says nothing about it. */
static void is_new(void *ctx, pid_t pid, bool executed)
{
	struct ubp_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	note_time(s, &s->found.young, pid);
	if (executed)
		note_time(s, &s->found.executed, pid);
	map_remove(&s->found.given_up, (uint64_t)pid);
	map_remove(&s->found.late, (uint64_t)pid);
	pthread_mutex_unlock(&s->lock);
}

/* The program of process @pid. */
static int find_program(pid_t pid, uint64_t *ret_dev, uint64_t *ret_ino)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return file_identity(path, ret_dev, ret_ino);
}

/* Another tracer of our kind: it must be free to stop and wake its own. */
static bool is_ubp(const struct ubp_session *s, pid_t pid)
{
	uint64_t dev, ino;

	return find_program(pid, &dev, &ino) == 0 && newcomers_is_own(s, dev, ino);
}

enum finder_verdict newcomers_wants(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	struct probe_list *list;
	struct ubp_err err;
	struct maps maps;
	pid_t tid = task_live_thread(pid);
	bool found;

	if (tid && !whom_has(&s->newcomer.whom, tid))
		return task_live_thread(pid) ? FINDER_NOT_YET : FINDER_ENDED;
	if (!tid || (maps_read(tid, &maps, &err) < 0 && !task_live_thread(pid)))
		return FINDER_ENDED;
	list = probe_list_get(&s->plant);
	found = plant_wants(list, &maps) && !is_ubp(s, tid);
	probe_list_put(list);
	/* One that ends has none, from some moment on. */
	if (maps.n == 0 && task_is_ending(tid)) {
		maps_free(&maps);
		return FINDER_ENDED;
	}
	maps_free(&maps);
	return found ? FINDER_WANTED : FINDER_NOT_YET;
}

/* All of it, and it is empty then. To be freed. */
static struct pid_list take(struct pid_list *list)
{
	struct pid_list all = *list;

	*list = (struct pid_list){ 0 };
	return all;
}

/* The first of it, or with @newest the last. 0: there is none. */
static pid_t take_one(struct pid_list *list, bool newest)
{
	pid_t pid = 0;

	if (list->n) {
		pid = newest ? list->v[list->n - 1] : list->v[0];
		list->n--;
		if (!newest)
			memmove(list->v, list->v + 1, list->n * sizeof(*list->v));
	}
	return pid;
}

static void add_waiting(struct session_newcomers *n, pid_t pid)
{
	n->n_waiting = leave_out(n->waiting, n->n_waiting, pid);
	n->waiting[n->n_waiting++] = pid;
}

static void found(void *ctx, pid_t pid)
{
	mail_post(ctx, MAIL_FOUND, pid);
}

static void executes(void *ctx, pid_t tid)
{
	mail_post(ctx, MAIL_EXECUTES, tid);
}

static void loads(void *ctx, pid_t tid)
{
	mail_post(ctx, MAIL_LOADS, tid);
}

/*
 * One that may not be looked at, or has ended, may be anything; and so may a file of another file system, which may
 * show one of ours under another number (overlayfs).
 */
static bool runs_other(void *ctx, pid_t pid)
{
	struct ubp_session *s = ctx;
	struct probe_list *list;
	uint64_t dev, ino;
	bool is_other = true;

	if (find_program(pid, &dev, &ino) < 0)
		return false;
	list = probe_list_get(&s->plant);
	for (size_t i = 0; i < list->n && is_other; i++)
		is_other = list->v[i]->stat_dev == dev && list->v[i]->stat_ino != ino;
	probe_list_put(list);
	return is_other;
}

static const struct finder_ops finder_ops = {
	.wants = newcomers_wants,
	.runs_other = runs_other,
	.found = found,
	.is_known = newcomers_is_known,
	.is_new = is_new,
	.executes = executes,
	.loads = loads,
};

int newcomers_begin(struct ubp_session *s, struct ubp_err *err)
{
	struct finder_files files = { .are_programs = true, .opened = -1 };
	int rc;

	if (file_identity("/proc/self/exe", &s->newcomer.own_dev, &s->newcomer.own_ino) < 0)
		s->newcomer.own_dev = s->newcomer.own_ino = 0;
	for (size_t i = 0; i < definitions_n(s->defined); i++)
		files.are_programs &= newcomers_is_program(definitions_object(s->defined, i));
	newcomers_hold_files(s);
	files.hold = s->newcomer.hold;
	files.are_held = s->newcomer.holds_all;
	if (!s->newcomer.holds_all)
		files.opened = newcomers_watch_opened(s);
	rc = finder_start(&finder_ops, s, &files, &s->newcomer.finder, err);
	if (rc == 0)
		s->newcomer.finder_kind = finder_kind(s->newcomer.finder);
	return rc;
}

/* It did not wait for us, or was killed: what it ran meanwhile is not known. */
static void count_gone(struct ubp_session *s, pid_t tid, pid_t pid)
{
	session_count_late(s, pid ? pid : tid);
}

/* Seize thread @tid of process @pid (0: it is gone), which is held. Returns 0 or -errno. */
static int seize_executor(struct ubp_session *s, pid_t tid, pid_t pid)
{
	struct process *p;
	struct ubp_err err;
	int rc;

	if (!pid)
		return -ESRCH;
	if (map_get(&s->excluded, (uint64_t)pid) || !whom_has(&s->newcomer.whom, tid))
		return 0;
	rc = attach_at_exec(&s->tracer, tid, &err);
	p = rc == 0 ? map_get(&s->tracer.processes, (uint64_t)pid) : NULL;
	if (p && p->at_exec)
		p->exec_comes = runs_other(s, pid) || newcomers_wants(s, pid) == FINDER_NOT_YET;
	return rc;
}

/* Those that may not be seized so are left to the finder, which tells of them, too. */
static void take_executors(struct ubp_session *s)
{
	struct pid_list tids = take(&s->newcomer.executors);

	for (size_t i = 0; i < tids.n; i++) {
		pid_t tid = tids.v[i], pid = task_tgid(tid);
		int rc = 0;

		exec_hold_taking(s->newcomer.hold, tid);
		if (!s->is_ending)
			rc = seize_executor(s, tid, pid);
		exec_hold_done(s->newcomer.hold, tid);
		if (rc == -ESRCH)
			count_gone(s, tid, pid);
	}
	free(tids.v);
}

static void count_held(struct ubp_session *s, pid_t pid)
{
	const struct process *p = map_get(&s->tracer.processes, (uint64_t)pid);

	pthread_mutex_lock(&s->lock);
	s->newcomer.n_held += p && p->waits;
	pthread_mutex_unlock(&s->lock);
}

/* They wait for their answer until there is room. False: nobody is to be seized now. */
static bool take_loader(struct ubp_session *s)
{
	pid_t tid =
		s->newcomer.n_waiting < WAITING_MAX ? take_one(&s->newcomer.loaders, false) : 0;
	pid_t pid = tid ? task_tgid(tid) : 0;
	int rc = pid ? 0 : -ESRCH;

	if (!tid)
		return false;
	exec_hold_taking(s->newcomer.hold, tid);
	if (pid)
		add_waiting(&s->newcomer, pid);
	if (!s->is_ending && pid && !is_ubp(s, tid))
		rc = targets_stop_soon(s, pid, tid);
	exec_hold_done(s->newcomer.hold, tid);
	if (rc == -ESRCH)
		count_gone(s, tid, pid);
	else
		count_held(s, pid);
	return true;
}

/*
 * One of those that were found, the newest: when more come than can be seized, it is one that has not
 * ended yet. With @oldest the one that may run for long. False: there is none.
 */
static bool take_found(struct ubp_session *s, bool oldest)
{
	pid_t pid = 0;

	if (!s->is_ending && s->newcomer.n_waiting < WAITING_MAX)
		pid = take_one(&s->newcomer.candidates, !oldest);
	if (!pid)
		return false;
	add_waiting(&s->newcomer, pid); /* it may end meanwhile, and is counted then */
	if (is_young(s, pid))
		(void)targets_stop_soon(s, pid, 0);
	return true;
}

void newcomers_take_held(struct ubp_session *s)
{
	bool oldest = true;

	if (s->newcomer.is_seizing)
		return;
	s->newcomer.is_seizing = true;
	read_mail(s);
	if (s->newcomer.hold) {
		take_executors(s);
		while (take_loader(s))
			;
	}
	while (take_found(s, oldest))
		oldest = false;
	s->newcomer.is_seizing = false;
}

void newcomers_meanwhile(struct ubp_session *s)
{
	if (s->newcomer.is_seizing)
		return;
	s->newcomer.is_seizing = true;
	read_mail(s);
	for (int i = 0; i < MEANWHILE_MAX &&
			((s->newcomer.hold && take_loader(s)) || take_found(s, false));)
		i++;
	s->newcomer.is_seizing = false;
}

static bool has_more(const struct ubp_session *s)
{
	const struct session_newcomers *n = &s->newcomer;

	return n->n_waiting || n->candidates.n || n->loaders.n ||
	       mailbox_has(s->mail, MAIL_NEWCOMERS);
}

void newcomers_take(struct ubp_session *s)
{
	pid_t pids[WAITING_MAX];
	size_t n;

	newcomers_take_held(s);
	n = s->newcomer.n_waiting;
	memcpy(pids, s->newcomer.waiting, n * sizeof(*pids));
	s->newcomer.n_waiting = 0;
	if (n)
		targets_try(s, pids, n);
	if (has_more(s))
		tracer_end_turn(&s->tracer);
}

void newcomers_end(struct ubp_session *s)
{
	struct pid_list pids;

	read_mail(s);
	pids = take(&s->newcomer.candidates);
	for (size_t i = 0; i < pids.n; i++)
		if (!newcomers_is_known(s, pids.v[i]) && !task_live_thread(pids.v[i]))
			session_count_late(s, pids.v[i]);
	free(pids.v);
}
