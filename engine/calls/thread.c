/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/calls/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"

#define DONE_MAX 4096 /* even */

struct thread *thread_new(uint64_t key, const struct event_record *record)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->key = key;
	t->pid = record->pid;
	t->tid = record->tid;
	return t;
}

void thread_free(struct thread *t)
{
	map_free(&t->tops);
	free(t->open);
	free(t->records);
	free(t->done);
	free(t);
}

size_t thread_bytes(const struct thread *t)
{
	return sizeof(*t) + t->cap * sizeof(*t->open) + t->records_cap +
	       t->cap_done * sizeof(*t->done) +
	       t->tops.room * (sizeof(struct map_entry) + 2 * sizeof(uint32_t));
}

/* --- the stack of open calls ------------------------------------------------------------ */

static uint64_t key_of(const struct function *function)
{
	return (uint64_t)function->public.number + 1;
}

struct open_call *thread_at(const struct thread *t, uint64_t place)
{
	return place > t->below && place <= t->below + t->n ? &t->open[place - t->below - 1]
							    : NULL;
}

uint64_t thread_top(const struct thread *t, const struct function *function)
{
	uint64_t place = (uintptr_t)map_get(&t->tops, key_of(function));
	const struct open_call *open = thread_at(t, place);

	return open && open->function == function ? place : 0;
}

/* The data may have any length: what is behind it begins at a multiple of 8. */
static size_t record_bytes(const struct event_record *record)
{
	return sizeof(*record) + (record->data_len + 7) / 8 * 8 + 8UL * record->n_stack;
}

static int keep_record(struct thread *t, const struct event_record *record)
{
	size_t len = record_bytes(record);

	while (t->records_cap - t->records_len < len) {
		size_t cap = t->records_cap ? 2 * t->records_cap : 1024;
		uint8_t *more = realloc(t->records, cap);

		if (!more)
			return -ENOMEM;
		t->records = more;
		t->records_cap = cap;
	}
	memcpy(t->records + t->records_len, record, len);
	t->records_len += len;
	return 0;
}

int thread_push(struct thread *t, const struct open_call *call,
		const struct event_record *record)
{
	size_t at = t->records_len;
	uint64_t place = t->below + t->n + 1, same = thread_top(t, call->function);

	if (VEC_ROOM(t->open, &t->cap, t->n) < 0 || keep_record(t, record) < 0)
		return -ENOMEM;
	if (map_put(&t->tops, key_of(call->function), (void *)(uintptr_t)place) < 0) {
		t->records_len = at;
		return -ENOMEM;
	}
	t->open[t->n] = *call;
	t->open[t->n].record = at;
	t->open[t->n++].same = same;
	return 0;
}

void thread_pop(struct thread *t)
{
	const struct open_call *top = &t->open[--t->n];

	/* Where memory is short for that the function has no top: thread_top() looks at what it finds. */
	if (top->same > t->below)
		(void)map_put(&t->tops, key_of(top->function), (void *)(uintptr_t)top->same);
	else
		(void)map_remove(&t->tops, key_of(top->function));
	t->records_len = top->record;
}

void thread_drop(struct thread *t, size_t n)
{
	size_t bytes = n < t->n ? t->open[n].record : t->records_len;

	t->n -= n;
	t->below += n;
	t->records_len -= bytes;
	memmove(t->open, t->open + n, t->n * sizeof(*t->open));
	memmove(t->records, t->records + bytes, t->records_len);
	for (size_t i = 0; i < t->n; i++)
		t->open[i].record -= bytes;
}

/* --- what was over --------------------------------------------------------------------------- */

uint64_t thread_take_done(struct thread *t, uint64_t start_ns)
{
	uint64_t sum = 0;

	while (t->n_done && t->done[t->n_done - 1].start_ns >= start_ns)
		sum += t->done[--t->n_done].total_ns;
	return sum;
}

bool thread_done_between(const struct thread *t, uint64_t from_ns, uint64_t to_ns)
{
	size_t i = t->n_done;

	while (i && t->done[i - 1].start_ns >= to_ns)
		i--;
	return i && t->done[i - 1].start_ns >= from_ns;
}

/* Of the older half two neighbours become one: few calls around begin between them. */
static void join_done(struct thread *t)
{
	size_t half = t->n_done / 2, n = 0;

	for (size_t i = 0; i < half; i += 2, n++) {
		t->done[n].start_ns = t->done[i].start_ns;
		t->done[n].total_ns = t->done[i].total_ns + t->done[i + 1].total_ns;
	}
	memmove(t->done + n, t->done + half, (t->n_done - half) * sizeof(*t->done));
	t->n_done -= half - n;
}

int thread_add_done(struct thread *t, uint64_t start_ns, uint64_t total_ns)
{
	if (t->n_done == DONE_MAX)
		join_done(t);
	if (VEC_ROOM(t->done, &t->cap_done, t->n_done) < 0)
		return -ENOMEM;
	t->done[t->n_done++] = (struct done_call){ start_ns, total_ns };
	return 0;
}
