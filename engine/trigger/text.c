/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/text.h"

#include <string.h>

#include "engine/base/num.h"
#include "engine/spec/chars.h"

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
