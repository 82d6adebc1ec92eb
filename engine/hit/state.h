/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What hits are dealt with by: one structure for a session. */

#ifndef UBP_HIT_STATE_H
#define UBP_HIT_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/event/clock.h"
#include "engine/event/queue.h"
#include "engine/fetch/fetch.h"
#include "engine/space/space.h"

struct held;
struct space;
struct stack_maps_set;
struct stack_unwinder;
struct tracee;
struct tracer;
struct ubp_hit;

#define HIT_SEEN 16

struct hit_options {
	struct event_queue *queue;
	enum event_clock clock;
	pid_t only_tid; /* 0: all */
	bool lossless;
	bool stack;                      /* take user stacks */
	unsigned frames;                 /* of one at most */
	struct stack_maps_set *maps;     /* what they lead through */
	struct stack_unwinder *unwinder; /* by call frame information; NULL: frame pointers */
	/* The thread passed the loader's hook: mappings have changed. */
	void (*loader)(void *ctx, const struct held *held);
	/* It is about to make a call that has to do with tracing, from a slot. @watch: of what
	 * kind; held->at: its registers in front of that. */
	void (*tracing)(void *ctx, const struct held *held, enum site_watch watch);
	/* With .lossless: a thread has found its ring full, and waits a moment. */
	void (*full)(void *ctx);
	/* A probe without a slot was taken out there: it can't be stepped any more. */
	void (*not_stepped)(void *ctx, const struct tracee *t, uint64_t vaddr);
	/* A probe has a handler: let it run (handle.h). Returns whether the hit is to be recorded. */
	bool (*handle)(void *ctx, struct ubp_hit *h);
	void *ctx;
};

struct hit {
	struct hit_options opt;
	struct tracer *tracer;
	struct plant *plant;
	struct fetch_scratch *scratch;
	struct event_record *spare; /* for the record of a hit whose handler is to run */
	/* Addresses that the program let this hit read. */
	uint64_t seen[HIT_SEEN];
	size_t n_seen;
	uint64_t hasty_ns; /* until then no thread waits for room: it was in vain */
	pid_t over_pid;    /* the process of the last return: hit_idle(); 0: none */
};

#endif
