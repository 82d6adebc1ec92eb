/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records to the caller: dispatch, and what was counted. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/session/apart.h"
#include "engine/session/calls.h"
#include "engine/session/counting.h"
#include "engine/session/event.h"
#include "engine/session/heap.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/once.h"
#include "engine/session/put_off.h"
#include "engine/session/record.h"
#include "engine/session/sample.h"
#include "engine/session/take.h"
#include "engine/session/tell.h"
#include "engine/session/triggers.h"
#include "engine/stack/unwind.h"
#include "engine/trace/tracer.h"
#include "engine/ubp_stats.h"

#define DOZE_NS     10000000
#define REST_MAX_NS 100000000
#define SOON_NS     2000000

#define REST_LEAST_NS 200000

/* What rings have that is younger waits: their readings of time are not exact. */
#define MOMENT_NS 1000000

/* Who wants events sooner has what was too young looked at again after REST_LEAST_NS, not SOON_NS. */
#define AT_ONCE_NS (SOON_NS + MOMENT_NS)

/* A ring that is fuller than this is looked at again without a rest. */
#define FULL_PERCENT 25

int ubp_fd(const struct ubp_session *s)
{
	return s->out.poll_fd;
}

static void deliver_warnings(struct ubp_session *s)
{
	char spare[WARNING_MAX];
	struct warning *list;

	pthread_mutex_lock(&s->lock);
	memcpy(spare, s->warning.spare, sizeof(spare));
	s->warning.spare[0] = '\0';
	list = s->warning.first;
	s->warning.first = NULL;
	s->warning.last = &s->warning.first;
	pthread_mutex_unlock(&s->lock);
	while (list) {
		struct warning *next = list->next;

		if (s->opt.warn)
			s->opt.warn(s->opt.warn_ctx, list->text);
		free(list);
		list = next;
	}
	if (spare[0] && s->opt.warn)
		s->opt.warn(s->opt.warn_ctx, spare);
}

struct ubp_event session_event(struct ubp_session *s, const struct event_record *record)
{
	struct event_texts *texts = &s->out.texts;
	const struct session_number *entry =
		record->kind == EVENT_HIT ? numbers_at(s, record->probe) : NULL;
	const struct session_number *first = entry ? numbers_at(s, entry->id) : NULL;

	texts->escape = !s->opt.strict;
	/* There are names for stacks only once the session traces. */
	texts->resolver = stacks_resolver(s);
	return (struct ubp_event){
		.texts = texts,
		.record = record,
		.spec = entry ? entry->spec : NULL,
		.made_by = entry ? entry->made_by : NULL,
		.probe = entry ? (int)entry->id : -1,
		.cookie = first ? __atomic_load_n(&first->cookie, __ATOMIC_RELAXED) : NULL,
		.weight = session_sample_weight(s, record),
	};
}

static int hand_out(struct rings_batch *batch, const struct event_record *record)
{
	struct ubp_session *s = batch->session;
	struct ubp_event event;

	if (record->kind == EVENT_HIT && s->out.triggers)
		return triggers_hit(s->out.triggers, record, batch->fn, batch->ctx);
	event = session_event(s, record);
	return batch->fn(batch->ctx, &event);
}

static void deliver(struct rings_batch *batch, const struct event_record *record)
{
	if (record->kind != EVENT_HIT) {
		batch->is_ended |= hand_out(batch, record) != 0;
	} else if (calls_event_begin(batch->session, record)) {
		batch->is_ended |= hand_out(batch, record) != 0;
		calls_event_end(batch->session);
	}
}

/* Losses that no record followed: nobody puts them into the stream any more. */
static int deliver_last_losses(struct ubp_session *s, struct rings_batch *batch)
{
	struct event_record record = { .size = sizeof(record), .kind = EVENT_LOST };

	record.n_lost = s->tracing.is_there || batch->is_ended
				? 0
				: event_queue_take_untold(s->out.queue);
	if (!record.n_lost)
		return 0;
	batch->deliver(batch, &record);
	return 1;
}

void ubp_set_latency(struct ubp_session *s, uint64_t max_ns)
{
	if (s->tracing.apart) {
		apart_set_latency(s, max_ns);
		return;
	}
	/* 0 is what a session begins with: no limit but REST_MAX_NS. */
	__atomic_store_n(&s->out.latency_ns, max_ns ? max_ns : 1, __ATOMIC_RELAXED);
	/* The timer may be set for later: the next dispatch sets it anew. */
	session_news(s);
}

/* No rest is longer. */
static long most_rest(const struct ubp_session *s)
{
	uint64_t ns = __atomic_load_n(&s->out.latency_ns, __ATOMIC_RELAXED);

	if (!ns || ns > REST_MAX_NS)
		return REST_MAX_NS;
	return ns < AT_ONCE_NS ? REST_LEAST_NS : (long)ns;
}

/* Look again after this long, or what ubp_set_latency() says, unless woken before. */
static bool set_timer(struct ubp_session *s, long ns)
{
	long most = most_rest(s);
	struct itimerspec moment = { .it_value = { .tv_nsec = ns < most ? ns : most } };

	return timerfd_settime(s->out.timer_fd, 0, &moment, NULL) == 0;
}

/* Nobody tells of what comes into rings: then how long until the next look? 0: for ever. */
static long rest_of_rings(struct ubp_session *s, bool was_busy, bool is_left)
{
	if (!s->out.rings || !ring_set_is_used(s->out.rings) || !s->tracing.is_there)
		return 0;
	if (is_left)
		return SOON_NS;
	if (was_busy || s->out.rest_ns == 0)
		s->out.rest_ns = DOZE_NS / 2;
	s->out.rest_ns = s->out.rest_ns < REST_MAX_NS / 2 ? 2 * s->out.rest_ns : REST_MAX_NS;
	return s->out.rest_ns;
}

/*
 * Where events just came, more will: look again after a moment, so that nobody
 * has to wake us for each. When that finds nothing, sleep until woken.
 */
static void rest(struct ubp_session *s, bool was_busy)
{
	/* What was too young is ripe soon. */
	bool is_left = event_queue_peek(s->out.queue) ||
		       (s->out.rings && ring_set_has_more(s->out.rings));
	long ns = rest_of_rings(s, was_busy, is_left);

	was_busy |= live_is_waiting(s);
	if ((was_busy || (ns && is_left)) && set_timer(s, ns ? ns : DOZE_NS)) {
		event_queue_doze(s->out.queue);
		return;
	}
	if (ns)
		(void)set_timer(s, ns);
	if (!event_queue_sleep(s->out.queue))
		session_news(s);
}

/* May rings still bring older ones? In the end they don't. */
static bool is_too_young(const struct ubp_session *s, const struct event_record *record)
{
	return s->out.rings && s->tracing.is_there &&
	       record->time > ring_set_known_until(s->out.rings);
}

/* Until when are all records of the tracing thread in the queue? */
static uint64_t ripe_until(const struct ubp_session *s)
{
	uint64_t now = event_clock_now(s->clock), since = event_queue_since(s->out.queue);

	if (!s->tracing.is_there)
		return UINT64_MAX;
	return since && since < now - MOMENT_NS ? since : now - MOMENT_NS;
}

/* Of what is older, all of rings and queue is known, where @ripe is what ripe_until() told. */
static uint64_t known_until(const struct ubp_session *s, uint64_t ripe)
{
	uint64_t rings = s->out.rings && s->tracing.is_there
				 ? ring_set_known_until(s->out.rings)
				 : UINT64_MAX;

	return rings < ripe ? rings : ripe;
}

static void tell_drained(struct ubp_session *s)
{
	if (s->out.rings)
		__atomic_store_n(&s->out.drained_ns, event_clock_now(CLOCK_KIND_MONO),
				 __ATOMIC_RELAXED);
}

/* What waits, merged by time; what is too young for that waits on. */
static int deliver_all(struct ubp_session *s, struct rings_batch *batch)
{
	uint64_t ripe = ripe_until(s);
	uint64_t mark = event_queue_mark(s->out.queue);
	unsigned fill = s->out.rings ? ring_set_drain(s->out.rings) : 0;
	const struct event_record *record;
	int n = 0;

	while ((record = event_queue_peek_until(s->out.queue, mark))) {
		if (!rings_batch_is_full(batch))
			n += rings_deliver(s, record->time, batch);
		if (rings_batch_is_full(batch) || is_too_young(s, record))
			break;
		if (live_tells(s, record)) {
			if (!session_heap_took(s, record) && !counting_took(s, record) &&
			    !once_is_again(s, record))
				batch->deliver(batch, record);
			n++;
		}
		event_queue_next(s->out.queue);
	}
	n += rings_deliver(s, ripe, batch);
	n += rings_deliver_lost(s, batch);
	tell_drained(s);
	if (fill > FULL_PERCENT || rings_batch_is_full(batch))
		session_news(s);
	if (!rings_batch_is_full(batch) && !put_off_has(s))
		live_tidy(s, known_until(s, ripe));
	live_nudge(s);
	return n;
}

/* The next look comes before a ring that went on to fill as fast would be full. */
static void hurry(struct ubp_session *s, unsigned fill, uint64_t span_ns)
{
	uint64_t ns = span_ns * FULL_PERCENT / fill;

	if (ns < REST_LEAST_NS)
		session_news(s);
	else if (ns < DOZE_NS)
		(void)set_timer(s, (long)ns);
}

/* The same to a file, as it is. */
static int record_all(struct ubp_session *s, struct ubp_err *err)
{
	uint64_t looked_ns = s->out.drained_ns;
	uint64_t ripe = ripe_until(s);
	unsigned fill;
	int n = session_record_look(s, ripe, &fill, err);

	if (n < 0)
		return n;
	tell_drained(s);
	if (!event_queue_peek(s->out.queue))
		live_tidy(s, known_until(s, ripe));
	live_nudge(s);
	rest(s, n > 0);
	if (fill && looked_ns)
		hurry(s, fill, s->out.drained_ns - looked_ns);
	return n;
}

/* The same of events that others look at first, or that are handed out: @batch says to whom. */
static int hand_out_all(struct ubp_session *s, struct rings_batch *batch)
{
	int n;

	/* What triggers still had to tell when the last call was ended. */
	if (s->out.triggers)
		batch->is_ended = triggers_go_on(s->out.triggers, batch->fn, batch->ctx);
	n = batch->is_ended ? 0 : put_off_hand_out(s, batch);
	if (!put_off_has(s) && !batch->is_ended)
		n += deliver_all(s, batch);
	else
		session_news(s);
	if (batch->is_ended)
		session_news(s);

	if (!event_queue_peek(s->out.queue))
		n += deliver_last_losses(s, batch);
	rest(s, n > 0);
	return n;
}

static int record_in_order(struct ubp_session *s, struct ubp_err *err)
{
	struct rings_batch batch = {
		.deliver = deliver, .session = s, .fn = session_record_event, .ctx = s
	};
	int rc = session_record_begin(s, err), n;

	if (rc < 0)
		return rc;
	n = hand_out_all(s, &batch);
	rc = session_record_done(s, err);
	return rc < 0 ? rc : n;
}

/* To a file, whoever looks at them first. */
static int record_what_waits(struct ubp_session *s, struct ubp_err *err)
{
	return session_record_in_order(s) ? record_in_order(s, err) : record_all(s, err);
}

int take_aside(struct ubp_session *s)
{
	struct rings_batch batch = { .deliver = put_off_record, .session = s };
	struct ubp_err err;
	int n;

	if (s->out.record)
		return record_what_waits(s, &err);
	if (put_off_is_full(s))
		return -ENOBUFS;
	n = deliver_all(s, &batch);
	if (put_off_has(s))
		session_news(s);
	return n;
}

static int dispatch(struct ubp_session *s, struct rings_batch *batch, struct ubp_err *err)
{
	uint64_t drained;

	if (s->tracing.apart)
		return apart_dispatch(s, batch->fn, batch->ctx, &batch->is_ended, err);
	(void)!read(s->out.timer_fd, &drained, sizeof(drained));
	if (read(s->out.news_fd, &drained, sizeof(drained)) > 0) {
		live_look_at_left(s);
		deliver_warnings(s);
	}
	stacks_tidy(s);
	return s->out.record ? record_what_waits(s, err) : hand_out_all(s, batch);
}

static int begin(struct ubp_session *s, ubp_event_fn *fn, struct ubp_err *err)
{
	int rc = ubp_need((const void *)(uintptr_t)fn, "function for events", err);

	return rc < 0 ? rc : calls_dispatch_begin(s, err);
}

int ubp_dispatch(struct ubp_session *s, ubp_event_fn *fn, void *ctx, struct ubp_err *err)
{
	struct rings_batch batch = { .deliver = deliver, .session = s, .fn = fn, .ctx = ctx };
	int rc;

	ubp_err_reset(err);
	rc = begin(s, fn, err);
	if (rc < 0)
		return rc;
	rc = dispatch(s, &batch, err);
	calls_dispatch_end(s);
	return rc;
}

int64_t ubp_drain(struct ubp_session *s, ubp_event_fn *fn, void *ctx, struct ubp_err *err)
{
	int64_t all = 0;
	int n;

	ubp_err_reset(err);
	n = begin(s, fn, err);
	if (n < 0)
		return n;
	do {
		struct rings_batch batch = {
			.deliver = deliver, .session = s, .fn = fn, .ctx = ctx
		};

		n = dispatch(s, &batch, err);
		all += n;
		if (batch.is_ended)
			break;
	} while (n > 0);
	calls_dispatch_end(s);
	return n < 0 ? n : all;
}
