/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/fs/state.h"
#include "cli/fs/tracer.h"
#include "engine/base/err.h"
#include "engine/base/quiet_thread.h"

struct worker {
	struct state *state;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	struct job *first, *last;
	bool is_ending;
	int wake; /* an eventfd */
};

static struct job *take(struct worker *worker)
{
	struct job *job;

	(void)pthread_mutex_lock(&worker->lock);
	job = worker->first;
	if (job)
		worker->first = job->next;
	if (!worker->first)
		worker->last = NULL;
	(void)pthread_mutex_unlock(&worker->lock);
	return job;
}

static bool is_ending(struct worker *worker)
{
	bool is;

	(void)pthread_mutex_lock(&worker->lock);
	is = worker->is_ending;
	(void)pthread_mutex_unlock(&worker->lock);
	return is;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = worker->wake, .events = POLLIN },
			{ .fd = fs_tracer_fd(worker->state->tracer), .events = POLLIN },
		};
		bool ends = is_ending(worker);
		uint64_t n;
		struct job *job;

		while ((job = take(worker)))
			job->run(job);
		if (ends)
			return NULL;
		p[1].fd = fs_tracer_fd(worker->state->tracer);
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents)
			(void)!read(worker->wake, &n, sizeof(n));
		if (p[1].revents)
			state_dispatch(worker->state);
	}
}

static void wake(struct worker *worker)
{
	uint64_t one = 1;

	(void)!write(worker->wake, &one, sizeof(one));
}

int worker_new(struct state *state, struct worker **ret_worker, struct ubp_err *err)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int rc;

	if (!worker)
		return ubp_fail(err, ENOMEM, "out of memory");
	worker->state = state;
	(void)pthread_mutex_init(&worker->lock, NULL);
	worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = worker->wake < 0 ? errno : quiet_thread_create(&worker->thread, work, worker);
	if (rc == 0) {
		*ret_worker = worker;
		return 0;
	}
	if (worker->wake >= 0)
		(void)close(worker->wake);
	free(worker);
	return ubp_fail(err, rc, "a thread cannot be started");
}

void worker_add(struct worker *worker, struct job *job)
{
	job->next = NULL;
	(void)pthread_mutex_lock(&worker->lock);
	if (worker->last)
		worker->last->next = job;
	else
		worker->first = job;
	worker->last = job;
	(void)pthread_mutex_unlock(&worker->lock);
	wake(worker);
}

void worker_end(struct worker *worker)
{
	if (!worker)
		return;
	(void)pthread_mutex_lock(&worker->lock);
	worker->is_ending = true;
	(void)pthread_mutex_unlock(&worker->lock);
	wake(worker);
	(void)pthread_join(worker->thread, NULL);
	(void)close(worker->wake);
	(void)pthread_mutex_destroy(&worker->lock);
	free(worker);
}
