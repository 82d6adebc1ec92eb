/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/made.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/state.h"
#include "cli/fs/text.h"
#include "cli/fs/tracer.h"
#include "cli/fs/triggers.h"
#include "engine/base/err.h"
#include "engine/ubp_trigger.h"

#define FORM     "Command must be of the form: <name> field[;field] ..."
#define DYN_FORM "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
#define GROUP    EVENTS_MADE_GROUP "/"

/* Where errors of a text belong: a line of dynamic_events has something in front of the text. */
struct told {
	struct state *state;
	const char *line; /* NULL: the text is all of it */
	size_t before;
};

static void log_in(struct state *state, const struct ubp_err *err)
{
	(void)pthread_mutex_lock(&state->lock);
	error_log_add(&state->instances[0]->errors, "synthetic_events", err);
	(void)pthread_mutex_unlock(&state->lock);
}

static void log_line(struct state *state, const char *line, const char *text, unsigned caret)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	(void)ubp_fail(&err, EINVAL, "%s", text);
	ubp_err_caret(&err, line, strlen(line), caret);
	log_in(state, &err);
}

static void log_error(void *ctx, const char *where, const struct ubp_err *err)
{
	const struct told *told = ctx;
	/* These are about all of the line. */
	bool is_whole =
		strcmp(err->text, FORM) == 0 || strcmp(err->text, "Too many fields") == 0;

	(void)where;
	if (told->line)
		log_line(told->state, told->line, err->text,
			 is_whole ? 0 : err->caret + (unsigned)told->before);
	else
		log_in(told->state, err);
}

/* Synthetic events are the session's, which is there as long as there are some. */
static int change(struct state *state, const char *text, struct told *told)
{
	struct ubp_session *session;
	struct ubp_err err;
	bool is_begun;
	int rc;

	ubp_err_reset(&err);
	fs_tracer_keep(state->tracer, true);
	rc = state_trace(state, &err);
	if (rc == 0)
		state_sync(state);
	if (rc == 0)
		rc = fs_triggers_begin(&state->triggers, state->instances[0], &err);
	session = fs_triggers_session(&state->triggers, state->instances[0]);
	is_begun = rc == 0;
	if (is_begun)
		rc = text ? ubp_synthetic_add(session, text, &err)
			  : ubp_synthetic_clear(session, &err);
	if (rc < 0 && text && is_begun)
		ubp_trigger_errors(session, log_error, told);
	if (fs_triggers_look_at_made(&state->triggers) < 0 && rc == 0)
		rc = -ENOMEM;
	state_clear_deleted(state, false);
	fs_tracer_keep(state->tracer, fs_triggers_has_made(&state->triggers));
	(void)state_trace(state, &err);
	return rc;
}

int made_change(struct state *state, const char *text)
{
	struct told told = { .state = state };

	return change(state, text, &told);
}

/* --- dynamic_events ----------------------------------------------------------- */

bool made_is_definition(const char *line, size_t len)
{
	return len >= 2 && line[0] == 's' && line[1] == ':';
}

/* @line has no end of its own that is looked for, nor a comment. */
static int define(struct state *state, const char *line)
{
	struct told told = { .state = state, .line = line, .before = 2 };
	const char *blank = strpbrk(line, " \t");
	const char *slash = memchr(line, '/', blank ? (size_t)(blank - line) : 0);

	if (!blank || blank == line + 2) {
		log_line(state, line, FORM, 0);
		return -EINVAL;
	}
	if (slash && strncmp(line + told.before, GROUP, strlen(GROUP)) != 0) {
		log_line(state, line, DYN_FORM, 0);
		return -EINVAL;
	}
	if (slash)
		told.before += strlen(GROUP);
	return change(state, line + told.before, &told);
}

/* For free(): without a comment, and white space behind it. NULL: memory is short. */
static char *line_of(const char *line, size_t len)
{
	const char *comment = memchr(line, '#', len);

	return word_copy(word_trim(line, comment ? (size_t)(comment - line) : len));
}

int made_define(struct state *state, const char *line, size_t len)
{
	char *copy = line_of(line, len);
	int rc = copy ? define(state, copy) : -ENOMEM;

	free(copy);
	return rc;
}

int made_remove(struct state *state, const char *line, size_t len)
{
	char *copy = line_of(line, len), *name = copy ? strchr(copy, ':') : NULL;
	struct text text = { 0 };
	int rc = copy ? -ENOENT : -ENOMEM;

	if (name) {
		name++;
		name[strcspn(name, " \t")] = '\0';
		if (strncmp(name, GROUP, strlen(GROUP)) == 0)
			name += strlen(GROUP);
		if (events_named(&state->events, EVENTS_MADE_GROUP, name)) {
			text_printf(&text, "!%s", name);
			text_add(&text, "", 1);
			rc = text.is_short ? -ENOMEM : made_change(state, text.data);
			text_free(&text);
		}
	}
	free(copy);
	return rc;
}
