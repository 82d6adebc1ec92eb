/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Part of the public interface: what was counted. */

#ifndef UBP_STATS_H
#define UBP_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* How many reasons there are for which a thread may be stopped at a hit. */
#define UBP_STOPS 8

/* Was a probe taken out while tracing went on (ubp_limits.max_rate, .max_overhead, ubp_options.once)? */
enum ubp_taken_out {
	UBP_TAKEN_OUT_NOT,
	UBP_TAKEN_OUT_RATE,     /* it had more hits than .max_rate */
	UBP_TAKEN_OUT_OVERHEAD, /* all together cost more than .max_overhead */
	UBP_TAKEN_OUT_ONCE,     /* its event was delivered (.once) */
};

struct ubp_probe_stats {
	uint64_t hits;             /* before filtering, as uprobe_profile counts */
	uint64_t stopped;          /* of these, the thread was stopped for: all without jumps */
	uint64_t passed;           /* delivered or lost: the filter said yes */
	uint64_t lost;             /* passed, but the queue was full */
	uint64_t too_big;          /* passed, but over the kernel's record limit */
	uint64_t missed;           /* returns that can't come: the sum of the next six */
	uint64_t missed_skipped;   /* frame left by longjmp, an exception, or thrown away */
	uint64_t missed_thread;    /* the thread ended */
	uint64_t missed_exited;    /* the process ended, or executed another program */
	uint64_t missed_no_room;   /* the return address could not be replaced */
	uint64_t missed_tail_jump; /* at_rets only: left by a jump to another function */
	uint64_t missed_kernel;    /* a uretprobe of the kernel's stands there, too, and it is
				    * left by jumps, or was entered by one */
	/* Hits with arguments or stacks that are not whole: memory was left alone because whoever
	 * reads it might have to wait, for a file server or a userfaultfd. Why, of the last one:
	 * NULL, or a text that lasts. */
	uint64_t unanswered;
	const char *why_unanswered;
	unsigned sites;                              /* places where it is or was planted */
	unsigned jumped, boosted, stepped, in_place; /* rung of these sites */
	/* Of these sites: those behind the first instruction; jumps that begin at it, where a kernel's
	 * uprobe would break them; breakpoints in place of such a jump (beside_kernel); those that
	 * a kernel's uprobe was found to have taken over, at the end: its hits are not seen. */
	unsigned behind, at_first, beside_kernel, hidden;
	unsigned
		by_short; /* of the jumps: short ones, each to another in unused bytes near by */
	unsigned by_punned; /* of the jumps: part of them is the program's own bytes */
	const char
		*no_jump; /* why one of them is no jump; NULL: all are. Lasts as the session */
	/* How often threads were stopped for it, by ubp_stop_name()'s reasons. Of several probes that
	 * one stop serves, the first counts it. */
	uint64_t stops[UBP_STOPS];
	unsigned hijacked, at_rets;   /* return probes: of these sites, entries where the return
				     * address is replaced; breakpoints where one returns */
	enum ubp_taken_out taken_out; /* what is counted is from before that */
};

/* Of probe @i until now; at any time, also after ubp_stop(). */
void ubp_probe_stats(const struct ubp_session *session, size_t i,
		     struct ubp_probe_stats *ret_stats);

/* Hits that the filter let through, and ubp_options.sample did not: part of .hits, not of .passed. With .count_dropped, those in detours too. */
uint64_t ubp_probe_left_out(const struct ubp_session *session, size_t i);

/* A word for each of the reasons that stops are counted by: @why is an index of .stops. */
const char *ubp_stop_name(unsigned why);

struct ubp_stats {
	unsigned processes; /* traced at any time */
	unsigned skipped;   /* not allowed to attach, or they kept us waiting for that */
	unsigned too_late; /* ran probed code, and had ended when they were to be attached to */
	uint64_t not_known; /* new ones that had ended before it could be told what they run */
	unsigned held;      /* seized while they executed a probed program, or loaded a probed
			* library, so that they ran none of it before its probes stood */
	/* Executed or loaded such a file and went on before ubp had them, as it did not answer in time, or the
	 * kernel asked too late (scripts): they may have run some of it. */
	uint64_t early;
	unsigned unguarded; /* would die with ubp (.force) */
	/* How long processes stood still to have probes planted: in all, and at most at once. */
	uint64_t stopped_ns, longest_stop_ns;
	/* How long all of them waited for memory of one that did not answer, in all; and for any that may
	 * not answer, at most at once. */
	uint64_t unanswered_ns, longest_answer_ns;
	uint64_t
		requests; /* for memory that may not answer: each costs two switches of process */
	unsigned let_go; /* so often a process was let go of (ubp_options.stay) ... */
	const char
		*why_traced; /* ... and why the last one that was looked at was not; or NULL */
	uint64_t
		returns_left; /* that never came (longjmp()), found while nobody traced the process: of which probes is not known */
	uint64_t ring_lost;   /* records that threads had no room for; of which probe, is known
			     * if there is but one */
	/* Stacks that were unwound: frames found by libdw's rows of call frame information, by
	 * libunwind, by frame pointers where neither knew any. */
	bool has_unwound;
	uint64_t frames_by_rows, frames_by_libunwind, frames_by_frame_pointer;
	const char *
		finder; /* how later processes are found: "proc connector", "scan of /proc", with
			  * ", fanotify" where those who execute a probed program are held */
	const char
		*why_skipped; /* the first of .skipped: which, and why; NULL: there is none */
};

/* Of the whole session; may be asked at any time, as ubp_probe_stats(). */
void ubp_stats(const struct ubp_session *session, struct ubp_stats *ret_stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
