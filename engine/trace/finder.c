/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/finder.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/trace/proc_connector.h"

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

struct newcomer {
	pid_t pid;
	bool is_seen; /* looked at, and alive then */
	uint64_t born_ns, next_ns;
};

struct finder {
	const struct finder_ops *ops;
	void *ctx;
	pthread_t thread;
	int stop_fd;
	struct proc_connector connector;
	struct newcomer newcomers[NEW_MAX];
	size_t n_new;
	uint64_t n_unseen; /* read by anybody */
	uint64_t next_scan_ns;
	long last_pid;
};

const char *finder_kind(const struct finder *finder)
{
	return finder->connector.fd >= 0 ? "proc connector" : "scan of /proc";
}

int finder_each_process(int (*each)(void *ctx, pid_t pid), void *ctx)
{
	DIR *dir = opendir("/proc");
	struct dirent *ent;
	int rc = 0;

	if (!dir)
		return -errno;
	while (rc == 0 && (ent = readdir(dir))) {
		pid_t pid = (pid_t)strtol(ent->d_name, NULL, 10);

		if (pid > 0)
			rc = each(ctx, pid);
	}
	closedir(dir);
	return rc;
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

static void watch(struct finder *f, pid_t pid, uint64_t now)
{
	size_t at = 0;

	f->ops->is_new(f->ctx, pid);
	while (at < f->n_new && f->newcomers[at].pid != pid)
		at++;
	if (at == NEW_MAX) {
		f->next_scan_ns = now; /* that finds it */
		return;
	}
	if (at == f->n_new)
		f->n_new++;
	f->newcomers[at] = (struct newcomer){ .pid = pid, .born_ns = now, .next_ns = now };
}

/* False: no use in looking again. */
static bool look_at(struct finder *f, struct newcomer *n, uint64_t now)
{
	switch (look(f, n->pid)) {
	case FINDER_NOT_YET:
		n->is_seen = true;
		return now - n->born_ns <= NEW_FOR_NS;
	case FINDER_ENDED:
		if (!n->is_seen)
			__atomic_store_n(&f->n_unseen, f->n_unseen + 1, __ATOMIC_RELAXED);
		return false;
	case FINDER_WANTED:
		break;
	}
	return false;
}

uint64_t finder_n_unseen(const struct finder *finder)
{
	return __atomic_load_n(&finder->n_unseen, __ATOMIC_RELAXED);
}

static void look_at_newcomers(struct finder *f, uint64_t now)
{
	for (size_t i = 0; i < f->n_new; i++) {
		struct newcomer *n = &f->newcomers[i];

		if (n->next_ns > now)
			continue;
		n->next_ns = now + (now - n->born_ns) / 4 + FIRST_DELAY_NS;
		if (!look_at(f, n, now))
			*n = f->newcomers[--f->n_new], i--;
	}
}

/* The last pid given out, from /proc/loadavg; cheap enough to ask often. */
static long last_pid(void)
{
	long pid = 0;
	FILE *f = fopen("/proc/loadavg", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*s %*s %*s %*s %ld", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

/* Without the connector: those with a number given out since last time. */
static void look_for_new_pids(struct finder *f, uint64_t now)
{
	long last = last_pid();

	if (last == f->last_pid)
		return;
	if (last < f->last_pid || last - f->last_pid > NEW_MAX)
		f->next_scan_ns = now;
	else
		for (long pid = f->last_pid + 1; pid <= last; pid++)
			watch(f, (pid_t)pid, now);
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

static void *run(void *arg)
{
	struct finder *f = arg;
	struct pollfd fds[2] = { { .fd = f->stop_fd, .events = POLLIN },
				 { .fd = f->connector.fd, .events = POLLIN } };
	pid_t pids[64];

	proc_connector_mind(&f->connector);
	for (;;) {
		uint64_t now = event_clock_now(CLOCK_KIND_MONO), next = next_time(f, now);
		struct timespec wait = { 0 };

		if (next > now)
			wait = (struct timespec){ (time_t)((next - now) / 1000000000),
						  (long)((next - now) % 1000000000) };
		if (ppoll(fds, 2, &wait, NULL) > 0 && fds[0].revents)
			break;
		now = event_clock_now(CLOCK_KIND_MONO);
		if (fds[1].revents) {
			bool lost;
			size_t n = proc_connector_read(f->connector.fd, pids, 64, &lost);

			if (lost)
				f->next_scan_ns = now;
			for (size_t i = 0; i < n; i++)
				watch(f, pids[i], now);
		}
		if (f->connector.fd < 0)
			look_for_new_pids(f, now);
		look_at_newcomers(f, now);
		if (now >= f->next_scan_ns) {
			(void)finder_each_process(scan_one, f);
			f->next_scan_ns = event_clock_now(CLOCK_KIND_MONO) + SCAN_NS;
		}
	}
	proc_connector_close(&f->connector);
	return NULL;
}

int finder_start(const struct finder_ops *ops, void *ctx, struct finder **ret_finder,
		 struct ubp_err *err)
{
	struct finder *f = calloc(1, sizeof(*f));
	sigset_t all, old;
	int rc;

	if (!f)
		return ubp_fail(err, ENOMEM, "out of memory");
	f->ops = ops;
	f->ctx = ctx;
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (f->stop_fd < 0) {
		rc = ubp_fail_sys(err, "eventfd");
		free(f);
		return rc;
	}
	(void)proc_connector_open(&f->connector);
	f->last_pid = last_pid();
	/* Those that are there now are the caller's. */
	f->next_scan_ns = event_clock_now(CLOCK_KIND_MONO) + SCAN_NS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		close(f->stop_fd);
		proc_connector_close(&f->connector);
		free(f);
		return ubp_fail(err, rc, "cannot start a thread: %s", strerror(rc));
	}
	*ret_finder = f;
	return 0;
}

void finder_stop(struct finder *finder)
{
	uint64_t one = 1;

	if (!finder)
		return;
	(void)again_write(finder->stop_fd, &one, sizeof(one));
	pthread_join(finder->thread, NULL);
	close(finder->stop_fd);
	free(finder);
}
