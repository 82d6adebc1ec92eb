/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What happens at a hit: the order of triggers and of records. */

#include <stdlib.h>
#include <string.h>

#include "engine/event/record.h"
#include "engine/fetch/match.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"
#include "engine/trigger/trigger.h"

/* Hits that make events that make events. */
#define DEPTH_MAX 5

/* Take one from the count. False: nothing is left. */
static bool take(struct trigger *trigger)
{
	if (trigger->count == 0)
		return false;
	if (trigger->count != TRIGGER_UNLIMITED)
		trigger->count--;
	return true;
}

static void pause_hists(struct trigger_event *target, bool paused)
{
	for (struct trigger *t = target->triggers; t; t = t->next)
		if (t->kind == TRIGGER_HIST)
			t->is_paused = paused;
}

void trigger_snapshot(struct trigger_set *set)
{
	set->n_snapshots++;
	set->out->snapshot(set->out_ctx);
}

void trigger_fire(struct trigger_set *set, struct trigger *trigger,
		  const struct event_record *record, const struct event_record *hit)
{
	switch (trigger->kind) {
	case TRIGGER_TRACING:
		if (set->tracing_on != trigger->switches_on && take(trigger))
			set->tracing_on = trigger->switches_on;
		break;
	case TRIGGER_SNAPSHOT:
		if (take(trigger))
			trigger_snapshot(set);
		break;
	case TRIGGER_STACK:
		if (take(trigger) && set->tracing_on)
			set->out->stack(set->out_ctx, trigger->event, hit);
		break;
	case TRIGGER_EVENT:
		if (trigger->target->is_muted == trigger->switches_on && take(trigger))
			trigger->target->is_muted = !trigger->switches_on;
		break;
	case TRIGGER_PAUSE:
		if (take(trigger))
			pause_hists(trigger->target, !trigger->switches_on);
		break;
	case TRIGGER_HIST:
		if (record)
			hist_hit(set, trigger->hist, record);
		break;
	}
}

/* All of them, or those that come before the record. Returns a bit for each kind that waits for it. */
static unsigned fire_early(struct trigger_set *set, struct trigger_event *event,
			   const struct event_record *record, const struct event_record *hit)
{
	struct trigger *next;
	unsigned late = 0;

	for (struct trigger *t = event->triggers; t; t = next) {
		next = t->next;
		if (t->is_paused || (record && !trigger_passes(t, record)))
			continue;
		if (record && trigger_is_late(t))
			late |= 1U << t->kind;
		else
			trigger_fire(set, t, record, hit);
	}
	return late;
}

static void fire_late(struct trigger_set *set, struct trigger_event *event, unsigned late,
		      const struct event_record *hit)
{
	for (struct trigger *t = event->triggers; t; t = t->next)
		if (late >> t->kind & 1 && !t->is_paused)
			trigger_fire(set, t, NULL, hit);
}

static bool is_kept(const struct trigger_event *event, const struct event_record *record)
{
	return !event->is_muted && filter_match(event->filter, record);
}

static void hit_event(struct trigger_set *set, struct trigger_event *event,
		      const struct event_record *record)
{
	const struct trigger_out *out = set->out;
	size_t n_snapshots = set->n_snapshots;
	void *place = NULL;
	unsigned late = 0;
	bool kept, waits, was_muted = event->is_muted;

	if (!event->needs_record) {
		fire_early(set, event, NULL, record);
		/* What a trigger of its own changed holds from the next hit on. */
		if (was_muted)
			return;
	}
	/* A record that may well be thrown away has no place of its own yet. */
	waits = event->is_muted || event->filter;
	if (set->tracing_on && !waits)
		place = out->reserve(set->out_ctx, event, record, false);
	if (event->needs_record)
		late = fire_early(set, event, record, record);
	kept = is_kept(event, record);
	if (waits && kept && set->tracing_on)
		place = out->reserve(set->out_ctx, event, record,
				     (set->n_snapshots - n_snapshots) % 2);
	if (place)
		out->settle(set->out_ctx, place, kept);
	fire_late(set, event, late, record);
}

void trigger_hit(struct trigger_set *set, struct trigger_event *event,
		 const struct event_record *record)
{
	if (!event->is_on || set->depth >= DEPTH_MAX)
		return;
	set->depth++;
	hit_event(set, event, record);
	set->depth--;
}
