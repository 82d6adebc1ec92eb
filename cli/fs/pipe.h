/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Readers of trace_pipe: they wait until there is something, and each entry is for one of them. All on FUSE's thread. */

#ifndef UBP_CLI_FS_PIPE_H
#define UBP_CLI_FS_PIPE_H

#include "cli/fs/request.h"

/* Answers @req when there is something. Without @may_wait, with what was hit until now. */
void pipe_read(fuse_req_t req, struct handle *handle, size_t size, bool may_wait);
/* @ph NULL: nobody has to be told later. */
void pipe_poll(fuse_req_t req, struct handle *handle, struct fuse_pollhandle *ph);
/* The handle is about to be freed. */
void pipe_forget(struct front *front, struct handle *handle);
/* There may be something now. */
void pipe_news(struct front *front);
/*
 * Readers that were interrupted by a signal are answered, and true is returned if there are some that were interrupted by something else, as
 * by a tracer, which the kernel does not tell apart: a signal may come to these later, and that is not told again.
 */
bool pipe_look(struct front *front);
/* All that wait have reached the end. */
void pipe_end(struct front *front);

#endif
