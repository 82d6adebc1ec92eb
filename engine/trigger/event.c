/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/event.h"

#include <stdlib.h>
#include <string.h>

#include "engine/spec/filter.h"
#include "engine/spec/probe.h"

struct trigger_event *event_new(const char *group, const char *name,
				const struct spec_probe *probe, unsigned type, bool probed)
{
	struct trigger_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->group = pool_text(&event->pool, group, strlen(group));
	event->name = pool_text(&event->pool, name, strlen(name));
	event->type = type;
	event->probe = spec_probe_copy(probe);
	event->fields = field_all(&event->pool, probe, type, probed, &event->n_fields);
	if (event->group && event->name && event->probe && event->fields)
		return event;
	event_free(event);
	return NULL;
}

void event_free(struct trigger_event *event)
{
	if (!event)
		return;
	filter_free(event->filter);
	spec_probe_free(event->probe);
	pool_free(&event->pool);
	free(event);
}

const struct trigger_field *event_field(const struct trigger_event *event, const char *name)
{
	for (size_t i = 0; i < event->n_fields; i++)
		if (strcmp(event->fields[i].name, name) == 0)
			return &event->fields[i];
	return NULL;
}

static void switch_on(struct trigger_event *event, bool soft)
{
	if (soft && event->n_soft++ > 0)
		return;
	if (soft)
		event->is_soft = true;
	else
		event->is_muted = false;
	if (!event->is_on && soft)
		event->is_muted = true;
	event->is_on = true;
}

static void switch_off(struct trigger_event *event, bool soft)
{
	bool goes = !event->is_soft;

	if (soft) {
		if (--event->n_soft > 0)
			return;
		event->is_soft = false;
		goes = event->is_muted;
	}
	if (goes)
		event->is_on = false;
	event->is_muted = event->is_soft;
}

void event_switch(struct trigger_event *event, bool on, bool soft)
{
	if (on)
		switch_on(event, soft);
	else
		switch_off(event, soft);
}

const char *event_state(const struct trigger_event *event)
{
	bool recorded = event->is_on && !event->is_muted;

	if (event->is_soft || event->is_muted)
		return recorded ? "1*" : "0*";
	return recorded ? "1" : "0";
}

void event_hold(struct trigger_event *event)
{
	if (event->n_triggers++ == 0)
		event_switch(event, true, true);
}

void event_release(struct trigger_event *event)
{
	if (--event->n_triggers == 0)
		event_switch(event, false, true);
}
