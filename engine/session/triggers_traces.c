/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Traces: each has triggers of its own, and probes. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/session/apart_counts.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/triggers_priv.h"
#include "engine/spec/probe.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/ubp_trigger.h"

/* --- probes --------------------------------------------------------------------- */

/* NULL: memory is short. */
static struct trigger_place *room_for(struct session_triggers *own, size_t number)
{
	while (own->n_places <= number) {
		if (VEC_DOUBLE(own->places, own->n_places) < 0)
			return NULL;
		own->places[own->n_places++] = (struct trigger_place){ 0 };
	}
	return &own->places[number];
}

struct session_triggers *triggers_owner(const struct session_triggers *own,
					const struct session_number *entry,
					const char **ret_group)
{
	const struct trigger_place *place =
		entry->id < own->n_places ? &own->places[entry->id] : NULL;

	*ret_group = place && place->group ? place->group : entry->spec->group;
	return place && place->trace ? place->trace : own->session->out.triggers;
}

const struct trigger_place *triggers_place(struct session_triggers *own, unsigned number)
{
	struct trigger_place *place = room_for(own, number);
	const struct session_number *entry = numbers_at(own->session, number);
	const char *group;

	if (place && !place->event && entry && entry->spec) {
		place->of = triggers_owner(own, entry, &group);
		place->event = trigger_set_find(place->of->set, group, entry->spec->event);
	}
	return place && place->event ? place : NULL;
}

void triggers_forget(struct session_triggers *triggers, const struct trigger_event *event)
{
	struct session_triggers *own = triggers->session->out.triggers;

	for (size_t i = 0; i < own->n_places; i++)
		if (own->places[i].event == event)
			own->places[i].event = NULL;
}

void triggers_free_places(struct session_triggers *own)
{
	for (size_t i = 0; i < own->n_places; i++)
		free(own->places[i].group);
	free(own->places);
}

int ubp_trigger_probe(struct ubp_session *s, size_t number, const char *group,
		      struct ubp_err *err)
{
	struct session_triggers *chosen, *own;
	struct trigger_place *place;
	char *copy;
	bool is_known;
	int rc = triggers_may_change(s, group, err);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_PROBE, NULL, group, number, err);
	chosen = triggers_of(s);
	own = s->out.triggers;
	if (!chosen)
		return ubp_fail(err, ENOMEM, "out of memory");
	pthread_mutex_lock(&s->numbers.lock);
	is_known = numbers_latest(s, number);
	pthread_mutex_unlock(&s->numbers.lock);
	if (!is_known)
		return ubp_fail(err, ENOENT, "there is no probe with number %zu", number);
	copy = strdup(group);
	place = copy ? room_for(own, number) : NULL;
	if (!place) {
		free(copy);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	free(place->group);
	place->group = copy;
	place->trace = chosen;
	/* Of each number that has had its place. */
	for (size_t i = 0; i < own->n_places; i++) {
		const struct session_number *entry = numbers_at(s, (unsigned)i);

		if (entry && entry->id == number)
			own->places[i].event = NULL;
	}
	return 0;
}

/* --- traces --------------------------------------------------------------------- */

const struct session_triggers *triggers_chosen(const struct ubp_session *s)
{
	return s->out.triggers ? s->out.triggers->chosen : NULL;
}

static struct session_triggers *find(const struct ubp_session *s, const char *name)
{
	struct session_triggers *at = s->out.triggers;

	while (at && strcmp(at->trace, name) != 0)
		at = at->next;
	return at;
}

int ubp_trigger_trace(struct ubp_session *s, const char *name, struct ubp_err *err)
{
	struct session_triggers *own, *found;
	int rc = triggers_may_change(s, name, err);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trace_choose(s, name, err);
	if (!triggers_of(s))
		return ubp_fail(err, ENOMEM, "out of memory");
	own = s->out.triggers;
	found = find(s, name);
	if (!found) {
		found = triggers_new(s, name);
		if (!found || trigger_set_join(found->set, own->set) < 0) {
			if (found)
				triggers_free_one(found);
			return ubp_fail(err, ENOMEM, "out of memory");
		}
		found->next = own->next;
		own->next = found;
	}
	own->chosen = found;
	return 0;
}

/* Its probes are nobody's: those of the session's own triggers know no events of their names. */
static void drop_probes(struct session_triggers *own, const struct session_triggers *trace)
{
	for (size_t i = 0; i < own->n_places; i++) {
		struct trigger_place *place = &own->places[i];

		if (place->of == trace) {
			place->of = NULL;
			place->event = NULL;
		}
		if (place->trace != trace)
			continue;
		free(place->group);
		place->trace = NULL;
		place->group = NULL;
	}
}

void ubp_trigger_trace_end(struct ubp_session *s, const char *name)
{
	struct session_triggers *own = s->out.triggers, *trace;
	struct session_triggers **at = own ? &own->next : NULL;

	if (triggers_may_change(s, name, NULL) < 0)
		return;
	trace = *name ? find(s, name) : NULL;
	if (s->tracing.apart)
		apart_trace_end(s, name);
	if (!trace)
		return;
	while (*at != trace)
		at = &(*at)->next;
	*at = trace->next;
	if (own->chosen == trace)
		own->chosen = own;
	drop_probes(own, trace);
	triggers_free_one(trace);
}

bool ubp_trigger_event_is_stack(const struct ubp_event *event)
{
	return event->is_stack;
}

const char *ubp_trigger_event_trace(const struct ubp_event *event)
{
	return event->trace ? event->trace : "";
}
