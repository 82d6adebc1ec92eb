/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/calls/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/calls/functions.h"
#include "engine/calls/paths.h"
#include "engine/calls/thread.h"
#include "engine/spec/spec.h"

/* Threads that have nothing open are forgotten when there are so many. */
#define THREADS_MAX 65536

/* An entry is that of a return with $duration if it was so near to the start. */
#define NEAR_NS 1000000

/* Entries of a function are all there, as a rule, if so many returns have one for each that has none. */
#define PAIRS_A_STRAY 16

/* No stack of a thread is larger, as a rule. */
#define STACK_BYTES (8UL << 20)

struct calls {
	calls_fn *fn;
	void *ctx;
	struct functions functions;
	struct calls_paths paths;
	struct map threads;    /* by host, pid and tid */
	uint64_t host;         /* what its name is hashed to; 0: there is one */
	const char *host_name; /* for comparing the pointer only */
	struct thread *newest, *oldest;
	size_t bytes; /* of all threads */
	uint64_t last_id, last_ns;
	uint64_t gaps;
	struct calls_counts counts;
};

struct calls *calls_new(calls_fn *fn, void *ctx)
{
	struct calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->fn = fn;
	calls->ctx = ctx;
	return calls;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	for (struct thread *t = calls->newest, *older; t; t = older) {
		older = t->older;
		thread_free(t);
	}
	map_free(&calls->threads);
	functions_free(&calls->functions);
	calls_paths_free(&calls->paths);
	free(calls);
}

int calls_add_probe(struct calls *calls, const struct spec_probe *probe)
{
	if (probe->is_made)
		return 0;
	return functions_probe(&calls->functions, probe) ? 0 : -ENOMEM;
}

void calls_set_host(struct calls *calls, const char *host)
{
	if (host == calls->host_name)
		return;
	calls->host_name = host;
	calls->host = host ? hash_text(1, host) : 0;
}

/* --- telling ------------------------------------------------------------------------------ */

static struct open_call *innermost(const struct thread *t)
{
	return t->n ? &t->open[t->n - 1] : NULL;
}

static void tell(struct calls *calls, const struct call *call)
{
	struct calls_counts *counts = &calls->counts;

	if (call->end == CALL_LEFT)
		counts->left++;
	else if (call->end == CALL_RETURNED && !call->has_start)
		counts->no_entry++;
	else if (call->end == CALL_RETURNED) {
		counts->calls++;
		counts->uncertain += call->is_uncertain;
	}
	counts->no_path += !call->path;
	calls->fn(calls->ctx, call);
}

static struct call call_of(const struct thread *t, const struct open_call *open,
			   uint64_t end_ns, enum call_end end)
{
	size_t i = (size_t)(open - t->open);

	return (struct call){
		.function = &open->function->public,
		.pid = t->pid,
		.tid = t->tid,
		.id = open->id,
		.parent = i ? open[-1].id : 0,
		.path = open->path,
		.depth = (uint32_t)i,
		.start_ns = open->start_ns,
		.end_ns = end_ns > open->start_ns ? end_ns : open->start_ns,
		.end = end,
		.has_start = true,
		.inner_ns = open->inner_ns,
		.entry = (const struct event_record *)(const void *)(t->records + open->record),
		.entry_probe = open->probe,
	};
}

/* The innermost, which there is, has no return. */
static void tell_unreturned(struct calls *calls, struct thread *t, uint64_t end_ns,
			    enum call_end end)
{
	const struct open_call *open = &t->open[t->n - 1];
	struct call call = call_of(t, open, end_ns, end);

	call.is_uncertain = open->gaps != calls->gaps;
	tell(calls, &call);
	thread_pop(t);
}

static void tell_open(struct calls *calls, struct thread *t)
{
	while (t->n)
		tell_unreturned(calls, t, calls->last_ns, CALL_OPEN);
}

/* --- threads -------------------------------------------------------------------------------- */

static void unlink_thread(struct calls *calls, struct thread *t)
{
	*(t->newer ? &t->newer->older : &calls->newest) = t->older;
	*(t->older ? &t->older->newer : &calls->oldest) = t->newer;
}

static void link_newest(struct calls *calls, struct thread *t)
{
	t->newer = NULL;
	t->older = calls->newest;
	*(t->older ? &t->older->newer : &calls->oldest) = t;
	calls->newest = t;
}

static void forget_thread(struct calls *calls, struct thread *t)
{
	calls->bytes -= thread_bytes(t);
	calls->counts.given_up += t->n;
	tell_open(calls, t);
	unlink_thread(calls, t);
	(void)map_remove(&calls->threads, t->key);
	thread_free(t);
}

static struct thread *find_thread(struct calls *calls, const struct event_record *record)
{
	uint64_t ids = (uint64_t)(uint32_t)record->pid << 32 | (uint32_t)record->tid;
	uint64_t key = calls->host ? hash_number(calls->host, ids) : ids;
	struct thread *t = map_get(&calls->threads, key);

	if (t && t == calls->newest)
		return t;
	if (t) {
		unlink_thread(calls, t);
		link_newest(calls, t);
		return t;
	}
	t = thread_new(key, record);
	if (t && map_put(&calls->threads, key, t) < 0) {
		thread_free(t);
		return NULL;
	}
	if (t) {
		link_newest(calls, t);
		calls->bytes += thread_bytes(t);
	}
	return t;
}

/* All but the newest, which has just been asked for. */
static void keep_bounds(struct calls *calls)
{
	while (calls->oldest != calls->newest &&
	       (calls->bytes > CALLS_BYTES_MAX || calls->threads.n > THREADS_MAX))
		forget_thread(calls, calls->oldest);
}

/* --- entries -------------------------------------------------------------------------------- */

/* The outer half of a stack that is too deep; the innermost of that first. */
static void give_up_half(struct calls *calls, struct thread *t)
{
	size_t half = t->n / 2;

	for (size_t i = half; i-- > 0;) {
		struct call call = call_of(t, &t->open[i], calls->last_ns, CALL_OPEN);

		call.is_uncertain = t->open[i].gaps != calls->gaps;
		tell(calls, &call);
	}
	calls->counts.given_up += half;
	thread_drop(t, half);
}

static uint32_t path_below(struct calls *calls, const struct open_call *parent,
			   const struct function *function)
{
	if (parent && !parent->path)
		return 0;
	return calls_paths_find(&calls->paths, parent ? parent->path : 0,
				function->public.number);
}

/* Of an arg of 8 bytes. False: the record does not have it. */
static bool take_value(const struct spec_arg *arg, const struct event_record *record,
		       uint64_t *ret_value)
{
	if (!arg || arg->at + sizeof(*ret_value) > record->data_len)
		return false;
	memcpy(ret_value, record->data + arg->at, sizeof(*ret_value));
	return true;
}

/*
 * What a call at @sp shows to be left: a caller's stack pointer is above its callee's. Of a tail call it is the same, so then another function
 * may be open, and the same one is not. One that is far away is on another stack.
 */
static void leave_below(struct calls *calls, struct thread *t, const struct function *f,
			uint64_t sp, uint64_t time)
{
	struct open_call *top;

	while (sp && (top = innermost(t)) && top->sp && sp - top->sp < STACK_BYTES &&
	       (sp != top->sp || top->function == f))
		tell_unreturned(calls, t, time, CALL_LEFT);
}

static int add_entry(struct calls *calls, struct thread *t, const struct function_probe *p,
		     const struct spec_probe *probe, const struct event_record *record)
{
	struct open_call *top = innermost(t);
	uint64_t bit = 1ULL << p->i;
	struct open_call call = {
		.function = p->function,
		.probe = probe,
		.start_ns = record->time,
		.gaps = calls->gaps,
		.seen = bit,
	};

	if (!p->function->n_returns)
		return CALLS_OTHER;
	if (top && top->function == p->function && !(top->seen & bit)) {
		top->seen |= bit;
		return CALLS_OTHER;
	}
	if (take_value(p->sp, record, &call.sp))
		leave_below(calls, t, p->function, call.sp, record->time);
	top = innermost(t);
	if (top && t->n == CALLS_DEPTH_MAX) {
		give_up_half(calls, t);
		top = innermost(t);
	}
	call.path = path_below(calls, top, p->function);
	call.id = calls->last_id + 1;
	if (thread_push(t, &call, record) < 0)
		return -ENOMEM;
	calls->last_id++;
	t->returned = NULL;
	return CALLS_ENTRY;
}

/* --- returns ---------------------------------------------------------------------------------- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * The entry of a call that has lasted @duration_ns: of the function's open calls the one that is nearest to when it began, if it is near
 * at all.
 */
static uint64_t find_near(const struct thread *t, const struct function *function,
			  uint64_t end_ns, uint64_t duration_ns)
{
	uint64_t start = end_ns > duration_ns ? end_ns - duration_ns : 0;
	uint64_t best = 0, least = NEAR_NS + duration_ns / 4;
	uint64_t place = thread_top(t, function);

	for (const struct open_call *open; (open = thread_at(t, place)); place = open->same) {
		uint64_t away = distance(open->start_ns, start);

		if (away <= least) {
			best = place;
			least = away;
		}
		if (open->start_ns <= start)
			break;
	}
	return best;
}

/*
 * The same, where none is near: between the record of the entry and the start of $duration a thread may have waited, for room or for a
 * processor. Then the innermost call is the one, unless something was seen in between, or the function's entries are not all there.
 */
static uint64_t find_late(const struct calls *calls, const struct thread *t,
			  const struct function *f, uint64_t start)
{
	const struct open_call *open = innermost(t);

	if (!open || open->function != f || open->gaps != calls->gaps ||
	    open->start_ns > start || f->n_strays * PAIRS_A_STRAY > f->n_paired ||
	    thread_done_between(t, open->start_ns, start))
		return 0;
	return thread_top(t, f);
}

/* Place of the entry of a call that has lasted @duration_ns; 0: none is known. */
static uint64_t find_timed(const struct calls *calls, struct thread *t,
			   const struct function *f, uint64_t end_ns, uint64_t duration_ns)
{
	uint64_t start = end_ns > duration_ns ? end_ns - duration_ns : 0;
	uint64_t place = find_near(t, f, end_ns, duration_ns);

	if (place)
		return place;
	place = find_late(calls, t, f, start);
	if (place)
		thread_at(t, place)->start_ns = start; /* the wait was not the call's */
	return place;
}

/* A return that no entry is known of. */
static struct call lone_return(struct calls *calls, const struct thread *t,
			       const struct function *function, uint64_t end_ns,
			       const uint64_t *duration_ns)
{
	uint64_t start = duration_ns && *duration_ns <= end_ns ? end_ns - *duration_ns : end_ns;
	size_t depth = t->n;
	const struct open_call *parent;

	while (depth && t->open[depth - 1].start_ns > start)
		depth--;
	parent = depth ? &t->open[depth - 1] : NULL;
	return (struct call){
		.function = &function->public,
		.pid = t->pid,
		.tid = t->tid,
		.id = ++calls->last_id,
		.parent = parent ? parent->id : 0,
		.path = path_below(calls, parent, function),
		.depth = (uint32_t)depth,
		.start_ns = start,
		.end_ns = end_ns,
		.has_start = duration_ns && *duration_ns <= end_ns,
	};
}

/* Its own time, and what is its caller's. */
static void count_time(struct calls *calls, struct thread *t, struct call *call)
{
	uint64_t total = call->end_ns - call->start_ns, children;

	if (!call->has_start)
		return;
	children = thread_take_done(t, call->start_ns);
	call->self_ns = children < total ? total - children : 0;
	/* Where memory is short the caller's own time is too long: nothing else fails. */
	if (call->depth || calls->functions.n_lone)
		(void)thread_add_done(t, call->start_ns, total);
	else
		t->n_done = 0;
}

/* The call of the same function that is around it, if there is one. */
static void tell_outer(const struct thread *t, const struct function *f,
		       const struct call *call, uint64_t place)
{
	struct open_call *outer =
		thread_at(t, place ? thread_at(t, place)->same : thread_top(t, f));

	if (outer && outer->start_ns <= call->start_ns)
		outer->inner_ns += call->end_ns - call->start_ns;
}

static int add_return(struct calls *calls, struct thread *t, const struct function_probe *p,
		      const struct spec_probe *probe, const struct event_record *record)
{
	struct function *f = p->function;
	uint64_t bit = 1ULL << p->i, duration = 0, place;
	bool has_duration = take_value(p->duration, record, &duration);
	struct call call;

	if (t->returned == f && !(t->returned_seen & bit)) {
		t->returned_seen |= bit;
		return CALLS_OTHER;
	}
	place = has_duration ? find_timed(calls, t, f, record->time, duration)
			     : thread_top(t, f);
	f->n_paired += place != 0;
	f->n_strays += !place && !thread_top(t, f);
	while (place && t->below + t->n > place)
		tell_unreturned(calls, t, record->time, CALL_LEFT);
	if (place) {
		call = call_of(t, innermost(t), record->time, CALL_RETURNED);
		call.is_uncertain = !has_duration && innermost(t)->gaps != calls->gaps;
	} else {
		call = lone_return(calls, t, f, record->time, has_duration ? &duration : NULL);
	}
	call.ret = record;
	call.return_probe = probe;
	count_time(calls, t, &call);
	tell_outer(t, f, &call, place);
	tell(calls, &call);
	if (place)
		thread_pop(t);
	t->returned = f;
	t->returned_seen = bit;
	return CALLS_RETURN;
}

/* --- all records ------------------------------------------------------------------------------ */

int calls_add(struct calls *calls, const struct spec_probe *probe,
	      const struct event_record *record)
{
	const struct function_probe *p;
	struct thread *t;
	size_t bytes;
	int rc;

	if (record->kind == EVENT_LOST) {
		calls->gaps++;
		calls->counts.lost += record->n_lost;
		return CALLS_OTHER;
	}
	if (record->time > calls->last_ns)
		calls->last_ns = record->time;
	if (!probe || probe->is_made)
		return CALLS_OTHER;
	p = functions_probe(&calls->functions, probe);
	if (!p)
		return -ENOMEM;
	if (!p->is_return && !p->function->n_returns)
		return CALLS_OTHER;
	t = find_thread(calls, record);
	if (!t)
		return -ENOMEM;
	bytes = thread_bytes(t);
	rc = p->is_return ? add_return(calls, t, p, probe, record)
			  : add_entry(calls, t, p, probe, record);
	calls->bytes += thread_bytes(t) - bytes;
	keep_bounds(calls);
	return rc;
}

void calls_end(struct calls *calls)
{
	for (struct thread *t = calls->newest; t; t = t->older) {
		calls->counts.open += t->n;
		tell_open(calls, t);
	}
}

/* --- what is known ------------------------------------------------------------------------------ */

uint32_t calls_n_paths(const struct calls *calls)
{
	return calls->paths.n ? (uint32_t)calls->paths.n - 1 : 0;
}

uint32_t calls_path_parent(const struct calls *calls, uint32_t path)
{
	return path < calls->paths.n ? calls->paths.v[path].parent : 0;
}

const struct calls_function *calls_path_function(const struct calls *calls, uint32_t path)
{
	if (!path || path >= calls->paths.n)
		return NULL;
	return &calls->functions.v[calls->paths.v[path].function]->public;
}

void calls_counts(const struct calls *calls, struct calls_counts *ret_counts)
{
	*ret_counts = calls->counts;
}
