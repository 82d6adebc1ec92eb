/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What happens at a stop: the hot path. One wait, the registers, one read of all
 * the memory that the fetch program needs, one write of the pc, go on. No
 * allocation (but for the table of hijacked returns), no output.
 */

#ifndef UBP_HIT_HIT_H
#define UBP_HIT_HIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/event/clock.h"
#include "engine/event/queue.h"
#include "engine/fetch/fetch.h"
#include "engine/plant/plant.h"
#include "engine/trace/tracer.h"

struct stack_maps_set;
struct stack_unwinder;

#define HIT_SEEN 16

struct hit {
	struct tracer *tracer;
	struct plant *plant;
	struct event_queue *queue;
	struct fetch_scratch *scratch;
	enum event_clock clock;
	pid_t only_tid; /* 0: all */
	bool lossless;
	bool stack;                      /* take user stacks */
	unsigned frames;                 /* of one at most */
	struct stack_maps_set *maps;     /* what they lead through */
	struct stack_unwinder *unwinder; /* by call frame information; NULL: frame pointers */
	/* The thread passed the loader's hook: mappings have changed. @at: the
	 * registers it goes on with; NULL: those it has. */
	void (*loader)(void *ctx, struct tracee *t, const struct ubp_regs *at);
	/* Its detours took many traps: it wants rings. @at as above. */
	void (*wants_rings)(void *ctx, struct tracee *t, const struct ubp_regs *at);
	/* It is about to make a call that has to do with tracing, from a slot. @watch: of what
	 * kind; @at: its registers in front of that. */
	void (*tracing)(void *ctx, struct tracee *t, enum site_watch watch,
			const struct ubp_regs *at);
	/* Sites of this space may be made jumps that could not be before. */
	void (*wants_jumps)(void *ctx, struct space *space);
	/* A probe without a slot was taken out there: it can't be stepped any more. */
	void (*not_stepped)(void *ctx, const struct tracee *t, uint64_t vaddr);
	void *ctx;
	/* Addresses that the program let this hit read. */
	uint64_t seen[HIT_SEEN];
	size_t n_seen;
};

/* SIGTRAP at @t: carry out what a breakpoint of ours asks for. */
enum trap_verdict hit_trap(struct hit *hit, struct tracee *t);

/* Does a thread at @pc still have to report a trap of ours? (tracer_ops) */
bool hit_pc_has_trap(const struct tracee *t, uint64_t pc);

/*
 * A signal is about to be delivered: where the pc is inside a slot, put it where
 * it would be in the program, if that can be done without doing anything twice. True:
 * a detour's own fault, which the program is not to see.
 */
bool hit_signal(struct hit *hit, struct tracee *t, int sig);

/* SIGILL and SIGFPE tell the address of the instruction: not that of its copy. */
void hit_correct_fault(int sig, pid_t tid, uint64_t is, uint64_t should_be);

/* A thread is gone or has a new image: its open returns can't come. */
void hit_tracee_gone(struct tracee *t);

#endif
