/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/pipe.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/state.h"
#include "cli/fs/task.h"

/* A read that waits. */
struct waiter {
	struct waiter *next;
	fuse_req_t req;
	struct handle *handle;
	size_t size;
	pid_t tid;
	uint64_t sync; /* it waits no longer than for this one; 0: until there is something */
};

/* What can be read now, up to @size bytes. -EAGAIN: nothing yet. 0: the end. */
static ssize_t take(struct front *front, struct handle *handle, size_t size)
{
	struct tree_node node;
	int rc;

	request_lock(front);
	rc = tree_find(front->state, handle->node, &node);
	while (rc == 0 && handle->rest.len < size &&
	       buffer_take(&node.at.instance->buffer, node.at.cpu, &handle->rest))
		;
	if (rc == 0 && !handle->rest.len && (node.at.instance->is_on || !handle->has_read))
		rc = -EAGAIN;
	request_unlock(front);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	return (ssize_t)(handle->rest.len < size ? handle->rest.len : size);
}

/* False: there is nothing yet. */
static bool serve(struct front *front, fuse_req_t req, struct handle *handle, size_t size)
{
	ssize_t n = take(front, handle, size);

	if (n < 0)
		return false;
	if (fuse_reply_buf(req, handle->rest.data, (size_t)n) == 0) {
		text_drop(&handle->rest, (size_t)n);
		handle->has_read |= n > 0;
	}
	return true;
}

void pipe_read(fuse_req_t req, struct handle *handle, size_t size, bool may_wait)
{
	struct front *front = request_front(req);
	struct waiter *waiter, **last = &front->waiters;
	uint64_t sync = 0;

	if (serve(front, req, handle, size))
		return;
	waiter = calloc(1, sizeof(*waiter));
	if (waiter && !may_wait)
		sync = task_sync(front);
	if (!waiter || (!may_wait && !sync)) {
		free(waiter);
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	*waiter = (struct waiter){ .req = req,
				   .handle = handle,
				   .size = size,
				   .tid = fuse_req_ctx(req)->pid,
				   .sync = sync };
	while (*last)
		last = &(*last)->next;
	*last = waiter;
	request_watch(front, req);
}

/* --- poll ------------------------------------------------------------------- */

static unsigned ready(struct front *front, const struct handle *handle)
{
	struct tree_node node;
	bool is;

	if (!handle->file->is_pipe)
		return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
	request_lock(front);
	is = handle->rest.len || tree_find(front->state, handle->node, &node) < 0 ||
	     buffer_has(&node.at.instance->buffer, node.at.cpu);
	request_unlock(front);
	return is ? POLLIN | POLLRDNORM : 0;
}

void pipe_forget(struct front *front, struct handle *handle)
{
	struct handle **link = &front->polled;

	if (!handle->poll)
		return;
	while (*link != handle)
		link = &(*link)->next_polled;
	*link = handle->next_polled;
	fuse_pollhandle_destroy(handle->poll);
	handle->poll = NULL;
}

void pipe_poll(fuse_req_t req, struct handle *handle, struct fuse_pollhandle *ph)
{
	struct front *front = request_front(req);

	if (ph) {
		pipe_forget(front, handle);
		handle->poll = ph;
		handle->next_polled = front->polled;
		front->polled = handle;
	}
	(void)fuse_reply_poll(req, ready(front, handle));
}

static void tell_polled(struct front *front)
{
	struct handle *next;

	for (struct handle *handle = front->polled; handle; handle = next) {
		next = handle->next_polled;
		if (!ready(front, handle))
			continue;
		(void)fuse_lowlevel_notify_poll(handle->poll);
		pipe_forget(front, handle);
	}
}

/* --- those that wait -------------------------------------------------------- */

/* Not answered by others before, so that the oldest gets what there is. */
void pipe_news(struct front *front)
{
	uint64_t synced = __atomic_load_n(&front->synced, __ATOMIC_ACQUIRE);
	struct waiter **link = &front->waiters;

	while (*link) {
		struct waiter *waiter = *link;

		if (!serve(front, waiter->req, waiter->handle, waiter->size)) {
			if (!waiter->sync || synced < waiter->sync) {
				link = &waiter->next;
				continue;
			}
			(void)fuse_reply_err(waiter->req, EAGAIN);
		}
		*link = waiter->next;
		free(waiter);
	}
	tell_polled(front);
}

/* Does a signal wait for thread @tid, or has that ended? */
static bool has_signal(pid_t tid)
{
	static const char *const names[] = { "SigPnd:", "ShdPnd:", "SigBlk:" };
	unsigned long long sets[3] = { 0 };
	char path[48], line[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file))
		for (int i = 0; i < 3; i++)
			if (strncmp(line, names[i], strlen(names[i])) == 0)
				sets[i] = strtoull(line + strlen(names[i]), NULL, 16);
	(void)fclose(file);
	return (sets[0] | sets[1]) & ~sets[2];
}

bool pipe_look(struct front *front)
{
	struct waiter **link = &front->waiters;
	bool some = false;

	while (*link) {
		struct waiter *waiter = *link;
		bool is_interrupted = fuse_req_interrupted(waiter->req);

		if (!is_interrupted || !has_signal(waiter->tid)) {
			some |= is_interrupted;
			link = &waiter->next;
			continue;
		}
		*link = waiter->next;
		(void)fuse_reply_err(waiter->req, EINTR);
		free(waiter);
	}
	return some;
}

void pipe_end(struct front *front)
{
	while (front->waiters) {
		struct waiter *waiter = front->waiters;

		front->waiters = waiter->next;
		(void)fuse_reply_buf(waiter->req, NULL, 0);
		free(waiter);
	}
}
