/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A set of events and its end; events of definitions come and go. */

#include "engine/trigger/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/trigger/event.h"
#include "engine/trigger/events.h"
#include "engine/trigger/hist.h"
#include "engine/trigger/text.h"
#include "engine/trigger/trigger.h"

/* Numbers of events: those below are the kernel's own. */
#define FIRST_TYPE 1000

static const char *const clocks[] = { "local", "global",   "counter", "uptime", "perf",
				      "mono",  "mono_raw", "boot",    "tai",    "x86-tsc" };

int trigger_set_clock(struct trigger_set *set, const char *name)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(clocks[i], name) == 0) {
			set->clock = clocks[i];
			return 0;
		}
	return -EINVAL;
}

struct trigger_set *trigger_set_new(const struct trigger_out *out, void *ctx)
{
	struct trigger_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->out = out;
	set->out_ctx = ctx;
	set->tracing_on = true;
	set->last_type = FIRST_TYPE;
	set->clock = clocks[0];
	set->ring = set;
	return set;
}

static void leave_ring(struct trigger_set *set)
{
	struct trigger_set *before = set;

	while (before->ring != set)
		before = before->ring;
	before->ring = set->ring;
}

void trigger_set_free(struct trigger_set *set)
{
	if (!set)
		return;
	leave_ring(set);
	/* Histograms refer to each other: all go before the events do. */
	for (size_t i = 0; i < set->n_events; i++)
		hist_drop_all(set, set->events[i]);
	for (size_t i = 0; i < set->n_events; i++) {
		struct trigger *trigger;

		while ((trigger = set->events[i]->triggers)) {
			set->events[i]->triggers = trigger->next;
			trigger_free(trigger);
		}
		event_free(set->events[i]);
	}
	trigger_log_free(&set->log);
	map_free(&set->by_name);
	free(set->events);
	free(set->var_hists);
	free(set->named);
	free(set);
}

static uint64_t name_key(const char *group, const char *name)
{
	return hash_text(hash_text(0, group), name);
}

static bool is_called(const struct trigger_event *event, const char *group, const char *name)
{
	return strcmp(event->group, group) == 0 && strcmp(event->name, name) == 0;
}

struct trigger_event *trigger_set_find(const struct trigger_set *set, const char *group,
				       const char *name)
{
	struct trigger_event *event = map_get(&set->by_name, name_key(group, name));

	if (event && is_called(event, group, name))
		return event;
	for (size_t i = 0; set->has_more_by_name && i < set->n_events; i++)
		if (is_called(set->events[i], group, name))
			return set->events[i];
	return NULL;
}

static int add_name(struct trigger_set *set, struct trigger_event *event)
{
	void **place = map_place(&set->by_name, name_key(event->group, event->name));

	if (!place)
		return -ENOMEM;
	if (*place)
		set->has_more_by_name = true;
	else
		*place = event;
	return 0;
}

int events_add(struct trigger_set *set, const char *group, const char *name,
	       const struct spec_probe *probe, bool probed, struct trigger_event **ret)
{
	struct trigger_event *event;

	if (trigger_set_find(set, group, name))
		return -EEXIST;
	if (VEC_DOUBLE(set->events, set->n_events) < 0)
		return -ENOMEM;
	event = event_new(group, name, probe, ++set->last_type, probed);
	if (!event || add_name(set, event) < 0) {
		event_free(event);
		return -ENOMEM;
	}
	set->events[set->n_events++] = event;
	*ret = event;
	return 0;
}

int trigger_set_add(struct trigger_set *set, const char *group, const char *name,
		    const struct spec_probe *probe, struct trigger_event **ret)
{
	return events_add(set, group, name, probe, true, ret);
}

void events_remove(struct trigger_set *set, struct trigger_event *event)
{
	uint64_t key = name_key(event->group, event->name);
	size_t i = 0;

	if (map_get(&set->by_name, key) == event)
		(void)map_remove(&set->by_name, key);
	while (set->events[i] != event)
		i++;
	memmove(set->events + i, set->events + i + 1,
		(--set->n_events - i) * sizeof(*set->events));
	event_free(event);
}

int trigger_set_remove(struct trigger_set *set, const char *group, const char *name)
{
	struct trigger_event *event = trigger_set_find(set, group, name);

	if (!event)
		return -ENOENT;
	if (event->is_on || event->triggers)
		return -EBUSY;
	events_remove(set, event);
	return 0;
}

int trigger_write_enable(struct trigger_event *event, const char *text, size_t len)
{
	char *copy = strndup(text, len);
	uint64_t value;
	int rc;

	if (!copy)
		return -ENOMEM;
	rc = text_number(text_strip(copy), &value);
	free(copy);
	if (rc < 0)
		return rc;
	if (value > 1)
		return -EINVAL;
	event_switch(event, value, false);
	return 0;
}
