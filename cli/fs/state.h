/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * All that the tree shows, and what is done with it.
 *
 * Two threads are at it. The worker alone asks the engine, which may take long, and changes what was defined; the other one answers
 * all that needs no engine, and so is never kept waiting. Whoever looks at the state or changes it has .lock, but for the worker
 * where it reads what it alone changes (cli/fs/events.h); nobody has it while the engine is at work.
 */

#ifndef UBP_CLI_FS_STATE_H
#define UBP_CLI_FS_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/fs/events.h"
#include "cli/fs/instance.h"
#include "cli/fs/triggers.h"
#include "engine/ubp_err.h"

#define STATE_NAMES 128 /* of threads, which saved_cmdlines has */

struct fs_tracer;

struct state {
	pthread_mutex_t lock;
	struct events events;
	struct instance **instances; /* the first is the tree's own */
	size_t n_instances;
	uint16_t next_number; /* of an instance: the next one that is tried */
	struct fs_tracer *tracer;
	struct fs_triggers triggers;
	int n_cpus;
	struct {
		pid_t tid;
		char name[16];
	} names[STATE_NAMES]; /* of threads that had hits; 0: none */
	unsigned next_name;
	void (*news)(void *ctx); /* there may be something in a buffer; without .lock */
	void *news_ctx;
};

/* 0 or a negative errno. */
int state_init(struct state *state, struct ubp_err *err);
void state_free(struct state *state);

/* NULL: there is none. With .lock. */
struct instance *state_instance(const struct state *state, uint16_t number);
/* 0, -EEXIST or -ENOMEM. With .lock. */
int state_add_instance(struct state *state, const char *name);

/* --- of the worker, without .lock ------------------------------------------- */

/* Hands on what there is: the newest of it may be left for the next time. */
void state_dispatch(struct state *state);
/* Hands on all that was hit until now, which takes some milliseconds where something is traced. */
void state_sync(struct state *state);
/*
 * What is traced becomes what is enabled: to be called behind each change of that. A negative errno: it could not be had, and
 * the caller takes its change back.
 */
int state_trace(struct state *state, struct ubp_err *err);
/*
 * Events were deleted. Where one is gone that was enabled, what was traced goes, too. @is_kept: it does not, since another one that was to go is enabled, which
 * the kernel finds out late; where a trigger names that one, the kernel knows before.
 */
void state_clear_deleted(struct state *state, bool is_kept);
/* No event is enabled any more there, and it is gone. */
void state_remove_instance(struct state *state, uint16_t number);
/* Is it enabled anywhere? */
bool state_is_busy(const struct state *state, const struct event *event);

#endif
