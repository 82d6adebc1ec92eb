/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/aside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/cancel.h"
#include "engine/base/quiet_thread.h"

#define GIVE_UP_MS 500 /* what reads no file does it at once */
#define LOOK_MS    100 /* between looks at the time that the thread has had */

struct aside {
	void (*work)(void *ctx);
	void *ctx;
	pthread_t thread;
	int done_fd;
	int cancelled; /* atomic */
	pthread_mutex_t lock;
	/* Under the lock: */
	bool is_done, is_left;
	void (*release)(void *ctx); /* once it is left */
	void *release_ctx;
	const char *path; /* that is read; NULL: no limit */
	uint64_t end_ns, limit_ns;
};

static _Thread_local struct aside *mine;

static void free_aside(struct aside *a)
{
	(void)close(a->done_fd);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

/* --- the thread ------------------------------------------------------------------------- */

static void *run(void *arg)
{
	const uint64_t one = 1;
	struct aside *a = arg;
	bool is_left;

	mine = a;
	cancel_by(&a->cancelled);
	a->work(a->ctx);
	mine = NULL;
	pthread_mutex_lock(&a->lock);
	a->is_done = true;
	a->path = NULL;
	is_left = a->is_left;
	if (!is_left)
		(void)again_write(a->done_fd, &one, sizeof(one));
	pthread_mutex_unlock(&a->lock);
	if (!is_left)
		return NULL;
	cancel_by(NULL);
	a->release(a->release_ctx);
	free_aside(a);
	return NULL;
}

void aside_limit(const char *path, uint64_t end_ns, uint64_t limit_ns)
{
	struct aside *a = mine;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->path = path;
	a->end_ns = end_ns;
	a->limit_ns = limit_ns;
	pthread_mutex_unlock(&a->lock);
}

/* --- who waits -------------------------------------------------------------------------- */

int aside_begin(void (*work)(void *ctx), void *ctx, struct aside **ret_aside)
{
	struct aside *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->work = work;
	a->ctx = ctx;
	(void)pthread_mutex_init(&a->lock, NULL);
	a->done_fd = eventfd(0, EFD_CLOEXEC);
	rc = a->done_fd < 0 ? errno : 0;
	if (rc == 0)
		rc = quiet_thread_create(&a->thread, run, a);
	if (rc == 0)
		*ret_aside = a;
	else
		free_aside(a);
	return -rc;
}

/* The path is good as long as we have the lock. */
static bool is_late(struct aside *a, struct aside_late *ret_late)
{
	struct timespec ts = { 0 };
	clockid_t clock;
	bool is_late = false;

	pthread_mutex_lock(&a->lock);
	if (a->path && pthread_getcpuclockid(a->thread, &clock) == 0 &&
	    clock_gettime(clock, &ts) == 0)
		is_late = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec > a->end_ns;
	if (is_late) {
		(void)snprintf(ret_late->path, sizeof(ret_late->path), "%s", a->path);
		ret_late->limit_ns = a->limit_ns;
	}
	pthread_mutex_unlock(&a->lock);
	return is_late;
}

static enum aside_end wait_for_end(struct aside *a, const struct aside_until *until,
				   struct aside_late *ret_late)
{
	struct pollfd p[2] = { { .fd = a->done_fd, .events = POLLIN },
			       { .fd = until ? until->fd : -1, .events = POLLIN } };

	for (;;) {
		int n = poll(p, 2, LOOK_MS);

		if (n > 0 && p[0].revents)
			return ASIDE_DONE;
		if (n > 0 && until && p[1].revents && until->is_over(until->ctx))
			return ASIDE_OVER;
		if (is_late(a, ret_late))
			return ASIDE_LATE;
	}
}

static uint64_t now_ms(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* However often signals break that off. */
static void let_give_up(struct aside *a)
{
	struct pollfd p = { .fd = a->done_fd, .events = POLLIN };
	uint64_t now = now_ms(), end = now + GIVE_UP_MS;

	__atomic_store_n(&a->cancelled, 1, __ATOMIC_RELAXED);
	while (now < end && poll(&p, 1, (int)(end - now)) < 0 && errno == EINTR)
		now = now_ms();
}

enum aside_end aside_wait(struct aside *a, const struct aside_until *until,
			  struct aside_late *ret_late)
{
	enum aside_end end = wait_for_end(a, until, ret_late);

	if (end == ASIDE_DONE) {
		(void)pthread_join(a->thread, NULL);
		free_aside(a);
	} else {
		let_give_up(a);
	}
	return end;
}

bool aside_leave(struct aside *a, void (*release)(void *ctx), void *ctx)
{
	bool goes_on;

	pthread_mutex_lock(&a->lock);
	a->release = release;
	a->release_ctx = ctx;
	goes_on = !a->is_done;
	a->is_left = goes_on;
	if (goes_on)
		(void)pthread_detach(a->thread);
	pthread_mutex_unlock(&a->lock);
	if (goes_on)
		return true;
	(void)pthread_join(a->thread, NULL);
	free_aside(a);
	return false;
}
