/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The caller's thread reads events, copies them into batches, and hands out what was made of these, in their order. Batches are made into text by
 * whoever has time: helpers, and the caller where the next one is not done yet.
 */

#include "engine/session/recording_print.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/quiet_thread.h"
#include "engine/event/record.h"
#include "engine/session/event.h"
#include "engine/session/sink.h"

/* Of a batch: enough that threads seldom meet, and little beside the cache of a processor. */
#define BATCH_EVENTS 1024
#define BATCH_BYTES  (256U << 10)

/* For each thread. */
#define BATCHES 2

enum batch_state { BATCH_FREE, BATCH_FULL, BATCH_TAKEN, BATCH_DONE };

/* An event that is kept, in front of its record. */
struct kept {
	const struct spec_probe *spec;
	const char *host;
	uint64_t weight;
};

/* Two lines of a cache: what a thread changes with each event is none that another one reads. */
#define APART 128

struct batch {
	_Alignas(APART) enum batch_state state;
	struct event_texts *texts; /* of its events */
	uint8_t *bytes;            /* of events that are kept */
	size_t len, cap;
	size_t n;
	struct sink_buf text;
};

struct print {
	struct ubp_recording *recording;
	struct ubp_sink *sink;
	pthread_mutex_t lock;
	pthread_cond_t filled, done;
	struct batch *
		batches; /* a ring: those from @first on are in use, in the order of their events */
	size_t n_batches, first, n_used;
	bool is_over; /* helpers end */
	bool no_memory;
	pthread_t helpers[RECORDING_PRINT_HELPERS_MAX];
	struct ubp_sink *sinks[RECORDING_PRINT_HELPERS_MAX];
	unsigned n_helpers;
};

struct helper {
	struct print *print;
	struct ubp_sink *sink;
};

/* --- a batch ------------------------------------------------------------------------------- */

static bool make_room(struct batch *b, size_t len)
{
	size_t cap = b->cap ? b->cap : BATCH_BYTES;
	uint8_t *bytes;

	while (cap - b->len < len)
		cap *= 2;
	bytes = cap == b->cap ? b->bytes : realloc(b->bytes, cap);
	if (!bytes)
		return false;
	b->bytes = bytes;
	b->cap = cap;
	return true;
}

static struct batch *batch_at(struct print *p, size_t i)
{
	return &p->batches[(p->first + i) % p->n_batches];
}

/* Bytes of a record, which may say that it is smaller than its head. */
static size_t record_size(const struct event_record *record)
{
	size_t size = record->size < sizeof(*record) ? sizeof(*record) : record->size;

	return (size + 7) & ~7ul;
}

static int keep(void *ctx, const struct ubp_event *event)
{
	struct print *p = ctx;
	struct batch *b = batch_at(p, p->n_used);
	struct kept kept = { event->spec, event->host, event->weight };
	size_t size = record_size(event->record);

	if (!make_room(b, sizeof(kept) + size)) {
		p->no_memory = true;
		return 1;
	}
	b->texts = event->texts;
	memcpy(b->bytes + b->len, &kept, sizeof(kept));
	memcpy(b->bytes + b->len + sizeof(kept), event->record, size);
	b->len += sizeof(kept) + size;
	b->n++;
	return b->len >= BATCH_BYTES;
}

static void make_text(struct batch *b, struct ubp_sink *sink)
{
	struct ubp_event event = { .texts = b->texts };
	struct kept kept;

	for (size_t at = 0; at < b->len; at += sizeof(kept) + record_size(event.record)) {
		memcpy(&kept, b->bytes + at, sizeof(kept));
		event.record = (const struct event_record *)(b->bytes + at + sizeof(kept));
		event.spec = kept.spec;
		event.host = kept.host;
		event.weight = kept.weight;
		session_sink_add(sink, &b->text, &event);
	}
}

/* --- helpers ------------------------------------------------------------------------------- */

/* Locked. The oldest that nobody has taken; NULL: there is none. */
static struct batch *take_batch(struct print *p)
{
	for (size_t i = 0; i < p->n_used; i++) {
		struct batch *b = batch_at(p, i);

		if (b->state != BATCH_FULL)
			continue;
		b->state = BATCH_TAKEN;
		return b;
	}
	return NULL;
}

/* Locked, but while it works. */
static void work_on(struct print *p, struct batch *b, struct ubp_sink *sink)
{
	pthread_mutex_unlock(&p->lock);
	make_text(b, sink);
	pthread_mutex_lock(&p->lock);
	b->state = BATCH_DONE;
}

static void *help(void *arg)
{
	struct helper *helper = arg;
	struct print *p = helper->print;
	struct batch *b;

	pthread_mutex_lock(&p->lock);
	while (!p->is_over) {
		b = take_batch(p);
		if (b) {
			work_on(p, b, helper->sink);
			pthread_cond_signal(&p->done);
		} else {
			pthread_cond_wait(&p->filled, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
	free(helper);
	return NULL;
}

static bool start_helper(struct print *p)
{
	struct ubp_sink *sink = session_sink_again(p->sink);
	struct helper *helper = sink ? malloc(sizeof(*helper)) : NULL;

	if (helper) {
		*helper = (struct helper){ p, sink };
		if (quiet_thread_create(&p->helpers[p->n_helpers], help, helper) == 0) {
			p->sinks[p->n_helpers++] = sink;
			return true;
		}
	}
	free(helper);
	ubp_sink_free(sink);
	return false;
}

static void end_helpers(struct print *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_broadcast(&p->filled);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_helpers; i++) {
		(void)pthread_join(p->helpers[i], NULL);
		session_sink_join(p->sink, p->sinks[i]);
		ubp_sink_free(p->sinks[i]);
	}
}

/* --- the caller's thread -------------------------------------------------------------------- */

/* Fill batches while there is room. Returns what the last ubp_recording_read() has said: 0 at the end. */
static int fill(struct print *p, struct ubp_err *err)
{
	int n = 1;

	while (n > 0 && p->n_used < p->n_batches) {
		struct batch *b = batch_at(p, p->n_used);

		b->len = b->n = 0;
		b->text.len = 0;
		n = ubp_recording_read(p->recording, keep, p, BATCH_EVENTS, err);
		if (p->no_memory)
			n = ubp_fail(err, ENOMEM, "out of memory");
		if (!b->n)
			break;
		pthread_mutex_lock(&p->lock);
		b->state = BATCH_FULL;
		p->n_used++;
		pthread_cond_signal(&p->filled);
		pthread_mutex_unlock(&p->lock);
	}
	return n;
}

/* The oldest batch is done; until it is, others are worked on here, too. */
static void finish_first(struct print *p)
{
	struct batch *first = batch_at(p, 0), *b;

	pthread_mutex_lock(&p->lock);
	while (first->state != BATCH_DONE) {
		b = take_batch(p);
		if (b)
			work_on(p, b, p->sink);
		else
			pthread_cond_wait(&p->done, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}

static void drop_first(struct print *p)
{
	pthread_mutex_lock(&p->lock);
	batch_at(p, 0)->state = BATCH_FREE;
	p->first = (p->first + 1) % p->n_batches;
	p->n_used--;
	pthread_mutex_unlock(&p->lock);
}

static int print_batches(struct print *p, ubp_recording_print_fn *fn, void *ctx,
			 struct ubp_err *err)
{
	bool is_ended = false;
	int n = 1;

	while (!is_ended) {
		struct batch *first;

		if (n > 0)
			n = fill(p, err);
		if (!p->n_used)
			break;
		finish_first(p);
		first = batch_at(p, 0);
		is_ended = fn(ctx, first->text.data ? first->text.data : "", first->text.len,
			      first->n) != 0;
		drop_first(p);
	}
	return n < 0 ? n : 0;
}

static void free_print(struct print *p)
{
	for (size_t i = 0; p->batches && i < p->n_batches; i++) {
		free(p->batches[i].bytes);
		sink_buf_free(&p->batches[i].text);
	}
	free(p->batches);
	pthread_cond_destroy(&p->filled);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
}

static int print_with(struct print *p, unsigned n_helpers, ubp_recording_print_fn *fn,
		      void *ctx, struct ubp_err *err)
{
	int rc;

	p->n_batches = (n_helpers + 1) * BATCHES;
	p->batches = aligned_alloc(APART, p->n_batches * sizeof(*p->batches));
	if (!p->batches)
		return ubp_fail(err, ENOMEM, "out of memory");
	memset(p->batches, 0, p->n_batches * sizeof(*p->batches));
	while (p->n_helpers < n_helpers && start_helper(p))
		;
	rc = print_batches(p, fn, ctx, err);
	end_helpers(p);
	return rc;
}

/* --- one thread ------------------------------------------------------------------------------ */

struct alone {
	struct ubp_sink *sink;
	struct sink_buf text;
};

static int add_event(void *ctx, const struct ubp_event *event)
{
	struct alone *a = ctx;

	session_sink_add(a->sink, &a->text, event);
	return a->text.len >= BATCH_BYTES;
}

static int print_alone(struct ubp_recording *recording, struct ubp_sink *sink,
		       ubp_recording_print_fn *fn, void *ctx, struct ubp_err *err)
{
	struct alone a = { .sink = sink };
	bool is_ended = false;
	int n = 1;

	while (n > 0 && !is_ended) {
		a.text.len = 0;
		n = ubp_recording_read(recording, add_event, &a, BATCH_EVENTS, err);
		if (n > 0)
			is_ended = fn(ctx, a.text.data ? a.text.data : "", a.text.len,
				      (uint64_t)n) != 0;
	}
	sink_buf_free(&a.text);
	return n < 0 ? n : 0;
}

int recording_print(struct ubp_recording *recording, struct ubp_sink *sink, unsigned n_helpers,
		    ubp_recording_print_fn *fn, void *ctx, struct ubp_err *err)
{
	struct print p = {
		.recording = recording,
		.sink = sink,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.filled = PTHREAD_COND_INITIALIZER,
		.done = PTHREAD_COND_INITIALIZER,
	};
	int rc;

	ubp_err_reset(err);
	if (!n_helpers || !session_sink_is_apart(sink))
		return print_alone(recording, sink, fn, ctx, err);
	rc = print_with(&p, n_helpers, fn, ctx, err);
	free_print(&p);
	return rc;
}

/* Processors that this thread may run on, but one. */
static unsigned count_helpers(void)
{
	cpu_set_t cpus;
	int n;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 0;
	n = CPU_COUNT(&cpus) - 1;
	return n < RECORDING_PRINT_HELPERS_MAX ? (unsigned)n : RECORDING_PRINT_HELPERS_MAX;
}

int ubp_recording_print(struct ubp_recording *recording, struct ubp_sink *sink,
			ubp_recording_print_fn *fn, void *ctx, struct ubp_err *err)
{
	return recording_print(recording, sink, count_helpers(), fn, ctx, err);
}
