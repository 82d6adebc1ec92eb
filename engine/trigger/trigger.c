/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/fetch/match.h"
#include "engine/spec/filter.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"

struct trigger *trigger_new(struct trigger_event *event, const char *word,
			    enum trigger_kind kind)
{
	struct trigger *trigger = calloc(1, sizeof(*trigger));

	if (!trigger)
		return NULL;
	trigger->event = event;
	trigger->word = word;
	trigger->kind = kind;
	trigger->count = TRIGGER_UNLIMITED;
	return trigger;
}

void trigger_free(struct trigger *trigger)
{
	if (!trigger)
		return;
	filter_free(trigger->filter);
	free(trigger->filter_text);
	free(trigger->name);
	free(trigger);
}

static int filter_of(struct trigger_set *set, struct trigger_event *event, const char *text,
		     struct filter **ret)
{
	struct ubp_err *err = calloc(1, sizeof(*err));
	char *about = NULL, *where = NULL;
	int rc;

	if (!err)
		return -ENOMEM;
	rc = filter_parse(text, event->probe, ret, err);
	if (rc < 0 && rc != -ENOMEM && err->has_caret) {
		/* What was at work stays so for what is told later. */
		where = set->log.location;
		about = set->log.command;
		set->log.location = set->log.command = NULL;
		trigger_log_about(&set->log, "event filter parse error", err->command);
		trigger_log_at(&set->log, -rc, err->text, err->caret);
		free(set->log.location);
		free(set->log.command);
		set->log.location = where;
		set->log.command = about;
	}
	free(err);
	return rc;
}

int trigger_take_filter(struct trigger_set *set, struct trigger *trigger, char *text)
{
	char *expr;
	int rc;

	if (!text)
		return 0;
	expr = strpbrk(text, " \t");
	if (!expr || expr - text != 2 || strncmp(text, "if", 2) != 0)
		return -EINVAL;
	expr++;
	rc = filter_of(set, trigger->event, expr, &trigger->filter);
	if (rc < 0)
		return rc;
	trigger->filter_text = strdup(expr);
	return trigger->filter_text ? 0 : -ENOMEM;
}

int trigger_write_filter(struct trigger_set *set, struct trigger_event *event, const char *text)
{
	struct filter *filter = NULL;
	int rc = text ? filter_of(set, event, text, &filter) : 0;

	if (rc < 0)
		return rc;
	filter_free(event->filter);
	event->filter = filter;
	return 0;
}

/* Of a string that could not be read the kernel compares what stands in its place: the next string, if there is one. */
static void borrow_strings(const struct trigger_event *event, struct event_record *record)
{
	uint32_t next = 0, word;

	for (size_t i = event->n_fields; i-- > 0;) {
		const struct trigger_field *field = &event->fields[i];

		if (field->form != FIELD_TEXT || field->source != FIELD_IN_DATA)
			continue;
		memcpy(&word, record->data + field->at, sizeof(word));
		if (word >> 16)
			next = word;
		else if (next)
			memcpy(record->data + field->at, &next, sizeof(next));
	}
}

/* Is there a string that could not be read? */
static bool has_unread(const struct trigger_event *event, const struct event_record *record)
{
	for (size_t i = 0; i < event->n_fields; i++) {
		const struct trigger_field *field = &event->fields[i];
		uint32_t word;

		if (field->form != FIELD_TEXT || field->source != FIELD_IN_DATA)
			continue;
		memcpy(&word, record->data + field->at, sizeof(word));
		if (!(word >> 16))
			return true;
	}
	return false;
}

bool trigger_passes(const struct trigger *trigger, const struct event_record *record)
{
	size_t size = sizeof(*record) + record->data_len;
	struct event_record *copy;
	bool passes;

	if (!trigger->filter)
		return true;
	/* It may come from memory that the target writes. */
	if (record->data_len < trigger->event->probe->fixed_size)
		return false;
	if (!has_unread(trigger->event, record))
		return filter_match(trigger->filter, record);
	copy = malloc(size);
	if (!copy)
		return false;
	memcpy(copy, record, size);
	borrow_strings(trigger->event, copy);
	passes = filter_match(trigger->filter, copy);
	free(copy);
	return passes;
}

bool trigger_is_late(const struct trigger *trigger)
{
	return trigger->kind == TRIGGER_STACK ||
	       (trigger->kind == TRIGGER_TRACING && !trigger->switches_on);
}

static void look_at_needs(struct trigger_event *event)
{
	event->needs_record = false;
	for (struct trigger *t = event->triggers; t; t = t->next)
		if (t->filter || t->kind == TRIGGER_HIST || trigger_is_late(t))
			event->needs_record = true;
}

void trigger_link(struct trigger *trigger, bool to_end)
{
	struct trigger **at = &trigger->event->triggers;

	while (to_end && *at)
		at = &(*at)->next;
	trigger->next = *at;
	*at = trigger;
	look_at_needs(trigger->event);
	event_hold(trigger->event);
}

void trigger_unlink(struct trigger *trigger)
{
	struct trigger **at = &trigger->event->triggers;

	while (*at && *at != trigger)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = trigger->next;
	look_at_needs(trigger->event);
	event_release(trigger->event);
}
