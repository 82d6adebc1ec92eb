/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fs/state.h"
#include "cli/fs/worker.h"

enum kind { TASK_READ, TASK_WRITE, TASK_TRUNCATE, TASK_MAKE, TASK_REMOVE };

struct task {
	struct job job;
	enum kind kind;
	struct front *front;
	fuse_req_t req; /* NULL: it is answered */
	uint64_t node;
	struct handle *handle; /* good until it is answered */
	struct fuse_file_info fi;
	char *data; /* what is written, or a name */
	size_t len;
	off_t off;
	int folder; /* the writer's */
	pid_t tid;
};

static void free_task(struct task *task)
{
	if (task->folder >= 0)
		(void)close(task->folder);
	free(task->data);
	free(task);
}

/* --- answers: with .task_lock ----------------------------------------------- */

static void answer_read(struct task *task, int rc)
{
	if (rc < 0) {
		(void)fuse_reply_err(task->req, -rc);
		return;
	}
	request_lock(task->front);
	request_reply_part(task->req, &task->handle->text, task->off, task->len);
	request_unlock(task->front);
}

static void answer_open(struct task *task, int rc)
{
	if (rc == 0)
		rc = fuse_reply_open(task->req, &task->fi) == 0 ? 0 : 1;
	else
		(void)fuse_reply_err(task->req, -rc);
	if (rc)
		request_free_handle(task->handle);
}

static void answer_made(struct task *task, int rc)
{
	struct fuse_entry_param entry;
	struct tree_node node;

	if (rc == 0)
		rc = tree_look_up(task->front->state, task->node, task->data, &node);
	if (rc < 0) {
		(void)fuse_reply_err(task->req, -rc);
		return;
	}
	request_entry(&node, &entry);
	(void)fuse_reply_entry(task->req, &entry);
}

/* @rc: what came of it, a number of bytes or a negative errno. */
static void answer(struct task *task, ssize_t rc)
{
	if (!task->req)
		return;
	if (task->front->is_ending) {
		fuse_reply_none(task->req);
		if (task->kind == TASK_TRUNCATE)
			request_free_handle(task->handle);
	} else if (task->kind == TASK_READ)
		answer_read(task, (int)rc);
	else if (task->kind == TASK_WRITE && rc >= 0)
		(void)fuse_reply_write(task->req, (size_t)rc);
	else if (task->kind == TASK_TRUNCATE)
		answer_open(task, (int)rc);
	else if (task->kind == TASK_MAKE)
		answer_made(task, (int)rc);
	else
		(void)fuse_reply_err(task->req, rc < 0 ? (int)-rc : 0);
	task->req = NULL;
}

/* Its caller is to be stopped, which a read is no reason for. */
static void answer_early(struct task *task)
{
	if (task->req && task->kind != TASK_READ && task->kind != TASK_MAKE &&
	    fuse_req_interrupted(task->req))
		answer(task, task->kind == TASK_WRITE ? (ssize_t)task->len : 0);
}

void task_look(struct front *front)
{
	(void)pthread_mutex_lock(&front->task_lock);
	if (front->running)
		answer_early(front->running);
	(void)pthread_mutex_unlock(&front->task_lock);
}

/* --- on the worker's thread ------------------------------------------------- */

static int make_text(struct task *task, const struct tree_node *node)
{
	struct text text = { 0 };

	node->file->read(task->front->state, &node->at, &text);
	if (text.is_short) {
		text_free(&text);
		return -ENOMEM;
	}
	request_lock(task->front);
	text_free(&task->handle->text);
	task->handle->text = text;
	task->handle->has_text = true;
	request_unlock(task->front);
	return 0;
}

static int make_instance(struct task *task)
{
	int rc;

	request_lock(task->front);
	rc = state_add_instance(task->front->state, task->data);
	request_unlock(task->front);
	return rc;
}

static int remove_instance(struct task *task)
{
	struct tree_node node;
	int rc = tree_look_up(task->front->state, task->node, task->data, &node);

	if (rc < 0)
		return rc;
	request_lock(task->front);
	node.at.instance->goes =
		__atomic_load_n(&node.at.instance->n_open, __ATOMIC_ACQUIRE) == 0;
	request_unlock(task->front);
	if (!node.at.instance->goes)
		return -EBUSY;
	state_remove_instance(task->front->state, node.at.instance->number);
	return 0;
}

static ssize_t carry_out(struct task *task)
{
	struct file_write w = { task->data, task->len, task->folder, task->tid };
	struct tree_node node;
	int rc = tree_find(task->front->state, task->node, &node);

	if (rc < 0)
		return task->kind == TASK_READ || task->kind == TASK_WRITE ? -ENODEV : rc;
	switch (task->kind) {
	case TASK_READ:
		return make_text(task, &node);
	case TASK_WRITE:
		return node.file->write(task->front->state, &node.at, &w);
	case TASK_TRUNCATE:
		return node.file->truncate(task->front->state, &node.at);
	case TASK_MAKE:
		return make_instance(task);
	case TASK_REMOVE:
		return remove_instance(task);
	}
	return -EINVAL;
}

static void run(struct job *job)
{
	struct task *task = (struct task *)job;
	struct front *front = task->front;
	ssize_t rc;

	(void)pthread_mutex_lock(&front->task_lock);
	front->running = task;
	answer_early(task);
	(void)pthread_mutex_unlock(&front->task_lock);
	rc = carry_out(task);
	(void)pthread_mutex_lock(&front->task_lock);
	front->running = NULL;
	answer(task, rc);
	(void)pthread_mutex_unlock(&front->task_lock);
	free_task(task);
}

/* --- on FUSE's thread ------------------------------------------------------- */

/* NULL: memory is short, and it is answered. */
static struct task *task_new(fuse_req_t req, enum kind kind, uint64_t node, const char *data,
			     size_t len)
{
	struct task *task = calloc(1, sizeof(*task));

	if (task)
		task->data = malloc(len + 1);
	if (!task || !task->data) {
		free(task);
		(void)fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	if (len)
		memcpy(task->data, data, len);
	task->data[len] = '\0';
	task->job.run = run;
	task->kind = kind;
	task->front = request_front(req);
	task->req = req;
	task->node = node;
	task->len = len;
	task->folder = -1;
	task->tid = fuse_req_ctx(req)->pid;
	return task;
}

static void add(struct task *task)
{
	request_watch(task->front, task->req);
	worker_add(task->front->worker, &task->job);
}

void task_read(fuse_req_t req, struct handle *handle, size_t size, off_t off)
{
	struct task *task = task_new(req, TASK_READ, handle->node, NULL, 0);

	if (!task)
		return;
	task->handle = handle;
	task->len = size;
	task->off = off;
	add(task);
}

void task_write(fuse_req_t req, const struct handle *handle, const char *data, size_t len)
{
	struct task *task = task_new(req, TASK_WRITE, handle->node, data, len);
	char path[48];

	if (!task)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)task->tid);
	task->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	add(task);
}

void task_truncate(fuse_req_t req, struct handle *handle, const struct fuse_file_info *fi)
{
	struct task *task = task_new(req, TASK_TRUNCATE, handle->node, NULL, 0);

	if (!task) {
		request_free_handle(handle);
		return;
	}
	task->handle = handle;
	task->fi = *fi;
	add(task);
}

void task_make_instance(fuse_req_t req, uint64_t folder, const char *name)
{
	struct task *task = task_new(req, TASK_MAKE, folder, name, strlen(name));

	if (task)
		add(task);
}

void task_remove_instance(fuse_req_t req, uint64_t folder, const char *name)
{
	struct task *task = task_new(req, TASK_REMOVE, folder, name, strlen(name));

	if (task)
		add(task);
}

/* --- without a request ------------------------------------------------------ */

struct sync {
	struct job job;
	struct front *front;
	uint64_t number;
};

static void run_sync(struct job *job)
{
	struct sync *sync = (struct sync *)job;
	struct state *state = sync->front->state;

	state_sync(state);
	__atomic_store_n(&sync->front->synced, sync->number, __ATOMIC_RELEASE);
	state->news(state->news_ctx);
	free(sync);
}

uint64_t task_sync(struct front *front)
{
	struct sync *sync = calloc(1, sizeof(*sync));

	if (!sync)
		return 0;
	*sync = (struct sync){ .job.run = run_sync,
			       .front = front,
			       .number = ++front->n_syncs };
	worker_add(front->worker, &sync->job);
	return front->n_syncs;
}
