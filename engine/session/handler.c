/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/handler.h"
#include "engine/session/apart.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/hit/handle.h"
#include "engine/session/calls.h"
#include "engine/session/hit_reach.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/serve_hits.h"

static enum ubp_verdict run(struct ubp_session *s, const struct session_number *first,
			    struct ubp_hit *hit)
{
	struct served_hits *hits = __atomic_load_n(&s->tracing.hits, __ATOMIC_ACQUIRE);
	void *cookie = __atomic_load_n(&first->cookie, __ATOMIC_RELAXED);

	return hits ? serve_hit(hits, (uintptr_t)first->handler, cookie, hit)
		    : first->handler(cookie, hit);
}

bool handler_run(void *session, struct ubp_hit *hit)
{
	struct ubp_session *s = session;
	unsigned number = hit->probe->number;
	const struct session_number *entry = numbers_at(s, number);
	const struct session_number *first = entry ? numbers_at(s, entry->id) : NULL;
	enum ubp_verdict verdict = UBP_HIT_RECORD;

	if (!first || !first->handler)
		return true;
	if (calls_handler_begin(s, number)) {
		hit->id = entry->id;
		hit->reach = &hit_reach_here;
		verdict = run(s, first, hit);
		calls_handler_end(s);
	}
	return verdict != UBP_HIT_DROP;
}

int ubp_probe_set_handler(struct ubp_session *s, size_t number, ubp_handler_fn *handler,
			  bool may_change, struct ubp_err *err)
{
	const struct uprobe_handler facts = handler_facts(handler, may_change);
	struct session_number *entry;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_set_handler(s, number, handler, may_change, err);
	if (s->tracing.was_there)
		return ubp_fail(err, EBUSY,
				"the session has started: a handler comes with the probe that "
				"is added");
	if (live_begin(s) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	entry = numbers_known(s, number);
	if (!entry)
		return ubp_fail(err, ENOENT, "there is no probe with number %zu", number);
	if (definitions_give_handler(s->defined, number, &facts) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	entry->handler = handler;
	return 0;
}

/* Of what had number @number, and of those whose place it has. Under the lock. */
static void add_chain(const struct ubp_session *s, const struct session_number *first,
		      struct uprobe_handled *sum)
{
	const struct session_number *e;
	unsigned number = first->latest;

	if (first->gone)
		numbers_add_handled(sum, &first->gone->handled);
	while ((e = numbers_at(s, number)) && e->uprobe) {
		numbers_add_handled(sum, &e->uprobe->stats.handled);
		if (e->older == number)
			break;
		number = e->older;
	}
}

static int handler_stats(struct ubp_session *s, size_t number, struct ubp_handler_stats *stats)
{
	const struct session_number *first;
	struct uprobe_handled sum = { 0 };
	bool is_there;

	pthread_mutex_lock(&s->numbers.lock);
	first = numbers_known(s, number);
	is_there = first || number < definitions_n(s->defined);
	if (first)
		add_chain(s, first, &sum);
	pthread_mutex_unlock(&s->numbers.lock);
	if (!is_there)
		return -ENOENT;
	stats->handled = sum.n;
	stats->dropped = sum.dropped;
	stats->changed = sum.changed;
	stats->skipped = sum.skipped;
	stats->refused = sum.refused;
	stats->total_ns = sum.total_ns;
	stats->longest_ns = sum.longest_ns;
	return 0;
}

int ubp_probe_handler_stats(const struct ubp_session *session, size_t number,
			    struct ubp_handler_stats *ret_stats)
{
	struct ubp_session *s = (struct ubp_session *)session;
	struct ubp_handler_stats stats = { .size = ret_stats->size };
	int rc;

	/* What the first version of the structure ends with. */
	if (ret_stats->size <
	    offsetof(struct ubp_handler_stats, longest_ns) + sizeof(stats.longest_ns))
		return -EINVAL;
	rc = s->tracing.apart ? apart_handler_stats(s, number, &stats)
			      : handler_stats(s, number, &stats);
	if (rc < 0)
		return rc;
	stats.size = ret_stats->size;
	/* A later version's has more. */
	memset(ret_stats, 0, ret_stats->size);
	memcpy(ret_stats, &stats, sizeof(stats));
	return 0;
}
