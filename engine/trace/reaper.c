/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/reaper.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/map.h"
#include "engine/base/quiet_thread.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

/* At work on one thing for two such turns: it may be blocked. */
#define TURN_MS 200

struct end {
	struct end *next;
	struct stop stop;
};

struct reaper {
	struct tracer *tracer;
	pthread_t thread;
	int stop_fd;
	unsigned turn;        /* the tracer's: how often it had something to do */
	unsigned at_work;     /* atomic: the turn; 0: it waits */
	pthread_mutex_t lock; /* for what follows */
	struct map processes; /* pid -> anything */
	struct end *first, **last;
	unsigned n_ends; /* atomic, too */
};

bool reaper_is_needed(void)
{
	return syscall(SYS_close_range, 1U, 0U, 0U) == 0 || errno != EINVAL;
}

/* True: it has ended, and the tracer will be told. */
static bool reap(struct reaper *r, pid_t tid)
{
	const int how = WEXITED | WNOHANG | __WALL;
	struct end *end = calloc(1, sizeof(*end));
	siginfo_t si = { 0 };

	if (!end || again_waitid(P_PID, (id_t)tid, &si, how) < 0 || si.si_pid == 0) {
		free(end);
		return false;
	}
	wait_fill(&end->stop, &si);
	*r->last = end;
	r->last = &end->next;
	__atomic_store_n(&r->n_ends, r->n_ends + 1, __ATOMIC_RELEASE);
	return true;
}

static bool reap_threads(struct reaper *r, pid_t pid)
{
	struct dirent *ent;
	bool any = false;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (ent = readdir(dir))) {
		pid_t tid = (pid_t)strtol(ent->d_name, NULL, 10);

		/* Of the first thread the end is the process's: no exec waits for that. */
		if (tid > 0 && tid != pid && reap(r, tid))
			any = true;
	}
	if (dir)
		closedir(dir);
	return any;
}

static void reap_all(struct reaper *r)
{
	bool any = false;
	size_t pos = 0;
	uint64_t pid;
	void *value;

	pthread_mutex_lock(&r->lock);
	while (map_next(&r->processes, &pos, &pid, &value))
		any |= reap_threads(r, (pid_t)pid);
	pthread_mutex_unlock(&r->lock);
	/* It may have come back meanwhile, and wait for just these. */
	if (any)
		tracer_wake(r->tracer);
}

static void *run(void *arg)
{
	struct reaper *r = arg;
	struct pollfd stop = { .fd = r->stop_fd, .events = POLLIN };
	unsigned before = 0;

	while (poll(&stop, 1, TURN_MS) <= 0) {
		unsigned now = __atomic_load_n(&r->at_work, __ATOMIC_RELAXED);

		if (now && now == before)
			reap_all(r);
		before = now;
	}
	return NULL;
}

struct reaper *reaper_start(struct tracer *tracer)
{
	struct reaper *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return NULL;
	r->tracer = tracer;
	r->last = &r->first;
	r->turn = r->at_work = 1;
	pthread_mutex_init(&r->lock, NULL);
	r->stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = r->stop_fd < 0 ? errno : quiet_thread_create(&r->thread, run, r);
	if (rc == 0)
		return r;
	if (r->stop_fd >= 0)
		close(r->stop_fd);
	free(r);
	return NULL;
}

void reaper_stop(struct reaper *reaper)
{
	uint64_t one = 1;
	struct stop stop;

	if (!reaper)
		return;
	(void)again_write(reaper->stop_fd, &one, sizeof(one));
	pthread_join(reaper->thread, NULL);
	while (reaper_next(reaper, &stop))
		;
	close(reaper->stop_fd);
	map_free(&reaper->processes);
	pthread_mutex_destroy(&reaper->lock);
	free(reaper);
}

void reaper_mind(struct reaper *reaper, pid_t pid)
{
	if (!reaper)
		return;
	pthread_mutex_lock(&reaper->lock);
	(void)map_put(&reaper->processes, (uint64_t)pid, reaper);
	pthread_mutex_unlock(&reaper->lock);
}

void reaper_forget(struct reaper *reaper, pid_t pid)
{
	if (!reaper)
		return;
	pthread_mutex_lock(&reaper->lock);
	map_remove(&reaper->processes, (uint64_t)pid);
	pthread_mutex_unlock(&reaper->lock);
}

void reaper_waiting(struct reaper *reaper)
{
	if (reaper)
		__atomic_store_n(&reaper->at_work, 0, __ATOMIC_RELAXED);
}

void reaper_working(struct reaper *reaper)
{
	if (!reaper)
		return;
	reaper->turn += reaper->turn + 1 ? 1 : 2;
	__atomic_store_n(&reaper->at_work, reaper->turn, __ATOMIC_RELAXED);
}

bool reaper_next(struct reaper *reaper, struct stop *ret_stop)
{
	struct end *end;

	if (!reaper || __atomic_load_n(&reaper->n_ends, __ATOMIC_ACQUIRE) == 0)
		return false;
	pthread_mutex_lock(&reaper->lock);
	end = reaper->first;
	reaper->first = end->next;
	if (!end->next)
		reaper->last = &reaper->first;
	__atomic_store_n(&reaper->n_ends, reaper->n_ends - 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&reaper->lock);
	*ret_stop = end->stop;
	free(end);
	return true;
}
