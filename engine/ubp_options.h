/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Part of the public interface: what a session is made with. */

#ifndef UBP_OPTIONS_H
#define UBP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ubp_until.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum ubp_mode {
	UBP_MODE_AUTO, /* the best rung that is safe */
	UBP_MODE_JUMP, /* the same, at once: auto spares programs that may end soon the effort */
	UBP_MODE_TRAP, /* breakpoint and boosted copy */
	UBP_MODE_STEP, /* breakpoint and single-stepped copy, where the instruction allows it */
};

/* Are processes traced that a traced one gives birth to? (Its threads always are.) */
enum ubp_follow {
	UBP_FOLLOW_AUTO, /* of a command, and where all processes are traced */
	UBP_FOLLOW_YES,  /* of those in .pids, too: the session goes on until all have ended */
	UBP_FOLLOW_NO,
};

enum ubp_stack {
	UBP_STACK_NONE,
	UBP_STACK_CFI, /* by call frame information: right everywhere; takes a breakpoint */
	UBP_STACK_UNWIND, /* the same by libunwind; programs of another word size: as UBP_STACK_CFI */
	UBP_STACK_FP, /* by frame pointers, without a stop where there is a jump */
};

/* Where symbols and debug information are sought, beside the usual places. */
struct ubp_debug_options {
	const char *dirs;    /* --debug-dir: "DIR:DIR..." */
	const char *symbols; /* --symbols: of the file that has the same build-id, or, where
			      * there is none in it, of the only file that is probed */
};

/*
 * A place that costs too much is taken out while tracing goes on, with a warning (.warn) and ubp_probe_stats.taken_out;
 * others stay. Each place is judged by itself, in all processes together, by what it had in a
 * half second and in the one before that. 0: no limit.
 */
struct ubp_limits {
	uint64_t
		max_rate; /* hits a second of one place, those that its filter drops included */
	/* Percent of one CPU's time, 1 to 100, for all places together: places go until the rest costs no more; those that stop threads
	 * first, and of these what costs most. */
	unsigned max_overhead;
};

/* Where records wait to be handed out. 0: the default. */
struct ubp_room {
	size_t queue_bytes; /* of those that stops make: a power of two */
	size_t ring_bytes;  /* of each thread's ring, a power of two from 16384 */
};

/* Which process traces? */
enum ubp_apart {
	UBP_APART_AUTO, /* as UBP_APART_YES where an engine can be started that may trace as much as the caller; else as UBP_APART_NO */
	UBP_APART_YES,  /* one of the session's own, which executes that program */
	UBP_APART_NO,   /* the caller's, by threads */
};

/*
 * Where the engine is apart, what traces, and what reads files of others, has waits, signals, descriptors, limits and memory of its own, and cannot
 * take the caller with it. The process is nobody's child, and ends with the caller. If it ends before, ubp_dispatch() fails with -EPIPE, targets go on, and
 * another session takes out what it left. Handlers (ubp_handler.h) run in the caller, on a thread of their own. Triggers are carried out some events ahead of
 * those that are handed out, and the engine writes recordings. Changes (ubp_live.h) are done when the call returns, in a callback, too.
 * A command has the caller's descriptors 0, 1 and 2, and no others, and is no child of his. Where processes may only trace their
 * descendants (Yama), the session can trace its command alone.
 */
struct ubp_engine {
	enum ubp_apart apart;
	/* The program, of this version; NULL: the one that UBP_ENGINE names, which is not asked where AT_SECURE is set, else the one that was
	 * installed with the library. */
	const char *path;
};

/* To begin with UBP_OPTIONS_INIT, which sets .size. All that is not set then has its default. */
struct ubp_options {
	/* Of this structure, as the caller knows it: a library that knows more has defaults for the rest. */
#ifdef __cplusplus
	size_t size = sizeof(ubp_options);
#else
	size_t size;
#endif
	const pid_t *pids; /* trace only these processes (thread groups) ... */
	size_t n_pids;
	pid_t tid; /* ... or only this thread; 0: no choice */
	/* Definitions: the kernel's grammar only. Text of events: its raw bytes, see ubp_event.h. */
	bool strict;
	/* Processes are traced all the time. Without it, those whose probes all record by themselves are traced only while
	 * something is changed in them: others may trace them, and their signals are their own. */
	bool stay;
	bool lossless; /* wait for the reader rather than lose records */
	bool force;    /* override refusals where that can make sense */
	/* No jump where a kernel's uprobe that comes later would break it: a breakpoint. */
	bool beside_kernel;
	/* Definitions are only looked at, so they may be for files of other machines, too;
	 * ubp_start() is an error. */
	bool files_only;
	enum ubp_stack stack;
	unsigned frames;  /* of a stack at most; 0: 127 */
	bool stack_raw;   /* print addresses, as the kernel does, not names */
	bool stack_lines; /* source lines and inlined functions, too */
	struct ubp_debug_options debug;
	const char *const
		*exclude;   /* functions that patterns leave out: patterns; NULL-ended */
	bool count_dropped; /* .hits of statistics count what filters drop, in detours too; so it is where there are limits: */
	struct ubp_limits limits;
	/*
	 * Each probe has one event: its first hit. Then it is switched off, and taken out soon (ubp_probe_stats.taken_out): which places of a running
	 * program are passed at all, at no lasting cost. A hit that is lost is none: the next one counts.
	 */
	bool once;
	/*
	 * Not all hits are told of, or counted: NULL, or "N", each Nth of those that the filter lets through, or "ARG:SIZE", those at which the sum of
	 * ARG gets past a multiple of SIZE, for each probe and thread. ARG is an argument of each definition, a whole number, by its name or
	 * as it was written; SIZE may have a unit, as in filters. From 1 to 2147483647. ubp_sample_check() says whether it is one of these.
	 */
	const char *sample;
	enum ubp_mode mode;
	enum ubp_follow follow;
	const char *clock; /* "mono" (default, NULL), "mono_raw", "boot", "real" */
	struct ubp_room room;
	/* A warning for the user, e.g. a process that had to be skipped. One line,
	 * no newline, escaped as .text of an error is. May be NULL. Called on the caller's thread. */
	void (*warn)(void *ctx, const char *text);
	/* The same for what is as it should be, but not known to the user: where a probe was found that was given
	 * without TARGET; how many places of a pattern stop threads, and which are likely to be hit often. */
	void (*tell)(void *ctx, const char *text);
	void *warn_ctx; /* of both */
	/* For a caller who may want ubp_add() and its like to end before they are done, as where a file does
	 * not answer; NULL: they are waited for. See there. */
	const struct ubp_until *until;
	struct ubp_engine engine;
};

#ifdef __cplusplus
#define UBP_OPTIONS_INIT                                                                       \
	{                                                                                      \
	}
#else
#define UBP_OPTIONS_INIT                                                                       \
	{                                                                                      \
		.size = sizeof(struct ubp_options)                                             \
	}
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
