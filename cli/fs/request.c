/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/request.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fs/instance.h"
#include "cli/fs/state.h"

struct front *request_front(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

void request_lock(struct front *front)
{
	(void)pthread_mutex_lock(&front->state->lock);
}

void request_free_handle(struct handle *handle)
{
	if (handle->holds)
		(void)__atomic_sub_fetch(&handle->holds->n_open, 1, __ATOMIC_RELEASE);
	text_free(&handle->text);
	text_free(&handle->rest);
	free(handle);
}

void request_unlock(struct front *front)
{
	(void)pthread_mutex_unlock(&front->state->lock);
}

static void interrupted(fuse_req_t req, void *data)
{
	struct front *front = data;

	(void)req;
	front->was_interrupted = true;
}

void request_watch(struct front *front, fuse_req_t req)
{
	fuse_req_interrupt_func(req, interrupted, front);
}

void request_reply_part(fuse_req_t req, const struct text *text, off_t off, size_t size)
{
	size_t from = (size_t)off < text->len ? (size_t)off : text->len;
	size_t n = text->len - from < size ? text->len - from : size;

	(void)fuse_reply_buf(req, text->data ? text->data + from : NULL, n);
}

void request_entry(const struct tree_node *node, struct fuse_entry_param *ret_entry)
{
	memset(ret_entry, 0, sizeof(*ret_entry));
	ret_entry->ino = node->number;
	ret_entry->attr.st_ino = node->number;
	ret_entry->attr.st_mode = node->mode;
	ret_entry->attr.st_nlink = S_ISDIR(node->mode) ? 2 : 1;
	ret_entry->attr.st_uid = getuid();
	ret_entry->attr.st_gid = getgid();
}
