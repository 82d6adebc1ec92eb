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

struct exec_hold;
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
	/* It is. Reported again until finder_ops.is_known says so. Also one that was about to
	 * execute a probed program, and has not. */
	void (*found)(void *ctx, pid_t pid);
	/* Does @pid run a program for sure that is not looked for? A cheaper question; asked only where
	 * finder_files.are_programs. */
	bool (*runs_other)(void *ctx, pid_t pid);
	/* A process was born, or has executed a new program (@executed). */
	void (*is_new)(void *ctx, pid_t pid, bool executed);
	/* Traced already, traced until it ended just now, or given up on. */
	bool (*is_known)(void *ctx, pid_t pid);
	/* Thread @tid is about to execute a probed program, and waits until it is seized (or not:
	 * it is reported as a new process, too). */
	void (*executes)(void *ctx, pid_t tid);
	/* Told of a thread that opens a probed library in order to map it, and is held as well. */
	void (*loads)(void *ctx, pid_t tid);
};

/* What is known of the files that are looked for. */
struct finder_files {
	struct exec_hold *hold; /* of those who come to map them; NULL: nobody is held */
	bool are_programs;      /* all of them are mapped by an exec, or never */
	bool are_held;          /* who executes or opens one of them is held */
	int opened;             /* readable when one may have been opened (inotify); or -1 */
};

/* @files->hold, if any, lasts longer than the finder; .opened is the finder's from now on, also if that
 * fails. */
int finder_start(const struct finder_ops *ops, void *ctx, const struct finder_files *files,
		 struct finder **ret_finder, struct ubp_err *err);

/*
 * From any thread: files are looked for that @files did not have. Nobody is held for these: they are found by looks at new
 * processes, as if nobody were, and at once by a look at all.
 */
void finder_more_files(struct finder *finder);

/* What is told by numbers alone. */
struct finder_counts {
	/* New programs that had ended before anybody could look at what they run, and may have run what is
	 * looked for. */
	uint64_t n_unseen;
	/* Those that executed or loaded a probed file and went on before the tracer had them, though who does
	 * so is held. */
	uint64_t n_early;
};

/* At any time, from any thread. */
void finder_count(const struct finder *finder, struct finder_counts *ret_counts);

/* Those that were reported up to now are still looked at; then all is counted. NULL is fine, and counts
 * nothing. */
void finder_stop(struct finder *finder, struct finder_counts *ret_counts);

/* "proc connector" or "scan of /proc"; with ", fanotify" where executors are held. */
const char *finder_kind(const struct finder *finder);

/* The last number that a process or thread was given; 0: not known. */
pid_t finder_last_pid(void);

#endif
