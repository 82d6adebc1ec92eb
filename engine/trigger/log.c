/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/log.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void forget(struct trigger_log_entry *entry)
{
	free(entry->location);
	free(entry->text);
	free(entry->command);
	memset(entry, 0, sizeof(*entry));
}

void trigger_log_about(struct trigger_log *log, const char *location, const char *command)
{
	free(log->location);
	free(log->command);
	log->location = copy(location);
	log->command = copy(command);
}

int trigger_log_at(struct trigger_log *log, int code, const char *text, unsigned caret)
{
	struct trigger_log_entry *entry = &log->entries[log->n++ % TRIGGER_LOG_MAX];

	forget(entry);
	entry->location = copy(log->location);
	entry->text = copy(text);
	entry->command = copy(log->command);
	entry->caret = caret;
	return -code;
}

int trigger_log_token(struct trigger_log *log, int code, const char *text, const char *token)
{
	const char *found = log->command && token ? strstr(log->command, token) : NULL;

	return trigger_log_at(log, code, text, found ? (unsigned)(found - log->command) : 0);
}

void trigger_log_free(struct trigger_log *log)
{
	for (size_t i = 0; i < TRIGGER_LOG_MAX; i++)
		forget(&log->entries[i]);
	free(log->location);
	free(log->command);
	memset(log, 0, sizeof(*log));
}
