/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/message.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/err.h"

/*
 * User text on a terminal: a control byte becomes '?', one for one, so that a
 * caret below stays under its column.
 */
static void show(char *text)
{
	if (!isatty(STDERR_FILENO))
		return;
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
	}
}

/* @kind: "error: ", or "". */
static void say(const char *kind, const char *fmt, va_list ap)
{
	char text[UBP_ERR_TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	show(text);
	(void)fprintf(stderr, "%s: %s%s\n", cli_program, kind, text);
}

int cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("error: ", fmt, ap);
	va_end(ap);
	return CLI_FAILED;
}

int cli_error_record(const struct ubp_err *err)
{
	char text[UBP_ERR_TEXT_MAX], command[UBP_ERR_COMMAND_MAX];

	if (!err->has_caret)
		return cli_error("%s", err->text);
	memcpy(text, err->text, sizeof(text));
	memcpy(command, err->command, sizeof(command));
	show(text);
	show(command);
	(void)fprintf(stderr, "%s: error: %s\n  %s\n  %*s^\n", cli_program, text, command,
		      (int)err->caret, "");
	return CLI_FAILED;
}

int cli_usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("error: ", fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "Try '%s --help'.\n", cli_program);
	return CLI_USAGE;
}

__attribute__((format(printf, 2, 3))) static void say_text(const char *kind, const char *fmt,
							   ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(kind, fmt, ap);
	va_end(ap);
}

void cli_warn(void *ctx, const char *text)
{
	(void)ctx;
	say_text("warning: ", "%s", text);
}

void cli_tell(void *ctx, const char *text)
{
	(void)ctx;
	say_text("", "%s", text);
}
