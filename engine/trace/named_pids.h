/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Processes that the user has named. */

#ifndef UBP_TRACE_NAMED_PIDS_H
#define UBP_TRACE_NAMED_PIDS_H

#include <stddef.h>
#include <sys/types.h>

struct ubp_err;

/*
 * Take those that have ended out of @pids, and tell @gone about each; of a single one it is an error, and so it is if none is left.
 * All others may be looked at, or that is an error, too. Errors: -ESRCH, -EACCES, -EPERM, what the kernel is short of.
 */
int named_pids_take(pid_t *pids, size_t *n, void (*gone)(void *ctx, pid_t pid), void *ctx,
		    struct ubp_err *err);

#endif
