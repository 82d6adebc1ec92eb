/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * error_log: what was wrong with a text, and where. The last TRIGGER_LOG_MAX entries are kept, .n counts all.
 */

#ifndef UBP_TRIGGER_LOG_H
#define UBP_TRIGGER_LOG_H

#include <stddef.h>

#define TRIGGER_LOG_MAX 8

struct trigger_log_entry {
	char *location; /* hist:GROUP:EVENT, synthetic_events, event filter parse error */
	char *text;
	char *command;
	unsigned caret; /* byte column in .command */
};

struct trigger_log {
	size_t n; /* ever */
	struct trigger_log_entry
		entries[TRIGGER_LOG_MAX]; /* entry i is at i % TRIGGER_LOG_MAX */
	char *location, *command;         /* of the command at work */
};

/* What errors are from now on about. Short memory: they are told without. */
void trigger_log_about(struct trigger_log *log, const char *location, const char *command);

/* A caret at column @caret, or at the first place where @token stands in the command: 0 if it does not. Both return -@code. */
int trigger_log_at(struct trigger_log *log, int code, const char *text, unsigned caret);
int trigger_log_token(struct trigger_log *log, int code, const char *text, const char *token);

void trigger_log_free(struct trigger_log *log);

#endif
