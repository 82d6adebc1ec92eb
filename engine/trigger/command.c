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
	{ "hist", TRIGGER_HIST, true },
	{ "traceon", TRIGGER_TRACING, true },
	{ "traceoff", TRIGGER_TRACING, false },
	{ "snapshot", TRIGGER_SNAPSHOT, true },
	{ "stacktrace", TRIGGER_STACK, true },
	{ "enable_event", TRIGGER_EVENT, true },
	{ "disable_event", TRIGGER_EVENT, false },
	{ "enable_hist", TRIGGER_PAUSE, true },
	{ "disable_hist", TRIGGER_PAUSE, false },
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

/* "a, b and c" */
static void list_commands(struct sink_buf *out)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		sink_buf_printf(out, "%s%s",
				i == 0                ? ""
				: i == N_COMMANDS - 1 ? " and "
						      : ", ",
				commands[i].word);
}

bool trigger_is_command(const char *text, struct sink_buf *told, size_t *ret_at)
{
	size_t at = strspn(text, " \t\n"), len;
	char near[NEAREST_TEXT_MAX];
	struct nearest nearest;

	at += text[at] == '!';
	len = strcspn(text + at, ": \t\n");
	nearest_init(&nearest, text + at, len, NEAREST_EDITS);
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strlen(commands[i].word) == len &&
		    strncmp(commands[i].word, text + at, len) == 0)
			return true;
		nearest_offer(&nearest, commands[i].word);
	}
	*ret_at = at;
	nearest_text(&nearest, near, sizeof(near));
	sink_buf_printf(told, "'%.*s' is no trigger%s", (int)(len < 64 ? len : 64), text + at,
			*near ? near : ": there are ");
	if (!*near)
		list_commands(told);
	sink_buf_add(told, "", 1);
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
