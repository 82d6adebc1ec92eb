/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracer: one thread that seized others and looks after their stops (wait_loop.h). What it has is here, and
 * what can be asked of that alone; what it looks after is in process.h.
 *
 * All functions are for the tracing thread alone, because ptrace belongs to the
 * thread that seized, except tracer_wake().
 *
 * Stops are looked at with WNOWAIT and never consumed when they carry a signal:
 * a consumed signal is lost if the tracer dies (docs/architecture.md).
 */

#ifndef UBP_TRACE_TRACER_H
#define UBP_TRACE_TRACER_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "engine/base/map.h"
#include "engine/trace/mem.h"
#include "engine/trace/seize_late.h"
#include "engine/trace/stand_in.h"

struct alone_watch;
struct reaper;
struct tracee;
struct tracer_ops;
struct ubp_err;

/* What tracees are seized with. TRACESYSGOOD: without it a syscall-stop turns into
 * a SIGTRAP if the tracer dies. */
#define TRACER_OPTIONS                                                                         \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |                    \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEVFORKDONE)

#define TRACER_HOT 8

/* How long targets stood still while they were changed: not for hits. */
struct tracer_stops {
	unsigned depth;
	uint64_t since_ns;
	uint64_t total_ns, longest_ns; /* read by anybody, relaxed */
};

/* So many lists of ids (ids.h) may be in use at once before another one is allocated. */
#define IDS_LISTS 6

struct ids_room {
	pid_t *lists[IDS_LISTS];
	size_t caps[IDS_LISTS];
	bool taken[IDS_LISTS];
};

/* Where the tracer runs (engine/trace/follow.c). */
struct tracer_follow {
	int cpu, next_cpu, same_cpu;
	cpu_set_t *all_cpus; /* it may run on; NULL: they are not known */
};

struct tracer {
	const struct tracer_ops *ops;
	void *ctx;
	struct map tracees;    /* tid -> struct tracee */
	struct map processes;  /* pid -> struct process */
	struct map limbo;      /* tid of a new thread whose parent has not reported -> itself */
	struct map unseen;     /* tid of a thread that there was no memory for -> itself */
	bool lost_sight;       /* ... nor for that number */
	unsigned long options; /* of ptrace, for every thread: TRACER_OPTIONS, and more */
	pid_t waker;           /* child that is signalled to wake the tracer */
	int mailed;            /* atomic: tracer_wake() was called */
	int wait_code;         /* errno: stops can't be waited for any more */
	unsigned n_untaken;    /* stops, births of those that there was no memory for */
	struct reaper *reaper; /* NULL: this kernel needs none */
	const int *cancelled;  /* atomic: whoever attaches shall give up; NULL: never */
	struct mem_pokes pokes;
	struct ids_room ids;
	struct stand_in stand_in;
	bool is_draining; /* drain_traps() is at work */
	pid_t command;    /* child of the tracing thread; 0: none */
	unsigned n_parked;
	/* Recently hot threads are asked first (engine/trace/next_stop.c). */
	struct tracee *hot[TRACER_HOT];
	unsigned n_hot, next_hot, hits_since_sweep;
	size_t sweep_pos;
	struct tracer_stops stops;
	struct tracer_follow follow;
	struct seize_late late;    /* processes that keep who seizes them waiting */
	struct alone_watch *alone; /* NULL: nobody is, so far */
};

/* Is it to give up what it has begun? Then with -EINTR and this text. */
bool tracer_is_cancelled(const struct tracer *tracer);
int tracer_give_up(struct ubp_err *err);

/*
 * Is the thread that was @tid still traced, and is it @t? To be asked before @t is used again, wherever
 * stops were handled meanwhile.
 */
bool tracer_has(const struct tracer *tracer, const struct tracee *t, pid_t tid);

/* On the tracing thread: do not wait for another stop before tracer_run() returns. */
void tracer_end_turn(struct tracer *tracer);

/* From any thread: make tracer_run() return soon. */
void tracer_wake(struct tracer *tracer);

/*
 * A thread that would run is held, or all are, to change something in its process;
 * and goes on. For the account alone. They nest.
 */
void tracer_stop_begin(struct tracer *tracer);
void tracer_stop_end(struct tracer *tracer);

#endif
