/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is known of one thread: calls that are open, with a copy of their entries' records; and those that were over last. */

#ifndef UBP_CALLS_THREAD_H
#define UBP_CALLS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/calls/functions.h"
#include "engine/event/record.h"

struct open_call {
	struct function *function;
	const struct spec_probe *probe;
	uint64_t id, start_ns;
	uint64_t sp;       /* 0: not known */
	uint64_t inner_ns; /* of calls of the same function inside of it */
	uint64_t gaps;     /* as of struct calls, when it began */
	uint64_t seen;     /* entry probes whose records of this call came */
	uint64_t same;     /* place of the next open call of the function below, 0: none */
	size_t record;     /* offset in .records */
	uint32_t path;
};

/* A call, or several beside each other, that no call around has taken as its own yet. */
struct done_call {
	uint64_t start_ns, total_ns;
};

struct thread {
	struct thread *newer, *older; /* by the last record */
	uint64_t key;
	int32_t pid, tid;
	/* The outermost first. The place of .open[i] is .below + i + 1: it stays, when outer ones go. */
	struct open_call *open;
	size_t n, cap;
	uint64_t below;
	struct map
		tops; /* by a function's number + 1: the place of its innermost open call, never 0 */
	uint8_t *records;
	size_t records_len, records_cap;
	struct done_call *done; /* by time of start */
	size_t n_done, cap_done;
	/* The last return, as long as nothing was entered since: by which function, and which of its return probes. */
	const struct function *returned;
	uint64_t returned_seen;
};

struct thread *thread_new(uint64_t key, const struct event_record *record);
void thread_free(struct thread *thread);
/* Bytes of memory for what is open. */
size_t thread_bytes(const struct thread *thread);

/* 0 or -ENOMEM. .record is set, the rest is the caller's. */
int thread_push(struct thread *thread, const struct open_call *call,
		const struct event_record *record);
/* The innermost goes. */
void thread_pop(struct thread *thread);
/* The @n outermost go. */
void thread_drop(struct thread *thread, size_t n);

/* Place of the innermost open call of @function; 0: none. */
uint64_t thread_top(const struct thread *thread, const struct function *function);
/* NULL: it went with the outermost. */
struct open_call *thread_at(const struct thread *thread, uint64_t place);

/*
 * A call that began at @start_ns is over: returns the nanoseconds of what began then or later and was over before, which belongs to it from now on.
 */
uint64_t thread_take_done(struct thread *thread, uint64_t start_ns);
/* Whether a call that is over, and that no call around has taken, began at @from_ns or later and before @to_ns. */
bool thread_done_between(const struct thread *thread, uint64_t from_ns, uint64_t to_ns);
/* 0 or -ENOMEM. */
int thread_add_done(struct thread *thread, uint64_t start_ns, uint64_t total_ns);

#endif
