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
	pthread_t thread;
	pid_t owner;   /* fork() copies all of this, and no thread */
	int done_fd;   /* written to when there is no more work */
	int cancelled; /* atomic */
	pthread_mutex_t lock;
	pthread_cond_t called; /* there is work, or the thread is to end */
	/* Under the lock: */
	void (*work)(void *ctx); /* NULL: none, any more */
	void *ctx;
	bool is_left, is_ending;
	void (*release)(void *ctx); /* once it is left */
	void *release_ctx;
	const char *path; /* that is read; NULL: no limit */
	uint64_t end_ns, limit_ns;
};

static _Thread_local struct aside *mine;

static void free_aside(struct aside *a)
{
	(void)close(a->done_fd);
	(void)pthread_cond_destroy(&a->called);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

/* --- the thread ------------------------------------------------------------------------- */

static bool wait_for_work(struct aside *a)
{
	bool has_work;

	pthread_mutex_lock(&a->lock);
	while (!a->work && !a->is_ending)
		pthread_cond_wait(&a->called, &a->lock);
	has_work = a->work;
	pthread_mutex_unlock(&a->lock);
	return has_work;
}

/* False: nobody waits for it any more. */
static bool tell_done(struct aside *a)
{
	const uint64_t one = 1;
	bool is_left;

	pthread_mutex_lock(&a->lock);
	a->work = NULL;
	a->path = NULL;
	is_left = a->is_left;
	pthread_mutex_unlock(&a->lock);
	if (!is_left)
		(void)again_write(a->done_fd, &one, sizeof(one));
	return !is_left;
}

static void *run(void *arg)
{
	struct aside *a = arg;

	mine = a;
	cancel_by(&a->cancelled);
	while (wait_for_work(a)) {
		a->work(a->ctx);
		if (tell_done(a))
			continue;
		mine = NULL;
		cancel_by(NULL);
		a->release(a->release_ctx);
		free_aside(a);
		break;
	}
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

/* --- who wants it ----------------------------------------------------------------------- */

static int new_aside(struct aside **ret_aside)
{
	struct aside *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->owner = getpid();
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_cond_init(&a->called, NULL);
	a->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = a->done_fd < 0 ? errno : 0;
	if (rc == 0)
		rc = quiet_thread_create(&a->thread, run, a);
	if (rc == 0)
		*ret_aside = a;
	else
		free_aside(a);
	return -rc;
}

static bool is_ours(const struct aside *a)
{
	return a->owner == getpid();
}

/* The lock may be held for ever by the thread that is not there. */
static void forget(struct aside *a)
{
	(void)close(a->done_fd);
	free(a);
}

static void hand_over(struct aside *a, void (*work)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&a->lock);
	a->work = work;
	a->ctx = ctx;
	pthread_mutex_unlock(&a->lock);
	pthread_cond_signal(&a->called);
}

/* --- who waits -------------------------------------------------------------------------- */

static bool is_done(struct aside *a)
{
	uint64_t ignored;
	bool is_done;

	/* It may be of the work before: the word comes behind the deed. */
	(void)!read(a->done_fd, &ignored, sizeof(ignored));
	pthread_mutex_lock(&a->lock);
	is_done = !a->work;
	pthread_mutex_unlock(&a->lock);
	return is_done;
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

static enum aside_end wait_for_end(struct aside *a, const struct ubp_until *until,
				   struct aside_late *ret_late)
{
	struct pollfd p[2] = { { .fd = a->done_fd, .events = POLLIN },
			       { .fd = until ? until->fd : -1, .events = POLLIN } };

	for (;;) {
		int n = poll(p, 2, LOOK_MS);

		if (is_done(a))
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

int aside_do(struct aside **aside, void (*work)(void *ctx), void *ctx,
	     const struct ubp_until *until, struct aside_late *ret_late)
{
	enum aside_end end;
	int rc;

	if (*aside && !is_ours(*aside)) {
		forget(*aside);
		*aside = NULL;
	}
	rc = *aside ? 0 : new_aside(aside);
	if (!*aside)
		return rc;
	hand_over(*aside, work, ctx);
	end = wait_for_end(*aside, until, ret_late);
	if (end != ASIDE_DONE)
		let_give_up(*aside);
	return (int)end;
}

bool aside_leave(struct aside *a, void (*release)(void *ctx), void *ctx)
{
	bool goes_on;

	if (!is_ours(a))
		return true;
	pthread_mutex_lock(&a->lock);
	a->release = release;
	a->release_ctx = ctx;
	goes_on = a->work;
	a->is_left = goes_on;
	if (goes_on)
		(void)pthread_detach(a->thread);
	pthread_mutex_unlock(&a->lock);
	if (!goes_on)
		aside_free(a);
	return goes_on;
}

void aside_free(struct aside *a)
{
	if (!a)
		return;
	if (!is_ours(a)) {
		forget(a);
		return;
	}
	pthread_mutex_lock(&a->lock);
	a->is_ending = true;
	pthread_cond_signal(&a->called);
	pthread_mutex_unlock(&a->lock);
	(void)pthread_join(a->thread, NULL);
	free_aside(a);
}
