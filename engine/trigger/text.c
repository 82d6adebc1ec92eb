/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/num.h"
#include "engine/spec/chars.h"

static bool has_room(struct text *text, size_t len)
{
	size_t want = text->len + len + 1, room = text->room ? text->room : 64;
	char *grown;

	if (want <= text->room)
		return true;
	while (room < want)
		room *= 2;
	grown = realloc(text->bytes, room);
	if (!grown)
		return false;
	text->bytes = grown;
	text->room = room;
	return true;
}

void text_add(struct text *text, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0 || !has_room(text, (size_t)len)) {
		text->is_short = true;
		return;
	}
	va_start(args, fmt);
	vsnprintf(text->bytes + text->len, (size_t)len + 1, fmt, args);
	va_end(args);
	text->len += (size_t)len;
}

bool text_begins(const char *text, const char *prefix, const char **ret_rest)
{
	size_t len = strlen(prefix);

	if (strncmp(text, prefix, len) != 0)
		return false;
	if (ret_rest)
		*ret_rest = text + len;
	return true;
}

char *text_skip(char *text)
{
	while (char_is_space(*text))
		text++;
	return text;
}

char *text_strip(char *text)
{
	size_t len = strlen(text);

	while (len && char_is_space(text[len - 1]))
		text[--len] = '\0';
	return text_skip(text);
}

int text_number(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);

	if (len && text[len - 1] == '\n')
		len--;
	return num_u64(text, len, 0, ret);
}
