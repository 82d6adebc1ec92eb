/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The session of the engine that traces what is enabled. All of it is for the worker's thread. */

#ifndef UBP_CLI_FS_TRACER_H
#define UBP_CLI_FS_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_err;
struct ubp_event;
struct ubp_session;

/* A probe that is to be there. */
struct wanted {
	uint32_t probe;    /* its number ... */
	uint16_t instance; /* ... and whose it is */
	char *definition;  /* for free() */
	char *filter;      /* the same; NULL: none */
	char *group;       /* the same: of its event, whatever the definition calls it */
	bool with_stack;   /* stacks of its hits are told, too */
	/* The tracer's: */
	size_t number; /* in its session */
	uint64_t
		told; /* of its hits; more than it has, where others of its probe have seen more */
	struct wanted *also; /* the next one of the same probe; NULL: there is no more */
	bool is_also;        /* it is not the first of them */
	bool goes;           /* it is wanted no more */
	bool is_off;         /* it is switched off */
	bool is_placed;      /* triggers know where it belongs */
};

struct wanted_list {
	struct wanted **items;
	size_t n;
};

void wanted_free(struct wanted_list *list);

struct fs_tracer_ops {
	/* A hit, as a line, or, behind that, its stack, as lines. @wanted NULL: others were lost, which the line tells. */
	void (*event)(void *ctx, const struct wanted *wanted, const struct ubp_event *event,
		      const char *line, size_t len);
	/* So many more hits, before any filter, in however many instances. */
	void (*hits)(void *ctx, uint32_t probe, uint64_t n);
	void *ctx;
};

struct fs_tracer;

/* NULL: memory is short. */
struct fs_tracer *fs_tracer_new(const struct fs_tracer_ops *ops);
void fs_tracer_free(struct fs_tracer *tracer);
/*
 * From now on these are traced, and no others: @list, whose items may become the tracer's. Those that are traced already stay as they are, but
 * for their filters, and no hit of theirs is lost. Times are of CLOCK_MONOTONIC.
 * Where stacks are wanted that were not, all begins anew, or, if it may not, it is -EBUSY.
 * 0 or a negative errno: then all is as it was, or, if that can't be had any more, nothing is traced: fs_tracer_has_failed().
 */
int fs_tracer_set(struct fs_tracer *tracer, struct wanted_list *list, bool may_restart,
		  struct ubp_err *err);
/* A session is there whatever is traced, or not any more: from the next fs_tracer_set() on. */
void fs_tracer_keep(struct fs_tracer *tracer, bool on);
/* NULL: nothing is traced. */
struct ubp_session *fs_tracer_session(const struct fs_tracer *tracer);
/* The number of that session, which no other one ever has; 0: nothing is traced. */
unsigned fs_tracer_generation(const struct fs_tracer *tracer);
/* The probes of @instance belong to the trace that is chosen (ubp_trigger_trace()). 0 or a negative errno. */
int fs_tracer_place(struct fs_tracer *tracer, uint16_t instance, struct ubp_err *err);
/* To be polled; -1: nothing is traced. */
int fs_tracer_fd(const struct fs_tracer *tracer);
/* Hands on what came. False: tracing has ended by itself, which is said. */
bool fs_tracer_dispatch(struct fs_tracer *tracer);
/* The same with all that was hit until now, which takes some milliseconds. */
bool fs_tracer_sync(struct fs_tracer *tracer);
/* Nothing is traced though it should be: all that was enabled is to be disabled. */
bool fs_tracer_has_failed(const struct fs_tracer *tracer);
/* Tells the hits until now. */
void fs_tracer_count(struct fs_tracer *tracer);

#endif
