/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/alone_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/quiet_thread.h"
#include "engine/base/vec.h"

struct watched {
	pid_t pid;
	int pid_fd;    /* readable when it has ended */
	int memory_fd; /* /proc/PID/pagemap of the memory that it had */
	struct alone_bell bell;
	enum alone_state state;
};

struct alone_watch {
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, but for what never changes */
	void (*news)(void *ctx);
	void *ctx;
	int wake_fd; /* what is to be polled has changed */
	struct watched *v;
	size_t n, cap;
	bool has_news, ends;
	unsigned tends; /* so often it is looked sooner */
};

/*
 * The memory's last user has gone. A read of pagemap asks for that first, then whether its length is one of whole entries, which
 * this is not: so nothing is read, and no lock is waited for that a program may hold as long as it likes.
 */
static bool has_gone(const struct watched *w)
{
	uint8_t byte;

	return pread(w->memory_fd, &byte, 1, 0) == 0;
}

/* It has no memory at all: before long the descriptor tells that it has ended. */
static bool is_at_its_end(const struct watched *w)
{
	char path[32], target[1];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)w->pid);
	return readlink(path, target, sizeof(target)) < 0 && errno == ENOENT;
}

static bool has_rung(const struct watched *w)
{
	const struct alone_bell *bell = &w->bell;

	return bell->word &&
	       (__atomic_load_n(bell->word, __ATOMIC_RELAXED) != bell->rung ||
		__atomic_load_n(bell->missed, __ATOMIC_RELAXED) != bell->n_missed);
}

static enum alone_state look(const struct watched *w)
{
	struct pollfd fd = { .fd = w->pid_fd, .events = POLLIN };

	if (w->state == ALONE_ENDED || poll(&fd, 1, 0) > 0)
		return ALONE_ENDED;
	if (w->state == ALONE_EXECUTED)
		return ALONE_EXECUTED;
	if (has_gone(w))
		return is_at_its_end(w) ? w->state : ALONE_EXECUTED;
	return has_rung(w) ? ALONE_RANG : ALONE_LASTS;
}

static bool tend(const struct watched *w)
{
	return w->bell.tend && w->state < ALONE_EXECUTED && w->bell.tend(w->bell.ctx);
}

/* With the lock. True: there is something to tell. @bells: nothing but these is looked at. */
static bool look_at_all(struct alone_watch *watch, bool bells)
{
	bool any = false;

	for (size_t i = 0; i < watch->n; i++) {
		struct watched *w = &watch->v[i];
		enum alone_state state = w->state;

		if (tend(w))
			watch->tends = ALONE_TENDS;
		if (!bells)
			state = look(w);
		else if (state == ALONE_LASTS && has_rung(w))
			state = ALONE_RANG;

		any |= state != w->state;
		w->state = state;
	}
	watch->has_news |= any;
	return any;
}

/* Descriptors to poll: the first is .wake_fd. With the lock. NULL: no memory, then by time alone. */
static struct pollfd *descriptors(const struct alone_watch *watch, nfds_t *ret_n)
{
	struct pollfd *fds = calloc(watch->n + 1, sizeof(*fds));

	*ret_n = 0;
	if (!fds)
		return NULL;
	fds[(*ret_n)++] = (struct pollfd){ .fd = watch->wake_fd, .events = POLLIN };
	for (size_t i = 0; i < watch->n; i++)
		if (watch->v[i].state != ALONE_ENDED)
			fds[(*ret_n)++] =
				(struct pollfd){ .fd = watch->v[i].pid_fd, .events = POLLIN };
	return fds;
}

/* Until the next look, unless a descriptor tells of something. With the lock. */
static long pause_ns(struct alone_watch *watch)
{
	if (!watch->tends)
		return ALONE_BELL_MS * 1000000L;
	watch->tends--;
	return ALONE_TEND_NS;
}

static void *run(void *arg)
{
	struct alone_watch *watch = arg;
	uint64_t count;
	long waited_ns = 0;

	pthread_mutex_lock(&watch->lock);
	while (!watch->ends) {
		nfds_t n;
		struct pollfd *fds = descriptors(watch, &n);
		struct timespec pause = { .tv_nsec = pause_ns(watch) };
		bool is_any = watch->n != 0, any, is_told, is_due;

		pthread_mutex_unlock(&watch->lock);
		is_told = ppoll(fds, n, is_any || !fds ? &pause : NULL, NULL) != 0;
		free(fds);
		if (is_told)
			(void)again_read_some(watch->wake_fd, &count, sizeof(count));
		waited_ns += pause.tv_nsec;
		is_due = is_told || waited_ns >= ALONE_LOOK_MS * 1000000L;
		waited_ns = is_due ? 0 : waited_ns;
		pthread_mutex_lock(&watch->lock);
		any = look_at_all(watch, !is_due);
		pthread_mutex_unlock(&watch->lock);
		if (any)
			watch->news(watch->ctx);
		pthread_mutex_lock(&watch->lock);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

static void wake(const struct alone_watch *watch)
{
	const uint64_t one = 1;

	(void)again_write(watch->wake_fd, &one, sizeof(one));
}

struct alone_watch *alone_watch_start(void (*news)(void *ctx), void *ctx)
{
	struct alone_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->news = news;
	watch->ctx = ctx;
	pthread_mutex_init(&watch->lock, NULL);
	watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->wake_fd >= 0 && quiet_thread_create(&watch->thread, run, watch) == 0)
		return watch;
	if (watch->wake_fd >= 0)
		close(watch->wake_fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
	return NULL;
}

static void close_one(const struct watched *w)
{
	close(w->pid_fd);
	close(w->memory_fd);
}

void alone_watch_stop(struct alone_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->ends = true;
	pthread_mutex_unlock(&watch->lock);
	wake(watch);
	pthread_join(watch->thread, NULL);
	for (size_t i = 0; i < watch->n; i++)
		close_one(&watch->v[i]);
	close(watch->wake_fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch->v);
	free(watch);
}

static int open_one(pid_t pid, pid_t live, struct watched *ret)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)live);
	ret->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ret->pid_fd < 0)
		return -errno;
	ret->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->memory_fd >= 0)
		return 0;
	close(ret->pid_fd);
	return -errno;
}

int alone_watch_add(struct alone_watch *watch, pid_t pid, pid_t live,
		    const struct alone_bell *bell)
{
	struct watched w = { .pid = pid, .bell = *bell, .state = ALONE_LASTS };
	int rc = open_one(pid, live, &w);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&watch->lock);
	rc = VEC_ROOM(watch->v, &watch->cap, watch->n);
	if (rc == 0)
		watch->v[watch->n++] = w;
	pthread_mutex_unlock(&watch->lock);
	if (rc < 0)
		close_one(&w);
	else
		wake(watch);
	return rc;
}

static struct watched *find(const struct alone_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->n; i++)
		if (watch->v[i].pid == pid)
			return &watch->v[i];
	return NULL;
}

void alone_watch_drop(struct alone_watch *watch, pid_t pid)
{
	struct watched *w;

	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	w = find(watch, pid);
	if (w) {
		/* A poll of these descriptors may go on: it tells nothing that is believed. */
		close_one(w);
		*w = watch->v[--watch->n];
	}
	pthread_mutex_unlock(&watch->lock);
}

void alone_watch_executed(struct alone_watch *watch, pid_t pid)
{
	struct watched *w;

	pthread_mutex_lock(&watch->lock);
	w = find(watch, pid);
	if (w && w->state != ALONE_ENDED) {
		w->bell.word = NULL;
		w->bell.tend = NULL;
		w->state = ALONE_EXECUTED;
	}
	pthread_mutex_unlock(&watch->lock);
}

void alone_watch_heard(struct alone_watch *watch, pid_t pid)
{
	struct watched *w;

	pthread_mutex_lock(&watch->lock);
	w = find(watch, pid);
	if (w && w->state == ALONE_RANG) {
		w->bell.rung = __atomic_load_n(w->bell.word, __ATOMIC_RELAXED);
		w->bell.n_missed = __atomic_load_n(w->bell.missed, __ATOMIC_RELAXED);
		w->state = ALONE_LASTS;
	}
	pthread_mutex_unlock(&watch->lock);
}

enum alone_state alone_watch_look(struct alone_watch *watch, pid_t pid)
{
	enum alone_state state = ALONE_ENDED;
	struct watched *w;

	pthread_mutex_lock(&watch->lock);
	w = find(watch, pid);
	if (w) {
		state = look(w);
		watch->has_news |= state != w->state;
		w->state = state;
	}
	pthread_mutex_unlock(&watch->lock);
	return state;
}

bool alone_watch_take_news(struct alone_watch *watch)
{
	bool had;

	if (!watch)
		return false;
	pthread_mutex_lock(&watch->lock);
	had = watch->has_news;
	watch->has_news = false;
	pthread_mutex_unlock(&watch->lock);
	return had;
}
