/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files by which events are enabled and filtered, and that tell of them. All that changes something is slow. */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/files.h"
#include "cli/fs/state.h"
#include "cli/fs/text.h"
#include "cli/fs/tracer.h"
#include "cli/fs/triggers.h"
#include "engine/base/err.h"
#include "engine/ubp_trigger.h"

#define FILTER_MAX 4096

/* --- enable, set_event ------------------------------------------------------ */

/* Which events are meant; NULL: any. */
struct selection {
	const struct event *event;
	const struct group *group;
	/* By name; of either, where .name has no colon. */
	char *either, *group_name, *event_name;
};

static bool is_selected(const struct selection *s, const struct event *event)
{
	if ((s->event && s->event != event) || (s->group && s->group != event->group))
		return false;
	if (s->either && strcmp(s->either, event->name) != 0 &&
	    strcmp(s->either, event->group->name) != 0)
		return false;
	return (!s->group_name || strcmp(s->group_name, event->group->name) == 0) &&
	       (!s->event_name || strcmp(s->event_name, event->name) == 0);
}

static int set_one(struct state *state, struct instance *instance, const struct event *event,
		   bool on)
{
	struct event_state *of;

	(void)pthread_mutex_lock(&state->lock);
	of = instance_state(instance, event->number, on);
	if (of) {
		of->is_enabled = on;
		of->was_enabled |= on;
		of->is_switched = true;
	}
	(void)pthread_mutex_unlock(&state->lock);
	return of || !on ? 0 : -ENOMEM;
}

/* One by one: those that can't be traced stay as they were. The first one's error. */
static int set_singly(struct state *state, struct instance *instance,
		      const struct event *const *events, size_t n, bool on)
{
	struct ubp_err err;
	int first = 0;

	for (size_t i = 0; i < n; i++) {
		int rc = set_one(state, instance, events[i], on);

		ubp_err_reset(&err);
		if (rc == 0)
			rc = state_trace(state, &err);
		if (rc < 0)
			(void)set_one(state, instance, events[i], !on);
		if (rc < 0 && first == 0) {
			first = rc;
			(void)pthread_mutex_lock(&state->lock);
			error_log_add(&instance->errors, "trace_uprobe", &err);
			(void)pthread_mutex_unlock(&state->lock);
		}
	}
	return first;
}

static int set_all(struct state *state, struct instance *instance,
		   const struct event *const *events, size_t n, bool on)
{
	struct ubp_err err;
	size_t i;
	int rc = 0;

	if (!n)
		return 0;
	for (i = 0; rc == 0 && i < n; i++)
		rc = set_one(state, instance, events[i], on);
	ubp_err_reset(&err);
	if (rc == 0)
		rc = state_trace(state, &err);
	if (rc == 0)
		return 0;
	while (i)
		(void)set_one(state, instance, events[--i], !on);
	return set_singly(state, instance, events, n, on);
}

/* It is, already, but triggers may have switched it; what the session has not been told yet it is still to be told. */
static void switch_soft(struct state *state, struct instance *instance,
			const struct event *event)
{
	struct event_state *of;

	(void)pthread_mutex_lock(&state->lock);
	of = instance_state(instance, event->number, false);
	if (of)
		of->is_switched |= of->is_soft;
	(void)pthread_mutex_unlock(&state->lock);
}

/* -EINVAL: there is none such. */
static int set_selected(struct state *state, struct instance *instance,
			const struct selection *s, bool on)
{
	const struct event **events = calloc(state->events.n_events + 1, sizeof(*events));
	struct ubp_err err;
	size_t n = 0;
	bool any = false;
	int rc;

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < state->events.n_events; i++) {
		const struct event *event = state->events.events[i];

		if (!is_selected(s, event))
			continue;
		any = true;
		if (instance_is_enabled(instance, event->number) != on)
			events[n++] = event;
		else
			switch_soft(state, instance, event);
	}
	rc = any ? set_all(state, instance, events, n, on) : -EINVAL;
	ubp_err_reset(&err);
	if (rc == 0)
		rc = fs_triggers_follow(&state->triggers, instance, &err);
	free(events);
	return rc;
}

static ssize_t write_enable(struct state *state, const struct file_at *at,
			    const struct file_write *w)
{
	struct selection s = { .event = at->event, .group = at->group };
	unsigned long on;
	int rc = word_number(w->data, w->len, &on);

	if (rc < 0 || on > 1)
		return rc < 0 ? rc : -EINVAL;
	rc = set_selected(state, at->instance, &s, on);
	/* A kernel has events of its own in events/. */
	if (rc == -EINVAL && !at->group)
		rc = 0;
	return rc < 0 ? rc : (ssize_t)w->len;
}

static void read_enable(struct state *state, const struct file_at *at, struct text *out)
{
	struct selection s = { .event = at->event, .group = at->group };
	bool some[2] = { false };
	const char *soft = NULL;

	if (at->event) {
		state_sync(state);
		soft = fs_triggers_enable(&state->triggers, at->instance, at->event);
	}
	if (soft) {
		text_printf(out, "%s\n", soft);
		return;
	}
	for (size_t i = 0; i < state->events.n_events; i++) {
		const struct event *event = state->events.events[i];

		if (is_selected(&s, event))
			some[instance_has_probes(at->instance, event->number)] = true;
	}
	text_puts(out, some[0] && some[1] ? "X\n" : some[1] ? "1\n" : some[0] ? "0\n" : "?\n");
}

/* "*" and nothing mean any. */
static char *name_of(const char *s, size_t len)
{
	return !len || (len == 1 && *s == '*') ? NULL : strndup(s, len);
}

static int set_by_name(struct state *state, struct instance *instance, struct word word,
		       bool on)
{
	const char *colon = memchr(word.s, ':', word.len);
	size_t len = colon ? (size_t)(colon - word.s) : word.len;
	struct selection s = { 0 };
	int rc;

	if (colon) {
		s.group_name = name_of(word.s, len);
		s.event_name = name_of(colon + 1, word.len - len - 1);
	} else {
		s.either = strndup(word.s, word.len);
	}
	rc = set_selected(state, instance, &s, on);
	free(s.either);
	free(s.group_name);
	free(s.event_name);
	return rc;
}

/* A word for each write, as in the kernel: who has more writes again. */
static ssize_t write_set_event(struct state *state, const struct file_at *at,
			       const struct file_write *w)
{
	struct word all = { w->data, w->len }, word;
	size_t pos = 0;
	bool on;
	int rc;

	if (!word_next(&all, &pos, &word))
		return (ssize_t)w->len;
	on = *word.s != '!';
	word.s += !on;
	word.len -= !on;
	rc = set_by_name(state, at->instance, word, on);
	return rc < 0 ? rc : (ssize_t)(pos < w->len ? pos + 1 : pos);
}

static int disable_all(struct state *state, const struct file_at *at)
{
	struct selection any = { 0 };

	(void)set_selected(state, at->instance, &any, false);
	return 0;
}

/* The newest first, as in the kernel. */
static void show_set(const struct instance *instance, const struct event *event,
		     struct text *out)
{
	if (instance_has_probes(instance, event->number))
		text_printf(out, "%s:%s\n", event->group->name, event->name);
}

/* Those that came since the instance did, the last first; then those that it found, the first first. */
static void read_set_event(struct state *state, const struct file_at *at, struct text *out)
{
	struct event *const *events = state->events.events;
	size_t n_found = 0;

	while (n_found < state->events.n_events &&
	       events[n_found]->number <= at->instance->born)
		n_found++;
	for (size_t i = state->events.n_events; i-- > n_found;)
		show_set(at->instance, events[i], out);
	for (size_t i = 0; i < n_found; i++)
		show_set(at->instance, events[i], out);
}

static void read_available(struct state *state, const struct file_at *at, struct text *out)
{
	(void)at;
	for (size_t i = state->events.n_events; i--;)
		text_printf(out, "%s:%s\n", state->events.events[i]->group->name,
			    state->events.events[i]->name);
}

/* --- filter ----------------------------------------------------------------- */

/* What the file shows of a filter that is wrong. */
static char *show_error(const char *filter, const struct ubp_err *err)
{
	struct text text = { 0 };
	size_t len = strlen(filter), caret = err->caret < len ? err->caret : len;

	/* Where there is no text at all, the kernel has no message, and tells of none. */
	if (err->has_caret && strcmp(err->text, "Error") != 0)
		text_printf(&text, "%s\n%*s^\nparse_error: %s\n\n", filter, (int)caret, "",
			    err->text);
	else
		text_printf(&text, "%s\nError: (0)\n\n", filter);
	text_add(&text, "", 1);
	return text.data;
}

static void keep_filter(struct state *state, struct event_state *of, char *filter, char *shown)
{
	(void)pthread_mutex_lock(&state->lock);
	free(of->filter);
	free(of->shown);
	of->filter = filter;
	of->shown = shown;
	(void)pthread_mutex_unlock(&state->lock);
}

static char *show_filter(const char *filter)
{
	struct text text = { 0 };

	text_printf(&text, "%s\n", filter);
	text_add(&text, "", 1);
	return text.data;
}

static int check_filter(struct state *state, struct instance *instance,
			const struct event *event, const char *filter, struct ubp_err *err)
{
	char name[FS_TRIGGERS_NAME_ROOM];
	int rc;

	if (!event->is_made)
		return events_check_filter(&state->events, event, filter, err);
	fs_triggers_name(event, name);
	rc = fs_triggers_begin(&state->triggers, instance, err);
	return rc < 0 ? rc
		      : ubp_trigger_filter(fs_triggers_session(&state->triggers, instance),
					   name, filter, err);
}

/*
 * @filter NULL: none. One that is wrong leaves the event without any, and the file says what was wrong.
 */
static int set_filter(struct state *state, struct instance *instance, const struct event *event,
		      const char *filter, struct ubp_err *err)
{
	struct event_state *of;
	int rc = filter ? check_filter(state, instance, event, filter, err) : 0, traced;
	struct ubp_err later;

	(void)pthread_mutex_lock(&state->lock);
	of = instance_state(instance, event->number, true);
	if (rc < 0)
		error_log_add(&instance->errors, "event filter parse error", err);
	(void)pthread_mutex_unlock(&state->lock);
	if (!of)
		return -ENOMEM;
	if (rc < 0)
		keep_filter(state, of, NULL, show_error(filter, err));
	else if (filter)
		keep_filter(state, of, strdup(filter), show_filter(filter));
	else
		keep_filter(state, of, NULL, NULL);
	ubp_err_reset(&later);
	traced = event_state_is_traced(of) || event->is_made ? state_trace(state, &later) : 0;
	return rc < 0 ? rc : traced;
}

/* The text of a filter, without white space behind it; NULL: it is too long, or memory is short. *ret_none: it says that there is to be none. */
static char *take_filter(const struct file_write *w, bool *ret_none)
{
	struct word trimmed = word_trim(w->data, w->len);

	*ret_none = word_is(trimmed, "0");
	if (w->len >= FILTER_MAX)
		return NULL;
	if (!trimmed.len)
		return strdup("");
	return strndup(w->data, (size_t)(trimmed.s + trimmed.len - w->data));
}

static ssize_t write_filter(struct state *state, const struct file_at *at,
			    const struct file_write *w)
{
	bool none;
	char *filter = take_filter(w, &none);
	struct ubp_err err;
	int rc;

	if (!filter)
		return -EINVAL;
	ubp_err_reset(&err);
	rc = set_filter(state, at->instance, at->event, none ? NULL : filter, &err);
	free(filter);
	return rc < 0 ? rc : (ssize_t)w->len;
}

static void read_filter(struct state *state, const struct file_at *at, struct text *out)
{
	const struct event_state *of = instance_state(at->instance, at->event->number, false);

	(void)state;
	text_puts(out, of && of->shown ? of->shown : "none\n");
}

/* Of an event of a group: the kernel does not say what was wrong. */
static void misfit(const char *filter, struct ubp_err *err)
{
	(void)ubp_fail(err, EINVAL,
		       "Couldn't find or set field in one of a subsystem's events");
	err->has_caret = true;
	err->caret = 0;
	(void)snprintf(err->command, sizeof(err->command), "%s", filter);
}

/* For each event of the group; an event that it does not suit has none then, which its own file tells. */
static ssize_t write_group_filter(struct state *state, const struct file_at *at,
				  const struct file_write *w)
{
	bool none;
	char *filter = take_filter(w, &none);
	struct ubp_err err;

	if (!filter)
		return -EINVAL;
	for (size_t i = 0; i < state->events.n_events; i++) {
		const struct event *event = state->events.events[i];
		struct event_state *of;

		if (event->group != at->group)
			continue;
		ubp_err_reset(&err);
		if (none || check_filter(state, at->instance, event, filter, &err) == 0) {
			(void)set_filter(state, at->instance, event, none ? NULL : filter,
					 &err);
			continue;
		}
		misfit(filter, &err);
		(void)pthread_mutex_lock(&state->lock);
		of = instance_state(at->instance, event->number, true);
		error_log_add(&at->instance->errors, "event filter parse error", &err);
		(void)pthread_mutex_unlock(&state->lock);
		if (of)
			keep_filter(state, of, NULL, show_error(filter, &err));
		ubp_err_reset(&err);
		if (of && event_state_is_traced(of))
			(void)state_trace(state, &err);
	}
	free(filter);
	return (ssize_t)w->len;
}

static void read_group_filter(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	(void)at;
	text_puts(out,
		  "### global filter ###\n"
		  "# Use this to set filters for multiple events.\n"
		  "# Only events with the given fields will be affected.\n"
		  "# If no events are modified, an error message will be displayed here\n");
}

/* --- what is known of an event ---------------------------------------------- */

static void read_format(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	text_puts(out, at->event->format);
}

static void read_id(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	text_printf(out, "%u\n", at->event->id);
}

#define RW 0640
#define RO 0440

const struct file files_of_events[] = {
	{ "available_events", RO, IN_TOP, .read = read_available },
	{ "set_event", RW, IN_BOTH, .writes_slowly = true, .read = read_set_event,
	  .write = write_set_event, .truncate = disable_all },
	{ "enable", RW, IN_EVENTS | IN_GROUP | IN_EVENT, .reads_slowly = true,
	  .writes_slowly = true, .read = read_enable, .write = write_enable },
	{ "filter", RW, IN_EVENT, .writes_slowly = true, .read = read_filter,
	  .write = write_filter },
	{ "filter", RW, IN_GROUP, .writes_slowly = true, .read = read_group_filter,
	  .write = write_group_filter },
	{ "format", RO, IN_EVENT, .lets_go = true, .read = read_format },
	{ "id", RO, IN_EVENT, .lets_go = true, .read = read_id },
};
const size_t n_files_of_events = sizeof(files_of_events) / sizeof(*files_of_events);
