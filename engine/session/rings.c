/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What detours recorded, to the caller: between the records of the queue, by time. */

#include "arch/host.h"
#include "engine/event/ring_sample.h"
#include "engine/fetch/match.h"
#include "engine/session/counting.h"
#include "engine/session/heap.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/once.h"
#include "engine/session/sample.h"
#include "engine/session/tell.h"

/* Delivered by one call at most, so that the caller can see to other things. */
#define BATCH 65536

static void on_used(void *ctx)
{
	/* Somebody has to look from now on. */
	session_news(ctx);
}

int rings_init(struct ubp_session *s, struct ubp_err *err)
{
	struct ring_options options = {
		.ring_bytes = s->opt.room.ring_bytes,
		.clock = s->clock,
		.only_tid = s->opt.tid,
		.ticks = ubp_host_ticks,
		.used = on_used,
		.sample = s->out.sample ? session_sample_ring : NULL,
		.ctx = s,
	};
	const char *why = NULL;

	if (s->opt.mode != UBP_MODE_AUTO && s->opt.mode != UBP_MODE_JUMP)
		s->no_jumps = "--mode says so";
	else if (stacks_unwinds(s) && !s->out.sample)
		s->no_jumps = "user stacks are unwound at stops";
	else if (!ubp_host_can_jump(&why))
		s->no_jumps = why;
	return s->no_jumps ? 0 : ring_set_new(&options, &s->out.rings, err);
}

bool rings_count(struct uprobe *probe, const struct event_record *record)
{
	/* Its function was left by a jump to another one. */
	if (record->kind == EVENT_HIT && probe->kind == PROBE_RETURN && !record->func) {
		uprobe_count(&probe->stats.ring_missed);
		return false;
	}
	uprobe_count(&probe->stats.ring_hits);
	if (probe->filter && !filter_match(probe->filter, record))
		return false;
	uprobe_count(&probe->stats.ring_passed);
	return true;
}

static void add_count(uint64_t *counter, uint32_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

void rings_count_plain(struct uprobe *probe, uint32_t n)
{
	add_count(&probe->stats.ring_hits, n);
	add_count(&probe->stats.ring_passed, n);
}

int rings_deliver(struct ubp_session *s, uint64_t until, struct rings_batch *batch)
{
	const struct event_record *record;
	int n = 0;

	while (s->out.rings && !rings_batch_is_full(batch) &&
	       (record = ring_set_next(s->out.rings, until))) {
		if (!live_tells(s, record) ||
		    !rings_count(live_probe(s, record->probe), record))
			continue;
		batch->n++;
		n++;
		if (!session_heap_took(s, record) && !counting_took(s, record) &&
		    !once_is_again(s, record))
			batch->deliver(batch, record);
	}
	return n;
}

uint64_t rings_take_lost(struct ubp_session *s)
{
	uint64_t n = s->out.rings ? ring_set_take_lost(s->out.rings) : 0;

	if (n)
		__atomic_store_n(&s->out.ring_lost, s->out.ring_lost + n, __ATOMIC_RELAXED);
	return n;
}

int rings_deliver_lost(struct ubp_session *s, struct rings_batch *batch)
{
	struct event_record record = { .size = sizeof(record), .kind = EVENT_LOST };

	record.n_lost = batch->is_ended ? 0 : rings_take_lost(s);
	if (!record.n_lost)
		return 0;
	batch->deliver(batch, &record);
	return 1;
}

bool rings_batch_is_full(const struct rings_batch *batch)
{
	return batch->n >= BATCH || batch->is_ended;
}

void rings_add_stats(const struct ubp_session *s, size_t i, struct ubp_probe_stats *stats)
{
	if (!s->out.rings)
		return;
	stats->hits += ring_set_dropped(s->out.rings, (unsigned)i) +
		       ring_set_left_out(s->out.rings, (unsigned)i);
	/* Whose they were is not known, unless there is but one. */
	if (numbers_n(s) == 1) {
		stats->hits += s->out.ring_lost;
		stats->passed += s->out.ring_lost;
		stats->lost += s->out.ring_lost;
	}
}
