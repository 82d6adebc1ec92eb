/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * One thread answers all requests but those that ask the engine, which are the worker's (cli/fs/task.h): whoever waits for an answer waits for the
 * engine only if that is what was asked for. A read of trace_pipe is kept until there is something (cli/fs/pipe.h).
 */

#include "cli/fs/front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/common/signals.h"
#include "cli/fs/instance.h"
#include "cli/fs/pipe.h"
#include "cli/fs/request.h"
#include "cli/fs/state.h"
#include "cli/fs/task.h"
#include "cli/fs/worker.h"
#include "engine/base/err.h"

#define FUSE_MAGIC 0x65735546
/* So often it is looked whether a reader that was interrupted has a signal to see to. */
#define LOOK_MS 100

/* --- folders ---------------------------------------------------------------- */

static void on_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	/* O_TRUNC is seen where it is meant, and can fail. */
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct front *front = request_front(req);
	struct fuse_entry_param entry;
	struct tree_node node;
	int rc;

	request_lock(front);
	rc = tree_look_up(front->state, parent, name, &node);
	request_unlock(front);
	if (rc < 0) {
		(void)fuse_reply_err(req, -rc);
		return;
	}
	request_entry(&node, &entry);
	(void)fuse_reply_entry(req, &entry);
}

/* 0 or -ENOENT. */
static int find(struct front *front, fuse_ino_t number, struct tree_node *ret_node)
{
	int rc;

	request_lock(front);
	rc = tree_find(front->state, number, ret_node);
	request_unlock(front);
	return rc;
}

static void on_getattr(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
	struct fuse_entry_param entry;
	struct tree_node node;
	int rc = find(request_front(req), number, &node);

	(void)fi;
	if (rc < 0) {
		(void)fuse_reply_err(req, -rc);
		return;
	}
	request_entry(&node, &entry);
	(void)fuse_reply_attr(req, &entry.attr, 0);
}

/* truncate(2) means nothing to the kernel's files, either. Who may do what is as it is. */
static void on_setattr(fuse_req_t req, fuse_ino_t number, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	(void)attr;
	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		(void)fuse_reply_err(req, EPERM);
	else
		on_getattr(req, number, fi);
}

struct folder_part {
	fuse_req_t req;
	char *data;
	size_t size, len;
	off_t skip, n;
};

static int add_entry(void *ctx, const char *name, uint64_t number, mode_t mode)
{
	struct folder_part *part = ctx;
	struct stat st = { .st_ino = number, .st_mode = mode };
	size_t n;

	if (part->n++ < part->skip)
		return 0;
	n = fuse_add_direntry(part->req, part->data + part->len, part->size - part->len, name,
			      &st, part->n);
	if (n > part->size - part->len)
		return 1;
	part->len += n;
	return 0;
}

static void on_readdir(fuse_req_t req, fuse_ino_t number, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct front *front = request_front(req);
	struct folder_part part = {
		.req = req, .data = malloc(size), .size = size, .skip = off
	};
	int rc = -ENOMEM;

	(void)fi;
	if (part.data) {
		request_lock(front);
		rc = add_entry(&part, ".", number, S_IFDIR);
		if (rc == 0)
			rc = add_entry(&part, "..", number, S_IFDIR);
		if (rc == 0)
			rc = tree_each(front->state, number, add_entry, &part);
		request_unlock(front);
	}
	if (rc < 0)
		(void)fuse_reply_err(req, -rc);
	else
		(void)fuse_reply_buf(req, part.data, part.len);
	free(part.data);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	if (strlen(name) > NAME_MAX)
		(void)fuse_reply_err(req, ENAMETOOLONG);
	else if (tree_takes_folders(parent))
		task_make_instance(req, parent, name);
	else
		(void)fuse_reply_err(req, EPERM);
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (tree_takes_folders(parent))
		task_remove_instance(req, parent, name);
	else
		(void)fuse_reply_err(req, EPERM);
}

/* Files come and go with what is defined, and by no other way. */

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	(void)fuse_reply_err(req, EPERM);
}

static void on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)fi;
	(void)fuse_reply_err(req, EACCES);
}

static void on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		     dev_t dev)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)dev;
	(void)fuse_reply_err(req, EACCES);
}

static void on_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	(void)link;
	on_unlink(req, parent, name);
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name, unsigned flags)
{
	(void)new_parent;
	(void)new_name;
	(void)flags;
	on_unlink(req, parent, name);
}

static void on_link(fuse_req_t req, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
	(void)number;
	on_unlink(req, parent, name);
}

/* --- files ------------------------------------------------------------------ */

/* As find(), of a file that is opened: its instance stays as long as *ret_holds says so. */
static int find_to_open(struct front *front, fuse_ino_t number, struct tree_node *ret_node,
			struct instance **ret_holds)
{
	struct instance *instance;
	int rc;

	*ret_holds = NULL;
	request_lock(front);
	rc = tree_find(front->state, number, ret_node);
	instance = rc == 0 ? ret_node->at.instance : NULL;
	if (instance && instance->goes) {
		rc = -ENODEV;
	} else if (instance && instance->number && !ret_node->file->lets_go) {
		(void)__atomic_add_fetch(&instance->n_open, 1, __ATOMIC_RELAXED);
		*ret_holds = instance;
	}
	request_unlock(front);
	return rc;
}

static void on_open(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
	struct front *front = request_front(req);
	struct handle *handle = calloc(1, sizeof(*handle));
	struct tree_node node;
	int rc = handle ? find_to_open(front, number, &node, &handle->holds) : -ENOMEM;

	if (rc < 0) {
		free(handle);
		(void)fuse_reply_err(req, -rc);
		return;
	}
	handle->node = number;
	handle->file = node.file;
	fi->fh = (uint64_t)(uintptr_t)handle;
	fi->direct_io = 1;
	fi->nonseekable = node.file->is_pipe;
	if ((fi->flags & O_TRUNC) && (fi->flags & O_ACCMODE) != O_RDONLY && node.file->truncate)
		task_truncate(req, handle, fi);
	else if (fuse_reply_open(req, fi) < 0)
		request_free_handle(handle);
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static void on_release(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);

	(void)number;
	pipe_forget(request_front(req), handle);
	request_free_handle(handle);
	(void)fuse_reply_err(req, 0);
}

/* The text of @handle, made anew where reading begins. 0 or a negative errno. */
static int make_text(struct front *front, struct handle *handle)
{
	struct tree_node node;

	if (tree_find(front->state, handle->node, &node) < 0)
		return -ENODEV;
	text_free(&handle->text);
	node.file->read(front->state, &node.at, &handle->text);
	handle->has_text = !handle->text.is_short;
	return handle->has_text ? 0 : -ENOMEM;
}

static void on_read(fuse_req_t req, fuse_ino_t number, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct front *front = request_front(req);
	struct handle *handle = handle_of(fi);
	bool is_new = off == 0 || !handle->has_text;
	int rc = 0;

	(void)number;
	if (handle->file->is_pipe) {
		pipe_read(req, handle, size, !(fi->flags & O_NONBLOCK));
	} else if (!handle->file->read) {
		(void)fuse_reply_err(req, EINVAL);
	} else if (is_new && handle->file->reads_slowly) {
		task_read(req, handle, size, off);
	} else {
		request_lock(front);
		if (is_new)
			rc = make_text(front, handle);
		if (rc == 0)
			request_reply_part(req, &handle->text, off, size);
		request_unlock(front);
		if (rc < 0)
			(void)fuse_reply_err(req, -rc);
	}
}

static void on_write(fuse_req_t req, fuse_ino_t number, const char *data, size_t len, off_t off,
		     struct fuse_file_info *fi)
{
	struct front *front = request_front(req);
	const struct handle *handle = handle_of(fi);
	struct file_write w = { data, len, -1, fuse_req_ctx(req)->pid };
	struct tree_node node;
	ssize_t rc;

	(void)number;
	(void)off;
	if (!handle->file->write) {
		(void)fuse_reply_err(req, EINVAL);
		return;
	}
	if (handle->file->writes_slowly) {
		task_write(req, handle, data, len);
		return;
	}
	request_lock(front);
	rc = tree_find(front->state, handle->node, &node);
	rc = rc < 0 ? -ENODEV : node.file->write(front->state, &node.at, &w);
	request_unlock(front);
	pipe_news(front);
	if (rc < 0)
		(void)fuse_reply_err(req, (int)-rc);
	else
		(void)fuse_reply_write(req, (size_t)rc);
}

static void on_poll(fuse_req_t req, fuse_ino_t number, struct fuse_file_info *fi,
		    struct fuse_pollhandle *ph)
{
	(void)number;
	pipe_poll(req, handle_of(fi), ph);
}

static const struct fuse_lowlevel_ops ops = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readdir = on_readdir,
	.mkdir = on_mkdir,
	.rmdir = on_rmdir,
	.unlink = on_unlink,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.create = on_create,
	.mknod = on_mknod,
	.open = on_open,
	.release = on_release,
	.read = on_read,
	.write = on_write,
	.poll = on_poll,
};

/* --- the mount -------------------------------------------------------------- */

/* What a run that was killed has left there goes. */
static void unmount_dead(const char *path)
{
	char *argv[] = { "fusermount3", "-u", "-z", "-q", "--", (char *)path, NULL };
	struct stat st;
	pid_t pid;

	if (stat(path, &st) == 0 || errno != ENOTCONN || umount2(path, MNT_DETACH) == 0)
		return;
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0)
		(void)waitpid(pid, NULL, 0);
}

static int check_place(const char *path, struct ubp_err *err)
{
	struct statfs fs;

	unmount_dead(path);
	if (statfs(path, &fs) < 0)
		return ubp_fail_sys(err, "%s", path);
	if (fs.f_type == FUSE_MAGIC)
		return ubp_fail(err, EBUSY, "%s: something is mounted there by FUSE", path);
	return 0;
}

/* Called by the worker's thread, and by FUSE's. */
static void on_news(void *ctx)
{
	const struct front *front = ctx;
	uint64_t one = 1;

	(void)!write(front->news, &one, sizeof(one));
}

static int make_session(struct front *front, const char *options)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int rc = fuse_opt_add_arg(&args, "ubp-fs");

	if (rc == 0)
		rc = fuse_opt_add_arg(&args,
				      "-ofsname=ubp-fs,subtype=ubp-fs,default_permissions");
	if (rc == 0 && options) {
		rc = fuse_opt_add_arg(&args, "-o");
		if (rc == 0)
			rc = fuse_opt_add_arg(&args, options);
	}
	if (rc == 0)
		front->session = fuse_session_new(&args, &ops, sizeof(ops), front);
	fuse_opt_free_args(&args);
	return front->session ? 0 : -EINVAL;
}

int front_mount(struct state *state, const char *path, const char *options,
		struct front **ret_front, struct ubp_err *err)
{
	struct front *front;
	int rc = check_place(path, err);

	if (rc < 0)
		return rc;
	front = calloc(1, sizeof(*front));
	if (!front)
		return ubp_fail(err, ENOMEM, "out of memory");
	(void)pthread_mutex_init(&front->task_lock, NULL);
	front->state = state;
	front->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	state->news = on_news;
	state->news_ctx = front;
	*ret_front = front;
	if (front->news < 0)
		return ubp_fail_sys(err, "eventfd");
	if (make_session(front, options) < 0)
		return ubp_fail(err, EINVAL, "options that FUSE does not take: %s", options);
	if (fuse_session_mount(front->session, path) < 0)
		return ubp_fail(err, EIO, "%s: it cannot be mounted there", path);
	return 0;
}

int front_detach(struct front *front, struct ubp_err *err)
{
	(void)front;
	return fuse_daemonize(0) == 0 ? 0
				      : ubp_fail(err, EIO, "it cannot go into the background");
}

/* --- the loop --------------------------------------------------------------- */

/* One request. False: there will be none any more. */
static bool answer_one(struct front *front, struct fuse_buf *buf)
{
	int rc = fuse_session_receive_buf(front->session, buf);

	if (rc == -EINTR || rc == -EAGAIN)
		return true;
	if (rc <= 0)
		return false;
	fuse_session_process_buf(front->session, buf);
	return true;
}

static void loop(struct front *front, int signal_fd, struct fuse_buf *buf)
{
	struct pollfd p[3] = {
		{ .fd = fuse_session_fd(front->session), .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = front->news, .events = POLLIN },
	};
	struct signals_one one = { 0 };
	bool looks = false;
	uint64_t n;

	while (!fuse_session_exited(front->session)) {
		if (poll(p, 3, looks ? LOOK_MS : -1) < 0)
			continue;
		if (p[1].revents && (signals_read(signal_fd, &one) || one.failed))
			return;
		if (p[2].revents) {
			(void)!read(front->news, &n, sizeof(n));
			pipe_news(front);
		}
		if (p[0].revents && !answer_one(front, buf))
			return;
		if (front->was_interrupted || looks)
			looks = pipe_look(front);
		if (front->was_interrupted)
			task_look(front);
		front->was_interrupted = false;
	}
}

int front_run(struct front *front, int signal_fd, struct ubp_err *err)
{
	struct fuse_buf buf = { 0 };
	int fd = fuse_session_fd(front->session);
	int rc;

	/* A request may be taken back between poll() and read(). */
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return ubp_fail_sys(err, "/dev/fuse");
	rc = worker_new(front->state, &front->worker, err);
	if (rc < 0)
		return rc;
	loop(front, signal_fd, &buf);
	free(buf.mem);
	pipe_end(front);
	return 0;
}

void front_free(struct front *front)
{
	if (!front)
		return;
	(void)pthread_mutex_lock(&front->task_lock);
	front->is_ending = true;
	(void)pthread_mutex_unlock(&front->task_lock);
	/* First, so that no thread waits for us while the engine stops it. */
	if (front->session) {
		fuse_session_exit(front->session);
		fuse_session_unmount(front->session);
	}
	worker_end(front->worker);
	if (front->session)
		fuse_session_destroy(front->session);
	if (front->news >= 0)
		(void)close(front->news);
	(void)pthread_mutex_destroy(&front->task_lock);
	free(front);
}
