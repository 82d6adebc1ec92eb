/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Finding processes that start, or map a file, while a session runs: by the
 * kernel's proc connector where ubp may use it, else by looking through /proc.
 * Has a thread of its own, so that looking never delays a stopped tracee.
 */

#ifndef UBP_TRACE_FINDER_H
#define UBP_TRACE_FINDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_err;
struct finder;

enum finder_verdict {
	FINDER_NOT_YET, /* what it has mapped is of no interest */
	FINDER_WANTED,  /* to be reported */
	FINDER_ENDED,   /* nobody can tell any more */
};

struct finder_ops {
	/* Is @pid (of which maps are read by the callee) one to report? Called on the
	 * finder's thread. */
	enum finder_verdict (*wants)(void *ctx, pid_t pid);
	/* It is. Reported again until finder_ops.is_known says so. */
	void (*found)(void *ctx, pid_t pid);
	/* A process was born, or executes a new program. */
	void (*is_new)(void *ctx, pid_t pid);
	/* Traced already, or given up on. */
	bool (*is_known)(void *ctx, pid_t pid);
};

int finder_start(const struct finder_ops *ops, void *ctx, struct finder **ret_finder,
		 struct ubp_err *err);
void finder_stop(struct finder *finder);

/* "proc connector" or "scan of /proc". */
const char *finder_kind(const struct finder *finder);

/* New programs that had ended before anybody could look at what they run. */
uint64_t finder_n_unseen(const struct finder *finder);

/* Call @each for every process there is now; stops when it returns non-zero. */
int finder_each_process(int (*each)(void *ctx, pid_t pid), void *ctx);

#endif
