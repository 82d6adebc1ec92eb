/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records to the caller: dispatch, and what was counted. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/define/definitions.h"
#include "engine/session/counting.h"
#include "engine/session/event.h"
#include "engine/session/heap.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/once.h"
#include "engine/session/record.h"
#include "engine/session/sample.h"
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

	texts->escape = !s->opt.strict;
	/* There are names for stacks only once the session traces. */
	texts->resolver = stacks_resolver(s);
	return (struct ubp_event){
		.texts = texts,
		.record = record,
		.spec = record->kind == EVENT_HIT ? live_spec(s, record->probe) : NULL,
		.weight = session_sample_weight(s, record),
	};
}

static void deliver(struct rings_batch *batch, const struct event_record *record)
{
	struct ubp_event event;

	if (record->kind == EVENT_HIT && batch->session->out.triggers) {
		batch->is_ended |= triggers_hit(batch->session->out.triggers, record, batch->fn,
						batch->ctx);
		return;
	}
	event = session_event(batch->session, record);
	batch->is_ended |= batch->fn(batch->ctx, &event) != 0;
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
	deliver(batch, &record);
	return 1;
}

/* Look again after this long, unless woken before. */
static bool set_timer(struct ubp_session *s, long ns)
{
	struct itimerspec moment = { .it_value = { .tv_nsec = ns } };

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
				deliver(batch, record);
			n++;
		}
		event_queue_next(s->out.queue);
	}
	n += rings_deliver(s, ripe, batch);
	n += rings_deliver_lost(s, batch);
	tell_drained(s);
	if (fill > FULL_PERCENT || rings_batch_is_full(batch))
		session_news(s);
	if (live_is_waiting(s) && !rings_batch_is_full(batch) &&
	    !event_queue_peek_until(s->out.queue, mark) &&
	    !(s->out.rings && ring_set_has_more(s->out.rings)))
		live_tidy(s);
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
	unsigned fill;
	int n = session_record_look(s, ripe_until(s), &fill, err);

	if (n < 0)
		return n;
	tell_drained(s);
	if (live_is_waiting(s) && !event_queue_peek(s->out.queue))
		live_tidy(s);
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
	n = batch->is_ended ? 0 : deliver_all(s, batch);
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

static int dispatch(struct ubp_session *s, struct rings_batch *batch, struct ubp_err *err)
{
	uint64_t drained;

	(void)!read(s->out.timer_fd, &drained, sizeof(drained));
	if (read(s->out.news_fd, &drained, sizeof(drained)) > 0)
		deliver_warnings(s);
	stacks_tidy(s);
	if (s->out.record)
		return session_record_in_order(s) ? record_in_order(s, err)
						  : record_all(s, err);
	return hand_out_all(s, batch);
}

int ubp_dispatch(struct ubp_session *s, ubp_event_fn *fn, void *ctx, struct ubp_err *err)
{
	struct rings_batch batch = { .deliver = deliver, .session = s, .fn = fn, .ctx = ctx };

	ubp_err_reset(err);
	return dispatch(s, &batch, err);
}

int64_t ubp_drain(struct ubp_session *s, ubp_event_fn *fn, void *ctx, struct ubp_err *err)
{
	int64_t all = 0;
	bool goes_on;

	ubp_err_reset(err);
	do {
		struct rings_batch batch = {
			.deliver = deliver, .session = s, .fn = fn, .ctx = ctx
		};
		int n = dispatch(s, &batch, err);

		if (n < 0)
			return n;
		all += n;
		goes_on = n > 0 && !batch.is_ended;
	} while (goes_on);
	return all;
}

static uint64_t load(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static const char *why_no_jump(const struct ubp_session *s, const struct uprobe_stats *u)
{
	const char *why = __atomic_load_n(&u->no_jump, __ATOMIC_RELAXED);

	if (__atomic_load_n(&u->sites, __ATOMIC_RELAXED) ==
	    __atomic_load_n(&u->jumped, __ATOMIC_RELAXED))
		return NULL;
	if (s->no_jumps)
		return s->no_jumps;
	if (!why && __atomic_load_n(&u->at_rets, __ATOMIC_RELAXED))
		return "returns are caught at ret instructions";
	if (!why && __atomic_load_n(&u->taken_out, __ATOMIC_RELAXED))
		return NULL;
	return why ? why : "there were too few hits, or no time, to make it one";
}

void ubp_probe_stats(const struct ubp_session *s, size_t i, struct ubp_probe_stats *ret_stats)
{
	const struct uprobe_stats *u = &definitions_uprobe(s->defined, i)->stats;

	*ret_stats = (struct ubp_probe_stats){
		.hits = load(&u->hits),
		.stopped = load(&u->hits),
		.passed = load(&u->passed),
		.lost = load(&u->lost),
		.too_big = load(&u->too_big),
		.unanswered = load(&u->unanswered),
		.why_unanswered = __atomic_load_n(&u->why_silent, __ATOMIC_RELAXED),
		.missed_skipped = load(&u->missed[MISSED_SKIPPED]),
		.missed_thread = load(&u->missed[MISSED_THREAD]),
		.missed_exited = load(&u->missed[MISSED_EXITED]),
		.missed_no_room = load(&u->missed[MISSED_NO_ROOM]),
		.missed_tail_jump = load(&u->missed[MISSED_TAIL_JUMP]) + load(&u->ring_missed),
		.missed_kernel = load(&u->missed[MISSED_KERNEL]),
		.sites = __atomic_load_n(&u->sites, __ATOMIC_RELAXED),
		.jumped = __atomic_load_n(&u->jumped, __ATOMIC_RELAXED),
		.boosted = __atomic_load_n(&u->boosted, __ATOMIC_RELAXED),
		.stepped = __atomic_load_n(&u->stepped, __ATOMIC_RELAXED),
		.in_place = __atomic_load_n(&u->in_place, __ATOMIC_RELAXED),
		.behind = __atomic_load_n(&u->behind, __ATOMIC_RELAXED),
		.at_first = __atomic_load_n(&u->at_first, __ATOMIC_RELAXED),
		.beside_kernel = __atomic_load_n(&u->beside_kernel, __ATOMIC_RELAXED),
		.hidden = __atomic_load_n(&u->hidden, __ATOMIC_RELAXED),
		.by_short = __atomic_load_n(&u->by_short, __ATOMIC_RELAXED),
		.by_punned = __atomic_load_n(&u->by_punned, __ATOMIC_RELAXED),
		.no_jump = why_no_jump(s, u),
		.hijacked = __atomic_load_n(&u->hijacked, __ATOMIC_RELAXED),
		.at_rets = __atomic_load_n(&u->at_rets, __ATOMIC_RELAXED),
		.taken_out =
			(enum ubp_taken_out)__atomic_load_n(&u->taken_out, __ATOMIC_RELAXED),
	};
	_Static_assert((int)TAKEN_OUT_RATE == UBP_TAKEN_OUT_RATE &&
			       (int)TAKEN_OUT_OVERHEAD == UBP_TAKEN_OUT_OVERHEAD &&
			       (int)TAKEN_OUT_ONCE == UBP_TAKEN_OUT_ONCE,
		       "both mean the same");
	_Static_assert(STOP_N == UBP_STOPS, "each reason is told");
	for (unsigned why = 0; why < STOP_N; why++)
		ret_stats->stops[why] = load(&u->stops[why]);
	for (unsigned why = 0; why < MISSED_N; why++)
		ret_stats->missed += load(&u->missed[why]);
	ret_stats->missed += load(&u->ring_missed);
	rings_add_stats(s, i, ret_stats);
}

const char *ubp_stop_name(unsigned why)
{
	return why < STOP_N ? stop_why_name(why) : "";
}

void ubp_stats(const struct ubp_session *session, struct ubp_stats *ret_stats)
{
	struct ubp_session *s = (struct ubp_session *)session;
	struct stack_ways ways = { 0 };
	struct finder_counts counts = s->count.finder;

	if (s->stacks.unwinder)
		stack_unwinder_ways(s->stacks.unwinder, &ways);
	if (s->newcomer.finder)
		finder_count(s->newcomer.finder, &counts);
	pthread_mutex_lock(&s->lock);
	*ret_stats = (struct ubp_stats){
		.processes = s->count.n_processes,
		.skipped = s->count.n_skipped,
		.too_late = s->count.n_too_late,
		.held = s->newcomer.n_held,
		.early = counts.n_early,
		.not_known = counts.n_unseen,
		.unguarded = s->count.n_unguarded,
		.stopped_ns = load(&s->tracer.stops.total_ns),
		.longest_stop_ns = load(&s->tracer.stops.longest_ns),
		.unanswered_ns = load(&s->tracer.stand_in.lost_ns),
		.longest_answer_ns = load(&s->tracer.stand_in.longest_ns),
		.requests = load(&s->tracer.stand_in.n_requests),
		.ring_lost = s->out.ring_lost,
		.has_unwound = s->stacks.unwinder != NULL,
		.frames_by_rows = ways.by_rows,
		.frames_by_libunwind = ways.by_libunwind,
		.frames_by_frame_pointer = ways.by_frame_pointer,
		.let_go = __atomic_load_n(&s->letting.n_alone, __ATOMIC_RELAXED),
		.why_traced = __atomic_load_n(&s->letting.why, __ATOMIC_RELAXED),
		.returns_left = s->out.rings ? ring_set_left(s->out.rings) : 0,
		.finder = s->newcomer.finder_kind ? s->newcomer.finder_kind : "none",
	};
	pthread_mutex_unlock(&s->lock);
}
