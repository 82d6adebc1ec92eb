/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/finder.h"
#include "engine/base/proc.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/quiet_thread.h"
#include "engine/event/clock.h"
#include "engine/trace/exec_hold.h"
#include "engine/trace/proc_connector.h"
#include "engine/trace/task.h"

/*
 * A program that was just started maps its libraries within milliseconds, one
 * that runs may map one by dlopen() at any time: a new process is looked at often
 * at first, all of them rarely for ever. One that has ended makes room at once: under load most
 * of them soon do.
 */
#define NEW_MAX        4096
#define FIRST_DELAY_NS 500000ULL
#define NEW_FOR_NS     2000000000ULL
#define SCAN_NS        1000000000ULL
#define POLL_NS        5000000ULL /* for new processes, without the connector */
#define HELD_NS        2000000ULL /* the tracer has seen to one that is held, if it can */
#define SETTLED_NS     5000000ULL /* by then a program has mapped the libraries it is linked to */
#define EAGER_NS       10000000ULL /* behind the opening of a file its opener is looked for */
#define EAGER_MAX      16          /* new processes, at each look: the newest */

/* How it is known: by its number, by its exec; by one that it is about to make, or a library that
 * it is about to load (NEW_HELD); by one that it loads or reads, and was not held. */
enum newness { NEW_NUMBER, NEW_EXECUTED, NEW_HELD, NEW_LOADER, NEW_READER };

struct newcomer {
	pid_t pid;
	bool is_seen; /* looked at when it told something, and alive then */
	bool is_held; /* the tracer knows of it */
	bool is_sure; /* it maps what is looked for, or has, and was not held */
	uint64_t born_ns, next_ns;
};

struct finder {
	const struct finder_ops *ops;
	void *ctx;
	pthread_t thread;
	sem_t has_begun;
	int stop_fd;
	struct finder_files files;
	struct proc_connector connector;
	struct newcomer newcomers[NEW_MAX];
	size_t n_new;
	bool has_more_files;         /* atomic: finder_more_files() */
	struct finder_counts counts; /* read by anybody */
	uint64_t next_scan_ns;
	uint64_t opened_ns; /* when a file was seen to be opened last */
	long last_pid;
};

const char *finder_kind(const struct finder *finder)
{
	if (finder->files.hold)
		return finder->connector.fd >= 0 ? "proc connector, fanotify"
						 : "scan of /proc, fanotify";
	return finder->connector.fd >= 0 ? "proc connector" : "scan of /proc";
}

/* WANTED: it is reported now, or was known before. */
static enum finder_verdict look(struct finder *f, pid_t pid)
{
	enum finder_verdict verdict;

	if (f->ops->is_known(f->ctx, pid))
		return FINDER_WANTED;
	verdict = f->ops->wants(f->ctx, pid);
	if (verdict == FINDER_WANTED)
		f->ops->found(f->ctx, pid);
	return verdict;
}

static int scan_one(void *ctx, pid_t pid)
{
	(void)look(ctx, pid);
	return 0;
}

static void watch(struct finder *f, pid_t pid, enum newness how, uint64_t now)
{
	bool is_held = how == NEW_HELD;
	size_t at = 0;

	f->ops->is_new(f->ctx, pid, how == NEW_EXECUTED);
	while (at < f->n_new && f->newcomers[at].pid != pid)
		at++;
	if (at == f->n_new && f->files.are_held && !is_held && how < NEW_LOADER)
		return; /* it runs something else */
	if (at == NEW_MAX) {
		f->next_scan_ns = now; /* that finds it */
		return;
	}
	if (at == f->n_new)
		f->newcomers[f->n_new++].is_held = false;
	f->newcomers[at] = (struct newcomer){ .pid = pid,
					      .is_held = is_held || f->newcomers[at].is_held,
					      .is_sure = how == NEW_LOADER,
					      .born_ns = now,
					      .next_ns = is_held ? now + HELD_NS : now };
}

/*
 * Is it new by an exec that is over, and does nobody else come to map what is looked for? Without the
 * connector it is new by its number, and its exec comes later. One that is held has it before it.
 */
static bool is_by_exec(const struct finder *f, const struct newcomer *n)
{
	return f->files.are_programs && f->connector.fd >= 0 && !n->is_held;
}

/* Is what a newcomer maps now all that it will, but for what it opens at any time? */
static bool is_settled(const struct finder *f, const struct newcomer *n, uint64_t now)
{
	/* By its number alone: it may execute something yet. */
	if (f->connector.fd < 0 && !n->is_held)
		return false;
	return is_by_exec(f, n) || now - n->born_ns >= SETTLED_NS;
}

/* The finder's thread alone changes them. */
static void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* False: no use in looking again. */
static bool look_at(struct finder *f, struct newcomer *n, uint64_t now)
{
	bool is_other = f->files.are_programs && f->ops->runs_other(f->ctx, n->pid);

	switch (is_other ? FINDER_NOT_YET : look(f, n->pid)) {
	case FINDER_NOT_YET:
		n->is_seen = is_settled(f, n, now);
		if (now - n->born_ns <= NEW_FOR_NS && !(n->is_seen && is_by_exec(f, n)))
			return true;
		/* Its exec has failed, but it is seized perhaps. */
		if (n->is_held)
			f->ops->found(f->ctx, n->pid);
		return false;
	case FINDER_ENDED:
		if (!n->is_seen && !n->is_held && (n->is_sure || !f->files.are_held))
			count(&f->counts.n_unseen, 1);
		return false;
	case FINDER_WANTED:
		break;
	}
	return false;
}

void finder_more_files(struct finder *finder)
{
	__atomic_store_n(&finder->has_more_files, true, __ATOMIC_RELEASE);
}

void finder_count(const struct finder *finder, struct finder_counts *ret_counts)
{
	const struct finder_counts *counts = &finder->counts;

	ret_counts->n_unseen = __atomic_load_n(&counts->n_unseen, __ATOMIC_RELAXED);
	ret_counts->n_early = __atomic_load_n(&counts->n_early, __ATOMIC_RELAXED);
}

/* The newest first: they are the last. */
static void look_at_newcomers(struct finder *f, uint64_t now)
{
	bool is_eager = f->opened_ns && now - f->opened_ns < EAGER_NS;
	size_t n_eager = 0;

	for (size_t i = f->n_new; i-- > 0;) {
		struct newcomer *n = &f->newcomers[i];
		uint64_t delay = FIRST_DELAY_NS;

		if (n->next_ns > now)
			continue;
		if (!is_eager || n_eager++ >= EAGER_MAX)
			delay += (now - n->born_ns) / 4;
		n->next_ns = now + delay;
		if (!look_at(f, n, now))
			*n = f->newcomers[--f->n_new];
	}
}

/*
 * A file was opened that is looked for, perhaps by a process that is about to map it. Nobody tells which, so
 * new ones are looked at. One that is not new is found by a look at all.
 */
static void take_opened(struct finder *f, uint64_t now)
{
	char events[4096];
	size_t n_eager = 0;

	while (read(f->files.opened, events, sizeof(events)) > 0)
		;
	f->opened_ns = now;
	for (size_t i = f->n_new; i-- > 0 && n_eager < EAGER_MAX; n_eager++)
		f->newcomers[i].next_ns = now;
}

/* The last pid given out, from /proc/loadavg; cheap enough to ask often. */
pid_t finder_last_pid(void)
{
	long pid = 0;
	FILE *f = fopen("/proc/loadavg", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*s %*s %*s %*s %ld", &pid) != 1)
		pid = 0;
	fclose(f);
	return (pid_t)pid;
}

/* Without the connector: those with a number given out since last time. */
static void look_for_new_pids(struct finder *f, uint64_t now)
{
	long last = finder_last_pid();

	if (last == f->last_pid)
		return;
	if (last < f->last_pid || last - f->last_pid > NEW_MAX)
		f->next_scan_ns = now;
	else
		for (long pid = f->last_pid + 1; pid <= last; pid++) {
			pid_t tgid = task_tgid((pid_t)pid);

			/* A thread is no newcomer, though /proc has it under its number, too. */
			if (tgid == 0 || tgid == (pid_t)pid)
				watch(f, (pid_t)pid, NEW_NUMBER, now);
		}
	f->last_pid = last;
}

static uint64_t next_time(const struct finder *f, uint64_t now)
{
	uint64_t next = f->next_scan_ns;

	if (f->connector.fd < 0 && now + POLL_NS < next)
		next = now + POLL_NS;
	for (size_t i = 0; i < f->n_new; i++)
		if (f->newcomers[i].next_ns < next)
			next = f->newcomers[i].next_ns;
	return next;
}

/* Those that went on before they were traced. Whom nobody has told of is found by a look at all. */
static void count_early(struct finder *f, const struct exec_hold_news *news, uint64_t now)
{
	bool is_early = news->fate != EXEC_HOLD_WAITS && news->purpose != EXEC_HOLD_READS;

	count(&f->counts.n_early, is_early + news->n_untold);
	if (news->n_untold)
		f->next_scan_ns = now;
}

/* Those who wait come first. */
static void take_held(struct finder *f, uint64_t now)
{
	struct exec_hold_news news;

	while (exec_hold_next(f->files.hold, &news)) {
		enum newness how = NEW_HELD;
		pid_t pid = task_tgid(news.tid);

		count_early(f, &news, now);
		if (news.fate == EXEC_HOLD_EARLY)
			continue; /* it was told of before */
		if (news.purpose == EXEC_HOLD_EXECUTES)
			f->ops->executes(f->ctx, news.tid);
		else if (news.fate == EXEC_HOLD_WAITS)
			f->ops->loads(f->ctx, news.tid);
		else
			how = news.purpose == EXEC_HOLD_LOADS ? NEW_LOADER : NEW_READER;
		if (pid)
			watch(f, pid, how, now);
	}
}

/* Returns how many there were. */
static size_t take_reports(struct finder *f, uint64_t now)
{
	pid_t pids[64];
	bool lost;
	size_t n = proc_connector_read(f->connector.fd, pids, 64, &lost);

	if (lost)
		f->next_scan_ns = now;
	for (size_t i = 0; i < n; i++)
		watch(f, pids[i], NEW_EXECUTED, now);
	return n;
}

/* Whoever has come up to now is counted, too. */
static void take_last(struct finder *f)
{
	struct exec_hold_news news;
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	while (f->files.hold && exec_hold_fd(f->files.hold) >= 0 &&
	       exec_hold_next(f->files.hold, &news))
		count_early(f, &news, now);
	if (f->connector.fd < 0)
		look_for_new_pids(f, now);
	for (size_t n = 0; n < NEW_MAX && f->connector.fd >= 0 && take_reports(f, now);)
		n += 64;
	for (size_t i = 0; i < f->n_new; i++)
		(void)look_at(f, &f->newcomers[i], now);
}

static void scan(struct finder *f)
{
	if (f->files.hold)
		exec_hold_wake(f->files.hold);
	(void)proc_each(scan_one, f);
	f->next_scan_ns = event_clock_now(CLOCK_KIND_MONO) + SCAN_NS;
}

/* False: it is to end. */
static bool turn(struct finder *f)
{
	struct pollfd fds[4] = { { .fd = f->stop_fd, .events = POLLIN },
				 { .fd = f->connector.fd, .events = POLLIN },
				 { .fd = f->files.hold ? exec_hold_fd(f->files.hold) : -1,
				   .events = POLLIN },
				 { .fd = f->files.opened, .events = POLLIN } };
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), next = next_time(f, now);
	struct timespec wait = { 0 };

	if (next > now)
		wait = (struct timespec){ (time_t)((next - now) / 1000000000),
					  (long)((next - now) % 1000000000) };
	if (ppoll(fds, 4, &wait, NULL) > 0 && fds[0].revents)
		return false;
	now = event_clock_now(CLOCK_KIND_MONO);
	if (__atomic_exchange_n(&f->has_more_files, false, __ATOMIC_ACQ_REL)) {
		f->files.are_held = f->files.are_programs = false;
		f->next_scan_ns = now;
	}
	if (fds[2].revents)
		take_held(f, now);
	if (fds[1].revents)
		take_reports(f, now);
	if (f->connector.fd < 0)
		look_for_new_pids(f, now);
	if (fds[3].revents)
		take_opened(f, now);
	look_at_newcomers(f, now);
	if (now >= f->next_scan_ns)
		scan(f);
	return true;
}

static void *run(void *arg)
{
	struct finder *f = arg;

	if (f->files.hold && !exec_hold_begin(f->files.hold))
		f->files.are_held = false;
	proc_connector_mind(&f->connector);
	(void)sem_post(&f->has_begun);
	while (turn(f))
		if (f->files.hold && exec_hold_fd(f->files.hold) < 0)
			f->files.are_held = false;
	take_last(f);
	proc_connector_close(&f->connector);
	if (f->files.hold)
		exec_hold_end(f->files.hold);
	return NULL;
}

static void close_opened(const struct finder_files *files)
{
	if (files->opened >= 0)
		close(files->opened);
}

int finder_start(const struct finder_ops *ops, void *ctx, const struct finder_files *files,
		 struct finder **ret_finder, struct ubp_err *err)
{
	struct finder *f = calloc(1, sizeof(*f));
	int rc;

	if (!f) {
		close_opened(files);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	f->ops = ops;
	f->ctx = ctx;
	f->files = *files;
	(void)sem_init(&f->has_begun, 0, 0);
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (f->stop_fd < 0) {
		rc = ubp_fail_sys(err, "eventfd");
		close_opened(files);
		free(f);
		return rc;
	}
	/* Who hears of execs looks at those who may open a file often enough. */
	if (proc_connector_open(&f->connector)) {
		close_opened(files);
		f->files.opened = -1;
	}
	f->last_pid = finder_last_pid();
	/* Those that are there now are the caller's. */
	f->next_scan_ns = event_clock_now(CLOCK_KIND_MONO) + SCAN_NS;
	rc = quiet_thread_create(&f->thread, run, f);
	if (rc) {
		close(f->stop_fd);
		close_opened(&f->files);
		proc_connector_close(&f->connector);
		free(f);
		return ubp_fail(err, rc, "cannot start a thread: %s", strerror(rc));
	}
	/* The holder is there: nobody waits for one that is still to be started. */
	while (sem_wait(&f->has_begun) < 0 && errno == EINTR)
		;
	*ret_finder = f;
	return 0;
}

void finder_stop(struct finder *finder, struct finder_counts *ret_counts)
{
	uint64_t one = 1;

	if (!finder)
		return;
	(void)again_write(finder->stop_fd, &one, sizeof(one));
	pthread_join(finder->thread, NULL);
	finder_count(finder, ret_counts);
	close(finder->stop_fd);
	close_opened(&finder->files);
	free(finder);
}
