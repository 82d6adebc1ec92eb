/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files by which events are defined. All that changes something is slow. */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "cli/fs/files.h"
#include "cli/fs/made.h"
#include "cli/fs/state.h"
#include "cli/fs/text.h"

static bool is_busy(void *ctx, const struct event *event)
{
	return state_is_busy(ctx, event);
}

static void gone(void *ctx, const struct event *event)
{
	struct state *state = ctx;

	for (size_t i = 0; i < state->n_instances; i++) {
		struct instance *instance = state->instances[i];
		const struct event_state *of = instance_state(instance, event->number, false);

		if (of && of->was_enabled)
			instance->has_lost_event = true;
		instance_forget_state(instance, event->number);
	}
}

/* A line of dynamic_events, which may be about a synthetic event. */
static int run_any(struct state *state, const char *line, size_t len, struct events_by *by,
		   struct ubp_err *err)
{
	bool removes = len && (*line == '-' || *line == '!');
	int rc, of_made;

	if (made_is_definition(line, len))
		return made_define(state, line, len);
	rc = events_run(&state->events, line, len, by, err);
	if (!removes || (rc < 0 && rc != -ENOENT))
		return rc;
	of_made = made_remove(state, line, len);
	return of_made == -ENOENT ? rc : of_made;
}

static bool keeps_traces(const struct state *state, const struct events_by *by, int rc)
{
	return rc == -EBUSY && !(by->busy && fs_triggers_name_it(&state->triggers, by->busy));
}

static ssize_t define(struct state *state, const struct file_write *w, bool is_any)
{
	struct events_by by = { .folder = w->folder,
				.is_any = is_any,
				.is_busy = is_busy,
				.gone = gone,
				.ctx = state };
	struct ubp_err err;
	int rc = 0;

	ubp_err_reset(&err);
	for (size_t pos = 0; rc == 0 && pos < w->len;) {
		const char *line = w->data + pos, *end = memchr(line, '\n', w->len - pos);
		size_t len = end ? (size_t)(end - line) : w->len - pos;

		rc = is_any ? run_any(state, line, len, &by, &err)
			    : events_run(&state->events, line, len, &by, &err);
		if (by.has_deleted)
			state_clear_deleted(state, keeps_traces(state, &by, rc));
		pos += len + 1;
	}
	if (rc < 0) {
		(void)pthread_mutex_lock(&state->lock);
		error_log_add(&state->instances[0]->errors, "trace_uprobe", &err);
		(void)pthread_mutex_unlock(&state->lock);
	}
	return rc < 0 ? rc : (ssize_t)w->len;
}

static ssize_t write_uprobe_events(struct state *state, const struct file_at *at,
				   const struct file_write *w)
{
	(void)at;
	return define(state, w, false);
}

static ssize_t write_dynamic_events(struct state *state, const struct file_at *at,
				    const struct file_write *w)
{
	(void)at;
	return define(state, w, true);
}

static int delete_all(struct state *state, const struct file_at *at)
{
	struct events_by by = { .folder = -1, .is_busy = is_busy, .gone = gone, .ctx = state };
	int rc = events_delete_all(&state->events, &by);

	(void)at;
	state_clear_deleted(state, rc == -EBUSY);
	return rc;
}

/* Synthetic events, too, if none is in use. */
static int delete_any(struct state *state, const struct file_at *at)
{
	int rc = 0;

	for (size_t i = 0; i < state->events.n_events; i++)
		if (state_is_busy(state, state->events.events[i]))
			return -EBUSY;
	if (fs_triggers_has_made(&state->triggers))
		rc = made_change(state, NULL);
	return rc < 0 ? rc : delete_all(state, at);
}

static void read_listing(struct state *state, const struct file_at *at, struct text *out)
{
	(void)at;
	for (size_t i = 0; i < state->events.n_probes; i++)
		text_printf(out, "%s\n", state->events.probes[i]->listing);
}

/* All in the order in which they came, which is that of their numbers. */
static void read_dynamic(struct state *state, const struct file_at *at, struct text *out)
{
	const struct events *events = &state->events;
	size_t probe = 0;

	(void)at;
	for (size_t i = 0; i <= events->n_events; i++) {
		const struct event *event = i < events->n_events ? events->events[i] : NULL;

		if (event && !event->is_made)
			continue;
		for (; probe < events->n_probes &&
		       (!event || events->probes[probe]->number < event->number);
		     probe++)
			text_printf(out, "%s\n", events->probes[probe]->listing);
		if (event)
			text_printf(out, "s:%s/%s\t%s\n", event->group->name, event->name,
				    event->made_of);
	}
}

static void read_profile(struct state *state, const struct file_at *at, struct text *out)
{
	(void)at;
	state_sync(state);
	for (size_t i = 0; i < state->events.n_probes; i++) {
		const struct probe *probe = state->events.probes[i];

		text_printf(out, "  %s %-44s %15" PRIu64 "\n", probe->path, probe->event->name,
			    probe->hits);
	}
}

#define RW 0640
#define RO 0440

const struct file files_of_definitions[] = {
	{ "uprobe_events", RW, IN_TOP, .writes_slowly = true, .read = read_listing,
	  .write = write_uprobe_events, .truncate = delete_all },
	{ "dynamic_events", RW, IN_TOP, .writes_slowly = true, .read = read_dynamic,
	  .write = write_dynamic_events, .truncate = delete_any },
	{ "uprobe_profile", RO, IN_TOP, .reads_slowly = true, .read = read_profile },
};
const size_t n_files_of_definitions =
	sizeof(files_of_definitions) / sizeof(*files_of_definitions);
