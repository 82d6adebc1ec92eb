/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/events.h"
#include "cli/fs/instance.h"
#include "cli/fs/text.h"
#include "cli/fs/tracer.h"
#include "engine/ubp_trigger.h"

#define TRACE_ROOM 8

static struct event_state *state_of(struct instance *instance, const struct event *event)
{
	return instance_state(instance, event->number, false);
}

static size_t n_instances(const struct fs_triggers *triggers)
{
	return *triggers->n_instances;
}

static struct instance *instance_at(const struct fs_triggers *triggers, size_t i)
{
	return (*triggers->instances)[i];
}

void fs_triggers_name(const struct event *event, char name[FS_TRIGGERS_NAME_ROOM])
{
	(void)snprintf(name, FS_TRIGGERS_NAME_ROOM, "%s:%s", event->group->name, event->name);
}

/* --- the session ------------------------------------------------------------ */

/* What the trace of @instance is called in the session. */
static const char *trace_of(const struct instance *instance, char name[TRACE_ROOM])
{
	*name = '\0';
	if (instance->number)
		(void)snprintf(name, TRACE_ROOM, "%u", instance->number);
	return name;
}

uint16_t fs_triggers_instance(const char *trace)
{
	return (uint16_t)strtoul(trace, NULL, 10);
}

bool fs_triggers_is_in(const struct fs_triggers *triggers, const struct instance *instance)
{
	return instance->in && instance->in == fs_tracer_generation(triggers->tracer);
}

struct ubp_session *fs_triggers_session(const struct fs_triggers *triggers,
					const struct instance *instance)
{
	struct ubp_session *session = fs_tracer_session(triggers->tracer);
	char name[TRACE_ROOM];
	struct ubp_err err;

	if (!fs_triggers_is_in(triggers, instance))
		return NULL;
	return ubp_trigger_trace(session, trace_of(instance, name), &err) == 0 ? session : NULL;
}

static void take_snapshot(void *ctx)
{
	struct instance *instance = ctx;

	instance->triggers->snapshot(instance->triggers->snapshot_ctx, instance);
}

int fs_triggers_begin(struct fs_triggers *triggers, struct instance *instance,
		      struct ubp_err *err)
{
	struct ubp_session *session = fs_tracer_session(triggers->tracer);
	char name[TRACE_ROOM];
	int rc = 0;

	if (!fs_triggers_is_in(triggers, instance)) {
		rc = ubp_trigger_trace(session, trace_of(instance, name), err);
		if (rc == 0)
			rc = ubp_trigger_set_tracing(session, instance->is_on);
		instance->triggers = triggers;
		if (rc == 0)
			rc = ubp_trigger_on_snapshot(session, take_snapshot, instance);
		if (rc < 0)
			return rc;
		instance->in = fs_tracer_generation(triggers->tracer);
	}
	return fs_triggers_follow(triggers, instance, err);
}

void fs_triggers_end(struct fs_triggers *triggers, struct instance *instance)
{
	struct ubp_session *session = fs_triggers_session(triggers, instance);
	char name[TRACE_ROOM];

	if (session)
		ubp_trigger_trace_end(session, trace_of(instance, name));
	instance->in = 0;
}

static bool has_soft(const struct instance *instance)
{
	for (size_t i = 0; i < instance->n_states; i++)
		if (instance->states[i].is_soft)
			return true;
	return false;
}

bool fs_triggers_any(const struct fs_triggers *triggers)
{
	for (size_t i = 0; i < n_instances(triggers); i++)
		if (has_soft(instance_at(triggers, i)))
			return true;
	return fs_triggers_has_made(triggers);
}

bool fs_triggers_has_made(const struct fs_triggers *triggers)
{
	for (size_t i = 0; i < triggers->events->n_events; i++)
		if (triggers->events->events[i]->is_made)
			return true;
	return false;
}

void fs_triggers_look(struct fs_triggers *triggers)
{
	for (size_t i = 0; i < n_instances(triggers); i++) {
		struct instance *instance = instance_at(triggers, i);
		const struct ubp_session *session = fs_triggers_session(triggers, instance);

		if (!session)
			continue;
		(void)pthread_mutex_lock(triggers->lock);
		instance->is_on = ubp_trigger_is_tracing(session);
		(void)pthread_mutex_unlock(triggers->lock);
	}
}

/* As it is enabled and filtered. */
static int follow(struct ubp_session *session, const struct event *event,
		  struct event_state *of, unsigned generation, struct ubp_err *err)
{
	char name[FS_TRIGGERS_NAME_ROOM];
	int rc = 0;

	fs_triggers_name(event, name);
	if (of->generation != generation || of->is_switched)
		rc = ubp_trigger_record(session, name, of->is_enabled, err);
	if (rc == 0)
		rc = ubp_trigger_filter(session, name, of->filter, err);
	if (rc < 0)
		return rc;
	of->generation = generation;
	of->is_switched = false;
	return 0;
}

/* Is a synthetic event enabled there, which the session has to know? */
static bool wants_made(const struct fs_triggers *triggers, struct instance *instance)
{
	for (size_t i = 0; i < triggers->events->n_events; i++) {
		const struct event *event = triggers->events->events[i];

		if (event->is_made && instance_is_enabled(instance, event->number))
			return true;
	}
	return false;
}

int fs_triggers_follow(struct fs_triggers *triggers, struct instance *instance,
		       struct ubp_err *err)
{
	struct ubp_session *session = fs_triggers_session(triggers, instance);
	int rc = 0;

	if (!session && fs_tracer_session(triggers->tracer) && wants_made(triggers, instance))
		return fs_triggers_begin(triggers, instance, err);
	if (session && instance->number)
		rc = fs_tracer_place(triggers->tracer, instance->number, err);
	for (size_t i = 0; session && rc == 0 && i < triggers->events->n_events; i++) {
		const struct event *event = triggers->events->events[i];
		struct event_state *of = state_of(instance, event);

		/* A synthetic event has no probes that go when it is disabled. */
		if (of && (event_state_is_traced(of) || event->is_made))
			rc = follow(session, event, of, fs_tracer_generation(triggers->tracer),
				    err);
	}
	return rc;
}

int fs_triggers_follow_all(struct fs_triggers *triggers, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n_instances(triggers); i++)
		rc = fs_triggers_follow(triggers, instance_at(triggers, i), err);
	return rc;
}

/* Is there a line of @command? */
static bool has_command(const char *list, const char *command)
{
	size_t len = strlen(command);

	for (const char *line = list; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, command, len) == 0 && line[len] == ':')
			return true;
	}
	return false;
}

/* The trigger of that name, or a histogram of stacks, a variable of one, or one that is saved. */
static bool wants_stacks(const char *list)
{
	return strcasestr(list, "stacktrace");
}

/* Does one of them need a record: for its filter, for what it makes of it, or as it waits until that is written? */
static bool has_condition(const char *list)
{
	return strstr(list, " if ") || has_command(list, "hist") ||
	       has_command(list, "stacktrace") || has_command(list, "traceoff");
}

void fs_triggers_look_at_events(struct fs_triggers *triggers, struct instance *instance)
{
	struct ubp_session *session = fs_triggers_session(triggers, instance);

	for (size_t i = 0; i < triggers->events->n_events; i++) {
		const struct event *event = triggers->events->events[i];
		struct event_state *of = state_of(instance, event);
		char name[FS_TRIGGERS_NAME_ROOM];
		const char *told, *list;

		if (!of || !event_state_is_traced(of))
			continue;
		fs_triggers_name(event, name);
		told = session ? ubp_trigger_state(session, name) : NULL;
		list = told ? ubp_trigger_list(session, name, NULL) : NULL;
		(void)pthread_mutex_lock(triggers->lock);
		of->is_soft = told && strchr(told, '*');
		/* What the last trigger has left it as. */
		if (told && !of->is_soft)
			of->is_enabled = *told == '1';
		/* As in the kernel: what is there for a trigger alone counts, too. */
		of->was_enabled |= of->is_enabled || of->is_soft;
		of->has_stack = list && wants_stacks(list);
		of->has_condition = list && has_condition(list);
		(void)pthread_mutex_unlock(triggers->lock);
	}
}

/* --- synthetic events ------------------------------------------------------- */

/* Does a line of @list begin with @name and a tab? */
static bool has_line(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = list; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == '\t')
			return true;
	}
	return false;
}

/* In all instances. */
static void forget(struct fs_triggers *triggers, const struct event *event)
{
	for (size_t i = 0; i < n_instances(triggers); i++) {
		struct instance *instance = instance_at(triggers, i);
		const struct event_state *of = state_of(instance, event);

		instance->has_lost_event |= of && of->was_enabled;
		instance_forget_state(instance, event->number);
	}
}

static void drop_gone(struct fs_triggers *triggers, const char *list)
{
	struct events *events = triggers->events;

	for (size_t i = events->n_events; i-- > 0;) {
		struct event *event = events->events[i];

		if (!event->is_made || has_line(list, event->name))
			continue;
		forget(triggers, event);
		events_remove_made(events, event);
	}
}

/* The events of @list, a line each, which is cut in pieces. */
static int take_new(struct fs_triggers *triggers, struct ubp_session *session, char *list)
{
	char *line, *rest = list;
	int rc = 0;

	while (rc == 0 && (line = strsep(&rest, "\n")) && *line) {
		const char *name = strsep(&line, "\t");
		const char *format = ubp_synthetic_format(session, name, NULL);

		(void)pthread_mutex_lock(triggers->lock);
		rc = format && line ? events_add_made(triggers->events, name, line, format)
				    : -ENOMEM;
		(void)pthread_mutex_unlock(triggers->lock);
	}
	return rc;
}

int fs_triggers_look_at_made(struct fs_triggers *triggers)
{
	struct ubp_session *session = fs_triggers_session(triggers, instance_at(triggers, 0));
	const char *told = session ? ubp_synthetic_list(session, NULL) : "";
	char *list = told ? strdup(told) : NULL;
	int rc = 0;

	if (!list)
		return -ENOMEM;
	(void)pthread_mutex_lock(triggers->lock);
	drop_gone(triggers, list);
	(void)pthread_mutex_unlock(triggers->lock);
	if (session)
		rc = take_new(triggers, session, list);
	free(list);
	return rc;
}

const struct event *fs_triggers_named(const struct fs_triggers *triggers, const char *text,
				      char between)
{
	struct word group = { text, strcspn(text, ":. \t)") }, name;

	if (text[group.len] != between)
		return NULL;
	name.s = text + group.len + 1;
	name.len = strcspn(name.s, ": \t\n)");
	for (size_t i = 0; i < triggers->events->n_events; i++) {
		const struct event *event = triggers->events->events[i];

		if (word_is(group, event->group->name) && word_is(name, event->name))
			return event;
	}
	return NULL;
}

/* --- reading ---------------------------------------------------------------- */

/* Where it is asked what triggers make of the event, which is called @ret_name there; NULL: they make nothing of it. */
static struct ubp_session *session_about(const struct fs_triggers *triggers,
					 struct instance *instance, const struct event *event,
					 char ret_name[FS_TRIGGERS_NAME_ROOM])
{
	const struct event_state *of = state_of(instance, event);

	if (!of || !of->is_soft)
		return NULL;
	fs_triggers_name(event, ret_name);
	return fs_triggers_session(triggers, instance);
}

/* What @ask tells of it; NULL or "": nothing. */
static const char *ask_engine(const struct fs_triggers *triggers, struct instance *instance,
			      const struct event *event,
			      const char *(*ask)(struct ubp_session *session, const char *event,
						 size_t *ret_len))
{
	char name[FS_TRIGGERS_NAME_ROOM];
	struct ubp_session *session = session_about(triggers, instance, event, name);

	return session ? ask(session, name, NULL) : NULL;
}

bool fs_triggers_name_it(const struct fs_triggers *triggers, const struct event *event)
{
	char name[FS_TRIGGERS_NAME_ROOM], part[FS_TRIGGERS_NAME_ROOM + 8];
	bool is_named = false;

	fs_triggers_name(event, name);
	(void)snprintf(part, sizeof(part), "_event:%s:", name);
	for (size_t i = 0; i < n_instances(triggers); i++)
		for (size_t k = 0; k < triggers->events->n_events; k++) {
			const char *list =
				ask_engine(triggers, instance_at(triggers, i),
					   triggers->events->events[k], ubp_trigger_list);

			is_named |= list && strstr(list, part);
		}
	return is_named;
}

bool fs_triggers_has_snapshots(const struct fs_triggers *triggers, struct instance *instance)
{
	for (size_t i = 0; i < triggers->events->n_events; i++) {
		const char *list = ask_engine(triggers, instance, triggers->events->events[i],
					      ubp_trigger_list);

		if (list && strstr(list, ").snapshot("))
			return true;
	}
	return false;
}

void fs_triggers_list(const struct fs_triggers *triggers, struct instance *instance,
		      const struct event *event, struct text *out)
{
	const char *list = ask_engine(triggers, instance, event, ubp_trigger_list);

	text_puts(out, list && *list ? list
				     : "# Available triggers:\n"
				       "# traceon traceoff snapshot stacktrace enable_event "
				       "disable_event enable_hist disable_hist hist\n");
}

void fs_triggers_hist(const struct fs_triggers *triggers, struct instance *instance,
		      const struct event *event, struct text *out)
{
	const char *hist = ask_engine(triggers, instance, event, ubp_trigger_hist);

	if (hist)
		text_puts(out, hist);
}

const char *fs_triggers_enable(const struct fs_triggers *triggers, struct instance *instance,
			       const struct event *event)
{
	char name[FS_TRIGGERS_NAME_ROOM];
	struct ubp_session *session = session_about(triggers, instance, event, name);

	return session ? ubp_trigger_state(session, name) : NULL;
}
