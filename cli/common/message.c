/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/escape.h"

/* A path, and what is said of it. */
#define TEXT_MAX 8192

/* NULL: standard error, where something else may have to make room first. */
static FILE *messages;
static void (*make_room)(void);

static FILE *to(void)
{
	if (!messages && make_room)
		make_room();
	return messages ? messages : stderr;
}

FILE *cli_messages_to(FILE *file)
{
	FILE *before = messages;

	messages = file;
	return before;
}

void cli_messages_behind(void (*first)(void))
{
	make_room = first;
}

static void print(const char *program, const char *kind, const char *text)
{
	char shown[ESCAPE_BYTE_MAX * TEXT_MAX + 1];

	*escape_put_line(shown, text, strnlen(text, TEXT_MAX)) = '\0';
	(void)fprintf(to(), "%s%s%s%s\n", program, *program ? ": " : "", kind, shown);
}

/* @kind: "error: ", or "". */
static void say(const char *kind, const char *fmt, va_list ap)
{
	char text[TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	print(cli_program, kind, text);
}

void cli_line(const char *text)
{
	print("", "", text);
}

int cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("error: ", fmt, ap);
	va_end(ap);
	return CLI_FAILED;
}

/* The definition, and a caret under the mistake. */
static void tell_place(const struct ubp_err *err)
{
	char shown[ESCAPE_BYTE_MAX * UBP_ERR_COMMAND_MAX + 1];
	size_t len = strlen(err->command);
	size_t before = err->caret < len ? err->caret : len;
	/* Under its byte, also where those before it have become longer. */
	int column = (int)(escape_put_line(shown, err->command, before) - shown + err->caret -
			   before);

	*escape_put_line(shown, err->command, len) = '\0';
	(void)fprintf(to(), "  %s\n  %*s^\n", shown, column, "");
}

int cli_error_record(const struct ubp_err *err)
{
	(void)cli_error("%s", err->text);
	if (err->has_caret)
		tell_place(err);
	if (err->hint[0])
		(void)fprintf(to(), "  hint: %s\n", err->hint);
	return CLI_FAILED;
}

int cli_usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("error: ", fmt, ap);
	va_end(ap);
	(void)fprintf(to(), "Try '%s --help'.\n", cli_program);
	return CLI_USAGE;
}

void cli_warn(void *ctx, const char *text)
{
	(void)ctx;
	print(cli_program, "warning: ", text);
}

void cli_tell(void *ctx, const char *text)
{
	(void)ctx;
	print(cli_program, "", text);
}
