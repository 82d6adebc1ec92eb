/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/escape.h"

void ubp_err_reset(struct ubp_err *err)
{
	err->code = 0;
	err->line = 0;
	err->has_caret = false;
	err->caret = 0;
	err->text[0] = '\0';
	err->hint[0] = '\0';
	err->command[0] = '\0';
}

/* Names are in it that a target or a file chose: it is a line that may go to a terminal. */
static void put(char *to, size_t size, const char *fmt, va_list ap)
{
	char raw[UBP_ERR_TEXT_MAX];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	escape_line_cut(to, size, raw);
}

/* Behind the first @len bytes. */
static void put_text(struct ubp_err *err, size_t len, const char *fmt, va_list ap)
{
	put(err->text + len, sizeof(err->text) - len, fmt, ap);
}

int ubp_fail(struct ubp_err *err, int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	ubp_err_reset(err);
	err->code = code;
	va_start(ap, fmt);
	put_text(err, 0, fmt, ap);
	va_end(ap);
	errno = saved;
	return -code;
}

int ubp_need(const void *given, const char *what, struct ubp_err *err)
{
	if (given)
		return 0;
	ubp_err_reset(err);
	return ubp_fail(err, EINVAL, "no %s is given", what);
}

int ubp_fail_sys(struct ubp_err *err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	ubp_err_reset(err);
	err->code = saved;
	va_start(ap, fmt);
	put_text(err, 0, fmt, ap);
	va_end(ap);
	ubp_err_append(err, ": %s", strerror(saved));
	errno = saved;
	return -saved;
}

int ubp_context(struct ubp_err *err, const char *fmt, ...)
{
	char inner[UBP_ERR_TEXT_MAX];
	va_list ap;

	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	put_text(err, 0, fmt, ap);
	va_end(ap);
	ubp_err_append(err, ": %s", inner);
	return -err->code;
}

void ubp_err_append(struct ubp_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_text(err, strlen(err->text), fmt, ap);
	va_end(ap);
}

void ubp_err_hint(struct ubp_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}

void ubp_err_caret(struct ubp_err *err, const char *command, size_t len, unsigned caret)
{
	if (len > sizeof(err->command) - 1)
		len = sizeof(err->command) - 1;
	memcpy(err->command, command, len);
	err->command[len] = '\0';
	err->caret = caret;
	err->has_caret = true;
}
