/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files by which hits make something happen. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/files.h"
#include "cli/fs/made.h"
#include "cli/fs/state.h"
#include "cli/fs/text.h"
#include "cli/fs/tracer.h"
#include "cli/fs/triggers.h"
#include "engine/base/err.h"
#include "engine/ubp_trigger.h"

#define TRIGGER_MAX 4096

struct log {
	struct state *state;
	struct instance *instance;
};

static void log_error(void *ctx, const char *where, const struct ubp_err *err)
{
	const struct log *log = ctx;

	(void)pthread_mutex_lock(&log->state->lock);
	error_log_add(&log->instance->errors, where, err);
	(void)pthread_mutex_unlock(&log->state->lock);
}

/* --- probes that stand for triggers ------------------------------------------ */

/* The event that @text is about besides its own; NULL: none. */
static const struct event *find_other(const struct state *state, const char *text)
{
	static const char *const words[] = { "enable_event", "disable_event", "enable_hist",
					     "disable_hist" };
	const char *match = strstr(text, "onmatch(");

	text += *text == '!';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t len = strlen(words[i]);

		/* The kernel parts a command from what follows at any of these. */
		if (strncmp(text, words[i], len) == 0 && text[len] && strchr(": \t", text[len]))
			return fs_triggers_named(&state->triggers, text + len + 1, ':');
	}
	return match ? fs_triggers_named(&state->triggers, match + strlen("onmatch("), '.')
		     : NULL;
}

/* Its probes are there while a text is written that is about it, or not any more for that. */
static int hold(struct state *state, struct instance *instance, const struct event *event,
		bool on)
{
	struct event_state *of;

	if (!event)
		return 0;
	(void)pthread_mutex_lock(&state->lock);
	of = instance_state(instance, event->number, on);
	if (of)
		of->is_held = on;
	instance->is_held = on;
	(void)pthread_mutex_unlock(&state->lock);
	return of || !on ? 0 : -ENOMEM;
}

/* What is done with an event whose probes are there. @text NULL: histograms go. */
static int with_probes(struct state *state, const struct file_at *at, const char *text,
		       struct ubp_err *err)
{
	int rc = fs_triggers_begin(&state->triggers, at->instance, err);
	struct ubp_session *session = fs_triggers_session(&state->triggers, at->instance);
	struct log log = { state, at->instance };
	char name[FS_TRIGGERS_NAME_ROOM];
	bool is_begun = rc == 0;

	fs_triggers_name(at->event, name);
	if (is_begun)
		rc = text ? ubp_trigger_write(session, name, text, err)
			  : ubp_trigger_clear(session, name, err);
	if (rc < 0 && text && is_begun)
		ubp_trigger_errors(session, log_error, &log);
	return rc;
}

/* The trigger of that name, or a histogram that may have them: the field has three names. */
static bool asks_for_stacks(const char *text)
{
	return strncmp(text, "stacktrace", strlen("stacktrace")) == 0 ||
	       (strncmp(text, "hist", strlen("hist")) == 0 && strcasestr(text, "stacktrace"));
}

/* If the text asks for stacks, they are to be taken from now on. */
static void want_stacks(struct state *state, const struct file_at *at, const char *text)
{
	struct event_state *of;

	if (!text || !asks_for_stacks(text))
		return;
	(void)pthread_mutex_lock(&state->lock);
	of = instance_state(at->instance, at->event->number, false);
	if (of)
		of->has_stack = true;
	(void)pthread_mutex_unlock(&state->lock);
}

static int run(struct state *state, const struct file_at *at, const char *text,
	       struct ubp_err *err)
{
	const struct event *other = text ? find_other(state, text) : NULL;
	struct ubp_err later;
	int rc = hold(state, at->instance, at->event, true);

	if (rc == 0)
		rc = hold(state, at->instance, other, true);
	want_stacks(state, at, text);
	if (rc == 0)
		rc = state_trace(state, err);
	/* Hits of before are none of its hits. */
	if (rc == 0)
		state_sync(state);
	if (rc == 0)
		rc = with_probes(state, at, text, err);
	fs_triggers_look_at_events(&state->triggers, at->instance);
	(void)hold(state, at->instance, at->event, false);
	(void)hold(state, at->instance, other, false);
	ubp_err_reset(&later);
	(void)state_trace(state, &later);
	return rc;
}

/* --- trigger, hist ----------------------------------------------------------- */

/* There is room for the snapshots that a trigger takes: @text was written, which gave @rc. That it was there already is found out last. */
static int make_room(struct state *state, struct instance *instance, const char *text, int rc)
{
	bool is_hist = strstr(text, ").snapshot(");

	if (!is_hist && strncmp(text, "snapshot", 8) != 0)
		return rc;
	if (rc < 0 && !(is_hist && rc == -EBUSY))
		return rc;
	(void)pthread_mutex_lock(&state->lock);
	if (instance_snapshot_room(instance) < 0 && rc >= 0)
		rc = -ENOMEM;
	(void)pthread_mutex_unlock(&state->lock);
	return rc;
}

static ssize_t write_trigger(struct state *state, const struct file_at *at,
			     const struct file_write *w)
{
	struct ubp_err err;
	char *text;
	int rc;

	if (!w->len)
		return 0;
	if (w->len >= TRIGGER_MAX)
		return -EINVAL;
	text = word_copy(word_trim(w->data, w->len));
	if (!text)
		return -ENOMEM;
	ubp_err_reset(&err);
	rc = *text ? run(state, at, text, &err) : -EINVAL;
	rc = make_room(state, at->instance, text, rc);
	free(text);
	return rc < 0 ? rc : (ssize_t)w->len;
}

static int clear_triggers(struct state *state, const struct file_at *at)
{
	const struct event_state *of = instance_state(at->instance, at->event->number, false);
	struct ubp_err err;

	ubp_err_reset(&err);
	return of && of->is_soft ? run(state, at, NULL, &err) : 0;
}

static void read_trigger(struct state *state, const struct file_at *at, struct text *out)
{
	state_sync(state);
	fs_triggers_list(&state->triggers, at->instance, at->event, out);
}

static void read_hist(struct state *state, const struct file_at *at, struct text *out)
{
	state_sync(state);
	fs_triggers_hist(&state->triggers, at->instance, at->event, out);
}

/* --- synthetic_events --------------------------------------------------------- */

static ssize_t write_made(struct state *state, const struct file_at *at,
			  const struct file_write *w)
{
	char *text;
	int rc;

	(void)at;
	if (!w->len)
		return 0;
	if (w->len >= TRIGGER_MAX)
		return -EINVAL;
	text = strndup(w->data, w->len);
	if (!text)
		return -ENOMEM;
	rc = made_change(state, text);
	free(text);
	return rc < 0 ? rc : (ssize_t)w->len;
}

static int clear_made(struct state *state, const struct file_at *at)
{
	(void)at;
	return fs_triggers_has_made(&state->triggers) ? made_change(state, NULL) : 0;
}

static void read_made(struct state *state, const struct file_at *at, struct text *out)
{
	struct ubp_session *session =
		fs_triggers_session(&state->triggers, state->instances[0]);
	const char *list = session ? ubp_synthetic_list(session, NULL) : NULL;

	(void)at;
	if (list)
		text_puts(out, list);
}

const struct file files_of_triggers[] = {
	{ "synthetic_events", 0640, IN_TOP, .reads_slowly = true, .writes_slowly = true,
	  .read = read_made, .write = write_made, .truncate = clear_made },
	{ "trigger", 0640, IN_EVENT, .lets_go = true, .reads_slowly = true,
	  .writes_slowly = true, .read = read_trigger, .write = write_trigger,
	  .truncate = clear_triggers },
	{ "hist", 0440, IN_EVENT, .reads_slowly = true, .read = read_hist },
};
const size_t n_files_of_triggers = sizeof(files_of_triggers) / sizeof(*files_of_triggers);
