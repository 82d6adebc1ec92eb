/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What was counted, as callers ask for it (engine/ubp_stats.h). */

#include "engine/ubp_stats.h"

#include "engine/define/definitions.h"
#include "engine/event/ring_sample.h"
#include "engine/session/apart.h"
#include "engine/session/inside.h"
#include "engine/session/numbers.h"
#include "engine/space/uprobe.h"
#include "engine/stack/unwind.h"
#include "engine/trace/tracer.h"

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
	if (__atomic_load_n(&u->by_copy, __ATOMIC_RELAXED))
		return "who comes by the jump at its entry returns in a copy of it";
	if (!why && __atomic_load_n(&u->at_rets, __ATOMIC_RELAXED))
		return "returns are caught at ret instructions";
	if (!why && __atomic_load_n(&u->taken_out, __ATOMIC_RELAXED))
		return NULL;
	return why ? why : "there were too few hits, or no time, to make it one";
}

/* What was counted while it had this number. */
static void add_counts(const struct uprobe_stats *u, struct ubp_probe_stats *stats)
{
	stats->hits += load(&u->hits) + load(&u->ring_hits);
	stats->stopped += load(&u->hits);
	stats->passed += load(&u->passed) + load(&u->ring_passed);
	stats->lost += load(&u->lost);
	stats->too_big += load(&u->too_big);
	stats->unanswered += load(&u->unanswered);
	stats->missed_skipped += load(&u->missed[MISSED_SKIPPED]);
	stats->missed_thread += load(&u->missed[MISSED_THREAD]);
	stats->missed_exited += load(&u->missed[MISSED_EXITED]);
	stats->missed_no_room += load(&u->missed[MISSED_NO_ROOM]);
	stats->missed_tail_jump += load(&u->missed[MISSED_TAIL_JUMP]) + load(&u->ring_missed);
	stats->missed_kernel += load(&u->missed[MISSED_KERNEL]);
	for (unsigned why = 0; why < STOP_N; why++)
		stats->stops[why] += load(&u->stops[why]);
	for (unsigned why = 0; why < MISSED_N; why++)
		stats->missed += load(&u->missed[why]);
	stats->missed += load(&u->ring_missed);
}

/* Where it stands, and how. */
static void tell_places(const struct ubp_session *s, const struct uprobe_stats *u,
			struct ubp_probe_stats *ret_stats)
{
	*ret_stats = (struct ubp_probe_stats){
		.why_unanswered = __atomic_load_n(&u->why_silent, __ATOMIC_RELAXED),
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
}

/* Of @entry, and of those whose place it has. Under the lock. */
static void add_chain(const struct ubp_session *s, unsigned number,
		      const struct session_number *first, struct ubp_probe_stats *stats)
{
	for (const struct session_number *e = numbers_at(s, number); e;
	     e = numbers_at(s, number)) {
		add_counts(&e->uprobe->stats, stats);
		rings_add_stats(s, number, stats);
		if (e->older == number)
			break;
		number = e->older;
	}
	if (first->gone)
		add_counts(first->gone, stats);
}

void ubp_probe_stats(const struct ubp_session *session, size_t i,
		     struct ubp_probe_stats *ret_stats)
{
	struct ubp_session *s = (struct ubp_session *)session;
	const struct session_number *first;

	if (s->tracing.apart) {
		apart_probe_stats(s, i, ret_stats);
		return;
	}
	*ret_stats = (struct ubp_probe_stats){ 0 };
	pthread_mutex_lock(&s->numbers.lock);
	first = numbers_known(s, i);
	if (first && numbers_at(s, first->latest)->uprobe) {
		tell_places(s, &numbers_at(s, first->latest)->uprobe->stats, ret_stats);
		add_chain(s, first->latest, first, ret_stats);
	}
	pthread_mutex_unlock(&s->numbers.lock);
}

/* Of what had number @number. */
static uint64_t left_out_of(const struct ubp_session *s, const struct uprobe *probe,
			    unsigned number)
{
	uint64_t n = load(&probe->stats.left_out) + load(&probe->stats.ring_left_out);

	if (probe->at_hit.sample && s->out.rings)
		n += ring_set_left_out(s->out.rings, number);
	return n;
}

uint64_t ubp_probe_left_out(const struct ubp_session *session, size_t i)
{
	struct ubp_session *s = (struct ubp_session *)session;
	const struct session_number *first, *e;
	unsigned number;
	uint64_t n = 0;

	if (s->tracing.apart)
		return apart_number(s, APART_LEFT_OUT, i);
	pthread_mutex_lock(&s->numbers.lock);
	first = numbers_known(s, i);
	number = first ? first->latest : 0;
	if (first && first->gone)
		n = load(&first->gone->left_out) + load(&first->gone->ring_left_out);
	while (first && (e = numbers_at(s, number)) && e->uprobe) {
		n += left_out_of(s, e->uprobe, number);
		if (e->older == number)
			break;
		number = e->older;
	}
	pthread_mutex_unlock(&s->numbers.lock);
	return n;
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

	if (s->tracing.apart) {
		apart_stats(s, ret_stats);
		return;
	}
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
		.why_skipped = s->count.n_skipped ? s->count.why_skipped : NULL,
		.finder = s->newcomer.finder_kind ? s->newcomer.finder_kind : "none",
	};
	pthread_mutex_unlock(&s->lock);
}
