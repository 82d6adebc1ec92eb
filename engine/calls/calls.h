/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Calls: the entry and the return of a function in a thread, paired. Records go in, in order of time; a call comes out when it
 * is over, so the calls that it made come before it.
 *
 *	calls = calls_new(on_call, ctx);
 *	calls_add_probe(calls, probe);          for each probe that is known
 *	calls_add(calls, probe, record);        for each record, gaps too
 *	calls_end(calls);                       what has not returned is told
 *	calls_free(calls);
 *
 * A function is a place in a file. Its entry and its return belong together because their probes are at the same place. An entry
 * probe at a place that has no return probe makes no calls: calls_add() says so. That is why probes are to be added before the
 * records come; one that comes with its first record is known from then on.
 *
 * What does not go by pairs:
 *
 * - A return without an entry (it was before the trace, a filter kept it out, no probe asks for it): where its record has
 *   $duration the start is known, and it is a call. Else .has_start is false.
 * - An entry long before the start of $duration: the thread waited in between, for room or for a processor. It is the entry if nothing else
 *   was seen meanwhile and the function's entries are all there, as a rule; the call began when $duration says.
 * - An entry whose return never comes, since an exception or longjmp() left it: a caller's return shows that (CALL_LEFT). Where entries have the
 *   stack pointer among their args (%sp or $stack) the next entry does, too, so what comes later is not taken for what it has called.
 * - Records that were lost: a call that was open then may be paired with the return of another one. It has .is_uncertain, unless
 *   $duration confirms it.
 * - Two entry probes (or two return probes) at one place: the first record counts, the others are no calls.
 *
 * No record tells that a thread ends or executes another program: what was open there stays so until the end.
 *
 * Memory is bounded: see CALLS_*_MAX. What does not fit is told as CALL_OPEN, and counted.
 */

#ifndef UBP_CALLS_CALLS_H
#define UBP_CALLS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/calls/function.h"

struct calls;
struct event_record;
struct spec_probe;

#define CALLS_DEPTH_MAX 16384 /* calls open in one thread: then the outer half is told */
#define CALLS_BYTES_MAX                                                                        \
	(256UL << 20) /* of all open calls: then the thread that is longest silent */

enum call_end {
	CALL_RETURNED,
	CALL_LEFT, /* a caller has returned, or a function around it: .end_ns is when */
	CALL_OPEN, /* no return until the end of the trace: .end_ns is the last time that is known */
};

/* Pointers are good during the call of calls_fn. Times are nanoseconds of the records' clock. */
struct call {
	const struct calls_function *function;
	int32_t pid, tid;
	uint64_t id;     /* from 1, in the order of entries */
	uint64_t parent; /* id of the call that made it; 0: none is known */
	uint32_t path;   /* where in the tree of calls: calls_path_parent() */
	uint32_t depth;  /* calls around it that are known */
	uint64_t start_ns, end_ns;
	uint64_t self_ns; /* CALL_RETURNED: without the calls that it made and that returned */
	enum call_end end;
	bool has_start;    /* false: .start_ns is .end_ns */
	bool is_uncertain; /* records were lost while it was open */
	uint64_t inner_ns; /* of that time, what calls of the same function inside of it took */
	/* What was recorded, with the probes that know the arguments. NULL: that record is not there. */
	const struct event_record *entry, *ret;
	const struct spec_probe *entry_probe, *return_probe;
};

/* It must not call any function that changes @calls. */
typedef void calls_fn(void *ctx, const struct call *call);

/* NULL: memory is short. */
struct calls *calls_new(calls_fn *fn, void *ctx);
void calls_free(struct calls *calls); /* NULL is fine */

/* Probes are borrowed. What is known already is ignored. 0 or -ENOMEM. */
int calls_add_probe(struct calls *calls, const struct spec_probe *probe);

/* Of which host the records that follow are, where there are several: threads of two hosts may have the same numbers. NULL: there is one.
 * Names stay where they are. */
void calls_set_host(struct calls *calls, const char *host);

/* What a record was. */
enum calls_record {
	CALLS_OTHER,  /* no part of a call: an event alone, or a gap */
	CALLS_ENTRY,  /* a call has begun */
	CALLS_RETURN, /* a call was over, and has been told */
};

/* The next record (EVENT_LOST: @probe may be NULL). Returns enum calls_record, or -ENOMEM: the record is not taken. */
int calls_add(struct calls *calls, const struct spec_probe *probe,
	      const struct event_record *record);

/* Nothing comes any more: all that is open is told as CALL_OPEN. */
void calls_end(struct calls *calls);

/*
 * The tree of calls: a path is a function, called by the functions of its parent. Paths are numbered from 1 without gaps, in the
 * order in which they were found, so a parent's number is below its children's; 0 is above all. What comes when there are
 * CALLS_PATHS_MAX has path 0.
 */
uint32_t calls_n_paths(const struct calls *calls); /* the last number */
uint32_t calls_path_parent(const struct calls *calls, uint32_t path);
const struct calls_function *calls_path_function(const struct calls *calls, uint32_t path);

struct calls_counts {
	uint64_t calls;     /* told, with a return and a known start */
	uint64_t no_entry;  /* returns whose start is not known */
	uint64_t left;      /* CALL_LEFT */
	uint64_t open;      /* CALL_OPEN, at the end */
	uint64_t given_up;  /* CALL_OPEN, since memory is bounded */
	uint64_t uncertain; /* of .calls: those with .is_uncertain */
	uint64_t lost;      /* events that gaps tell of */
	uint64_t no_path;   /* calls that have path 0 */
};

void calls_counts(const struct calls *calls, struct calls_counts *ret_counts);

#endif
