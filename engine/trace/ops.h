/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the owner of a tracer is asked and told. The tracer knows threads, address spaces and signals, but no
 * probe: what a breakpoint means is its owner's business. All of it is called on the tracing thread.
 */

#ifndef UBP_TRACE_OPS_H
#define UBP_TRACE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held;
struct process;
struct space;
struct tracee;

enum trap_verdict {
	TRAP_OURS,    /* go on, the signal is not delivered */
	TRAP_FOREIGN, /* not our trap: the program gets its SIGTRAP */
};

enum keep_verdict {
	KEEP_TRACING,
	LET_GO, /* nothing of ours is left in it: detach */
};

struct tracer_ops {
	/* Bytes, zeroed, that the owner has with each thread and process. 0: it has none. */
	size_t thread_len, process_len;
	/* SIGTRAP at a thread. One that is parked meanwhile stays where it is, here and below. */
	enum trap_verdict (*trap)(void *ctx, const struct held *held);
	/* Is @pc where a thread stands whose trap of ours is still pending? */
	bool (*pc_has_trap)(void *ctx, struct tracee *t, uint64_t pc);
	/* A signal is about to be delivered; the pc may be inside a slot. True: it is none
	 * of the program's, and is dropped. */
	bool (*signal)(void *ctx, const struct held *held, int sig);
	/* A new thread of a known process, stopped before its first instruction; @mother,
	 * which made it, is stopped too. */
	void (*born)(void *ctx, pid_t mother, const struct held *held);
	/*
	 * @held is the first thread, stopped: of a new process with a copy of @parent's
	 * memory, or of one that shares it (then always kept until its exec).
	 */
	enum keep_verdict (*forked)(void *ctx, const struct process *parent,
				    const struct held *held, bool shares);
	/* A thread is stopped in its new image; its space is new. */
	enum keep_verdict (*execed)(void *ctx, const struct held *held);
	/* Its vfork() child does not share its memory any more. */
	void (*vfork_done)(void *ctx, struct tracee *t);
	/* It is about to end; its memory is there. Only where tracer.options asks for that. */
	void (*ending)(void *ctx, struct tracee *t);
	void (*tracee_gone)(void *ctx, struct tracee *t);
	void (*process_gone)(void *ctx, struct process *p);
	/* The command ended; wait status as of waitpid(). */
	void (*command_ended)(void *ctx, int status);
	void (*space_gone)(void *ctx, struct space *space);
	/* About to block: nothing hot is expected. */
	void (*idle)(void *ctx);
	/* About to wait for a thread to stop, in the middle of something else: a moment to seize others, and to do no
	 * more than that. */
	void (*meanwhile)(void *ctx);
};

#endif
