/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What all requests of FUSE have in common. */

#ifndef UBP_CLI_FS_REQUEST_H
#define UBP_CLI_FS_REQUEST_H

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/fs/text.h"
#include "cli/fs/tree.h"

struct state;
struct task;
struct waiter;
struct worker;

/* An open file. It lasts until each of its requests is answered. */
struct handle {
	uint64_t node;
	const struct file *file;
	struct instance *holds; /* that is not removed as long as this is open; NULL: none */
	struct text
		text; /* what reading shows, since it began at the start; with the state's lock */
	bool has_text;
	/* Of a pipe: the rest of an entry for which a reader had no room; something was read. */
	struct text rest;
	bool has_read;
	struct fuse_pollhandle *poll; /* who is to be told that there is something */
	struct handle *next_polled;
};

struct front {
	struct state *state;
	struct worker *worker;
	struct fuse_session *session;
	int news;             /* an eventfd: there may be something in a buffer */
	bool was_interrupted; /* some request was, in the one that is dealt with now */
	struct waiter *waiters;
	struct handle *polled;     /* those that have a .poll */
	uint64_t n_syncs, synced;  /* asked of the worker, and done: atomic */
	pthread_mutex_t task_lock; /* of the next two, and of a running task's request */
	struct task *running;
	bool is_ending; /* nobody answers any more */
};

struct front *request_front(fuse_req_t req);
/* The state's lock. */
void request_lock(struct front *front);
void request_unlock(struct front *front);
/* Whatever it held goes on. */
void request_free_handle(struct handle *handle);
/* fuse_req_interrupted() is to be asked when the request was interrupted; FUSE's thread does so behind each request. */
void request_watch(struct front *front, fuse_req_t req);
/* Answers with the part of @text that is asked for. */
void request_reply_part(fuse_req_t req, const struct text *text, off_t off, size_t size);
/* What is told of a node. Never kept by the kernel. */
void request_entry(const struct tree_node *node, struct fuse_entry_param *ret_entry);

#endif
