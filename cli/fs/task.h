/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Requests that are for the worker, for they ask the engine.
 *
 * The engine stops threads, but none that waits for an answer of ours: the kernel lets such a thread do nothing else. Where it is to be
 * stopped, FUSE tells of an interrupt. So whoever is interrupted while his change is carried out is answered at once: he is stopped on
 * his way back from the system call, and goes on when his own process has its probes. A fault of the change is not told then.
 */

#ifndef UBP_CLI_FS_TASK_H
#define UBP_CLI_FS_TASK_H

#include "cli/fs/request.h"

/* Each answers @req, perhaps later. */

/* The text of @handle is made, then read. */
void task_read(fuse_req_t req, struct handle *handle, size_t size, off_t off);
void task_write(fuse_req_t req, const struct handle *handle, const char *data, size_t len);
/* @handle becomes @fi's, or is freed. */
void task_truncate(fuse_req_t req, struct handle *handle, const struct fuse_file_info *fi);
void task_make_instance(fuse_req_t req, uint64_t folder, const char *name);
void task_remove_instance(fuse_req_t req, uint64_t folder, const char *name);

/* All that was hit until now is handed on; then .synced is what this returns, and there is news. 0: memory is short. */
uint64_t task_sync(struct front *front);
/* A request was interrupted. */
void task_look(struct front *front);

#endif
