/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

/* A character of UTF-8, each byte of it escaped. */
#define CHARACTER_MAX (4 * ESCAPE_BYTE_MAX)

size_t utf8_sequence(const uint8_t *s, size_t len, uint32_t *ret_code)
{
	size_t want;
	uint32_t code;

	*ret_code = s[0];
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (want > len)
		return 0;
	code = s[0] & (0x7fu >> want);
	for (size_t i = 1; i < want; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if ((want == 3 && code < 0x800) || (want == 4 && code < 0x10000) || code > 0x10ffff)
		return 0;
	*ret_code = code;
	return code >= 0xd800 && code <= 0xdfff ? 0 : want;
}

bool utf8_is_unsafe(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} unsafe[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x61c, 0x61c },
		{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
	};

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		if (code >= unsafe[i].first && code <= unsafe[i].last)
			return true;
	return false;
}

static bool is_octal(uint8_t c, uint8_t most)
{
	return c >= '0' && c <= most;
}

/* "\ooo": three digits of one byte. */
static bool looks_escaped(const uint8_t *s, size_t len)
{
	return len > 3 && s[0] == '\\' && is_octal(s[1], '3') && is_octal(s[2], '7') &&
	       is_octal(s[3], '7');
}

static char *put_octal(char *to, uint8_t c)
{
	*to++ = '\\';
	*to++ = (char)('0' + (c >> 6));
	*to++ = (char)('0' + (c >> 3 & 7));
	*to++ = (char)('0' + (c & 7));
	return to;
}

static char *put(char *to, const void *text, size_t len, bool is_line)
{
	const uint8_t *s = text, *end = s + len;
	uint64_t word;
	uint32_t code;
	size_t n;

	while (s < end) {
		if (len >= 8) {
			/* At the end some of them for a second time: those are there as they are. */
			size_t left = (size_t)(end - s), again = left < 8 ? 8 - left : 0;

			memcpy(&word, s - again, 8);
			if (escape_is_plain(word)) {
				memcpy(to - again, &word, 8);
				to += 8 - again;
				s += 8 - again;
				continue;
			}
		}
		if (*s >= 0x20 && *s < 0x7f && *s != '\\') {
			*to++ = (char)*s++;
			continue;
		}
		n = utf8_sequence(s, (size_t)(end - s), &code);
		if (n && !utf8_is_unsafe(code) &&
		    (is_line || !looks_escaped(s, (size_t)(end - s)))) {
			memcpy(to, s, n);
			to += n;
			s += n;
			continue;
		}
		for (n = n ? n : 1; n > 0; n--)
			to = put_octal(to, *s++);
	}
	return to;
}

char *escape_put(char *to, const void *text, size_t len)
{
	return put(to, text, len, false);
}

char *escape_put_line(char *to, const void *text, size_t len)
{
	return put(to, text, len, true);
}

char *escape_line(const char *text)
{
	size_t len = strlen(text);
	char *escaped = malloc(ESCAPE_BYTE_MAX * len + 1);

	if (escaped)
		*escape_put_line(escaped, text, len) = '\0';
	return escaped;
}

void escape_line_cut(char *to, size_t size, const char *text)
{
	size_t left = strlen(text), n;
	char shown[CHARACTER_MAX];
	uint32_t code;

	for (const char *s = text; left > 0; s += n, left -= n) {
		size_t len;

		n = utf8_sequence((const uint8_t *)s, left, &code);
		n = n ? n : 1;
		len = (size_t)(escape_put_line(shown, s, n) - shown);
		if (len >= size)
			break;
		memcpy(to, shown, len);
		to += len;
		size -= len;
	}
	*to = '\0';
}
