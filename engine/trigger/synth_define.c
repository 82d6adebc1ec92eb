/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Synthetic events are defined and removed. */

#include "engine/trigger/synth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sink/buf.h"
#include "engine/spec/probe.h"
#include "engine/trigger/event.h"
#include "engine/trigger/events.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth_parse.h"
#include "engine/trigger/text.h"

#define GROUP SYNTH_GROUP

struct trigger_event *synth_find(const struct trigger_set *set, const char *name)
{
	struct trigger_event *event = trigger_set_find(set, GROUP, name);

	return event && event->synth ? event : NULL;
}

/* The event as filters see it. */
static struct spec_probe *describe(const char *name, const struct synth *synth)
{
	struct spec_probe *probe = spec_probe_new(synth->n_fields);
	uint32_t at = 0;

	for (size_t i = 0; probe && i < synth->n_fields; i++) {
		const struct synth_field *field = &synth->fields[i];
		struct spec_arg *arg = &probe->args[i];

		strncpy(arg->name, field->name, SPEC_ARG_NAME_MAX);
		arg->at = at;
		arg->type.format = field->is_signed ? SPEC_SIGNED : SPEC_UNSIGNED;
		arg->type.size = (uint8_t)field->size;
		if (field->is_string || field->is_stack) {
			arg->type.format = field->is_string ? SPEC_STRING : SPEC_UNSIGNED;
			arg->type.size = 4;
			/* A stack is equal to nothing. */
			arg->type.count = field->is_stack ? 3 : 0;
		}
		at += arg->type.size;
	}
	if (!probe)
		return NULL;
	probe->fixed_size = at;
	probe->is_made = true;
	snprintf(probe->group, sizeof(probe->group), "%s", GROUP);
	snprintf(probe->event, sizeof(probe->event), "%s", name);
	probe->path = strdup("");
	probe->command = strdup("");
	if (probe->path && probe->command)
		return probe;
	spec_probe_free(probe);
	return NULL;
}

static int define(struct trigger_set *set, const char *name, struct pool *pool,
		  struct synth *synth)
{
	struct spec_probe *probe = describe(name, synth);
	struct trigger_event *event = NULL;
	int rc = probe ? events_add(set, GROUP, name, probe, false, &event) : -ENOMEM;

	spec_probe_free(probe);
	if (rc < 0)
		return rc;
	event->synth = synth;
	for (size_t i = 0; i < synth->n_fields; i++) {
		struct trigger_field *to = &event->fields[i];
		const struct synth_field *from = &synth->fields[i];

		to->name = from->name;
		to->type = from->kernel_type;
		to->size = from->size;
		to->is_signed = from->is_signed;
		to->form = from->is_stack     ? FIELD_STACK
			   : from->is_dynamic ? FIELD_TEXT
			   : from->is_string  ? FIELD_FIXED_TEXT
					      : FIELD_NUMBER;
	}
	/* Its texts live as long as it does. */
	pool_join(&event->pool, pool);
	return 0;
}

/* @fields is cut in pieces. */
static int add(struct trigger_set *set, const char *name, char *fields)
{
	struct pool pool = { 0 };
	struct synth *synth = pool_get(&pool, sizeof(*synth));
	int rc;

	rc = synth ? synth_parse_fields(set, &pool, synth, fields) : -ENOMEM;
	if (rc == 0)
		rc = define(set, name, &pool, synth);
	pool_free(&pool);
	return rc;
}

static int add_copy(struct trigger_set *set, const char *name, const char *fields)
{
	char *copy = strdup(fields);
	int rc = copy ? add(set, name, copy) : -ENOMEM;

	free(copy);
	return rc;
}

/* Of each set of the ring. @name may be the event's own. */
static void remove_all(struct trigger_set *set, const char *name)
{
	struct trigger_event *event;

	for (struct trigger_set *at = set->ring; at != set; at = at->ring) {
		event = synth_find(at, name);
		if (event)
			events_remove(at, event);
	}
	event = synth_find(set, name);
	if (event)
		events_remove(set, event);
}

static int create(struct trigger_set *set, const char *name, char *fields)
{
	char *copy;
	int rc;

	if (!*name)
		return synth_form_error(set);
	if (!synth_is_name(name))
		return trigger_log_token(&set->log, EINVAL, "Illegal name", name);
	if (synth_find(set, name))
		return trigger_log_token(&set->log, EEXIST, "Event already exists", name);
	copy = strdup(fields);
	rc = copy ? add(set, name, fields) : -ENOMEM;
	for (struct trigger_set *at = set->ring; rc == 0 && at != set; at = at->ring)
		rc = add_copy(at, name, copy);
	if (rc < 0)
		remove_all(set, name);
	free(copy);
	return rc;
}

int trigger_set_join(struct trigger_set *set, struct trigger_set *other)
{
	struct sink_buf fields = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < other->n_events; i++) {
		if (!other->events[i]->synth)
			continue;
		sink_buf_free(&fields);
		synth_read_fields(other->events[i], &fields);
		sink_buf_add(&fields, "", 1);
		rc = fields.data ? add_copy(set, other->events[i]->name, fields.data) : -ENOMEM;
	}
	sink_buf_free(&fields);
	set->ring = other->ring;
	other->ring = set;
	return rc;
}

/* In any set of the ring. */
static bool is_busy(const struct trigger_set *set, const char *name)
{
	const struct trigger_set *at = set;

	do {
		const struct trigger_event *event = synth_find(at, name);

		if (event && (event->synth->n_users || event->is_on || event->triggers))
			return true;
		at = at->ring;
	} while (at != set);
	return false;
}

static int delete (struct trigger_set *set, const char *name)
{
	if (!synth_find(set, name))
		return -ENOENT;
	if (is_busy(set, name))
		return -EBUSY;
	remove_all(set, name);
	return 0;
}

/* A name and one field at least, before the first semicolon. */
static bool is_whole(const char *line)
{
	size_t n = 0;

	if (*line == '!')
		return true;
	while (*line && *line != ';') {
		const char *from = line;

		while (*line && *line != ';' && !strchr(" \t\n\v\f\r", *line))
			line++;
		n += line > from;
		if (*line && *line != ';')
			line++;
	}
	return n >= 3;
}

static int run_line(struct trigger_set *set, char *line)
{
	char *fields;

	line = text_skip(line);
	if (!*line)
		return 0;
	trigger_log_about(&set->log, "synthetic_events", line);
	if (!is_whole(line))
		return synth_form_error(set);
	fields = strpbrk(line, " \t");
	if (fields)
		*fields++ = '\0';
	if (*line == '!')
		return delete (set, line + 1);
	return fields ? create(set, line, text_skip(fields)) : synth_form_error(set);
}

/* s:[synthetic/]NAME FIELDS, -:[synthetic/]NAME */
static int run_dynamic(struct trigger_set *set, char *line)
{
	bool removes = *line == '-';
	const char *name, *rest;
	char *fields;

	line = text_skip(line);
	if (strncmp(line, removes ? "-:" : "s:", 2) != 0)
		return -EINVAL;
	trigger_log_about(&set->log, "synthetic_events", line);
	fields = strpbrk(line, " \t");
	if (!fields && !removes)
		return synth_form_error(set);
	if (fields)
		*fields++ = '\0';
	name = line + 2;
	if (text_begins(name, GROUP "/", &rest))
		name = rest;
	else if (strchr(name, '/'))
		return removes ? -ENOENT
			       : trigger_log_at(&set->log, EINVAL,
						"Command must be of the form: s or "
						"-:[synthetic/]<name> field[;field] ...",
						0);
	return removes ? delete (set, name) : create(set, name, text_skip(fields));
}

static int each_line(struct trigger_set *set, const char *text, size_t len,
		     int (*run)(struct trigger_set *set, char *line))
{
	char *copy = strndup(text, len), *rest = copy, *line;
	int rc = copy ? 0 : -ENOMEM;

	while (rc == 0 && (line = strsep(&rest, "\n"))) {
		line[strcspn(line, "#")] = '\0';
		rc = run(set, line);
	}
	free(copy);
	return rc;
}

int synth_write(struct trigger_set *set, const char *text, size_t len)
{
	return each_line(set, text, len, run_line);
}

int synth_write_dynamic(struct trigger_set *set, const char *text, size_t len)
{
	return each_line(set, text, len, run_dynamic);
}

int synth_truncate(struct trigger_set *set)
{
	for (size_t i = 0; i < set->n_events; i++)
		if (set->events[i]->synth && is_busy(set, set->events[i]->name))
			return -EBUSY;
	for (size_t i = set->n_events; i-- > 0;)
		if (set->events[i]->synth)
			remove_all(set, set->events[i]->name);
	return 0;
}
