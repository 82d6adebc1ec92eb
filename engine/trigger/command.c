/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The trigger file: which command a text is, and the list of what is there. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/sink/buf.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"
#include "engine/trigger/trigger.h"

#define WRITE_MAX 4095

static const struct {
	const char *word;
	enum trigger_kind kind;
	bool switches_on;
} commands[] = {
	{ "traceon", TRIGGER_TRACING, true },    { "traceoff", TRIGGER_TRACING, false },
	{ "snapshot", TRIGGER_SNAPSHOT, true },  { "stacktrace", TRIGGER_STACK, true },
	{ "enable_event", TRIGGER_EVENT, true }, { "disable_event", TRIGGER_EVENT, false },
	{ "enable_hist", TRIGGER_PAUSE, true },  { "disable_hist", TRIGGER_PAUSE, false },
	{ "hist", TRIGGER_HIST, true },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int run(struct trigger_set *set, struct trigger_event *event, char *text)
{
	struct trigger_command command = { .set = set, .event = event };
	char *rest = text_strip(text), *word = strsep(&rest, ": \t");

	command.removes = *word == '!';
	if (command.removes)
		word++;
	if (rest)
		rest = text_skip(rest);
	command.param = rest && *rest ? rest : NULL;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strcmp(commands[i].word, word) != 0)
			continue;
		command.word = commands[i].word;
		if (commands[i].kind == TRIGGER_HIST)
			return hist_command(&command);
		return plain_command(&command, commands[i].kind, commands[i].switches_on);
	}
	return -EINVAL;
}

bool trigger_is_command(const char *text, struct nearest *nearest, size_t *ret_at,
			size_t *ret_len)
{
	size_t at = strspn(text, " \t\n"), len;

	at += text[at] == '!';
	len = strcspn(text + at, ": \t\n");
	*ret_at = at;
	*ret_len = len;
	nearest_init(nearest, text + at, len, NEAREST_EDITS);
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strlen(commands[i].word) == len &&
		    strncmp(commands[i].word, text + at, len) == 0)
			return true;
		nearest_offer(nearest, commands[i].word);
	}
	return false;
}

int trigger_write(struct trigger_set *set, struct trigger_event *event, const char *text,
		  size_t len)
{
	char *copy;
	int rc;

	if (len == 0)
		return 0;
	if (len > WRITE_MAX)
		return -EINVAL;
	copy = strndup(text, len);
	if (!copy)
		return -ENOMEM;
	rc = run(set, event, copy);
	free(copy);
	return rc;
}

void trigger_read(const struct trigger_event *event, struct sink_buf *out)
{
	if (!event->triggers) {
		sink_buf_printf(out, "# Available triggers:\n#");
		for (size_t i = 0; i < N_COMMANDS; i++)
			sink_buf_printf(out, " %s", commands[i].word);
		sink_buf_printf(out, "\n");
	}
	for (const struct trigger *t = event->triggers; t; t = t->next)
		if (t->kind == TRIGGER_HIST)
			hist_list(t, out);
		else
			plain_list(t, out);
}
