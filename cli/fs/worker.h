/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The thread that asks the engine: it carries out jobs one by one, and hands on events in between. */

#ifndef UBP_CLI_FS_WORKER_H
#define UBP_CLI_FS_WORKER_H

#include <stdbool.h>

struct state;
struct ubp_err;
struct worker;

/* To begin a caller's structure with. */
struct job {
	struct job *next;
	void (*run)(
		struct job *job); /* on the worker's thread; the job is its own from then on */
};

/* @state is the worker's until worker_end(). 0 or a negative errno. */
int worker_new(struct state *state, struct worker **ret_worker, struct ubp_err *err);
void worker_add(struct worker *worker, struct job *job);
/* All jobs are run, then the thread ends. NULL is fine. */
void worker_end(struct worker *worker);

#endif
