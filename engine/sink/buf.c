/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *sink_buf_room(struct sink_buf *buf, size_t len)
{
	size_t cap = buf->cap ? buf->cap : 512;
	char *data;

	if (buf->failed)
		return NULL;
	if (buf->data && buf->cap - buf->len >= len)
		return buf->data + buf->len;
	while (cap - buf->len < len)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data) {
		buf->failed = -ENOMEM;
		return NULL;
	}
	buf->data = data;
	buf->cap = cap;
	return data + buf->len;
}

void sink_buf_end(struct sink_buf *buf, const char *end)
{
	buf->len = (size_t)(end - buf->data);
}

void sink_buf_add(struct sink_buf *buf, const void *data, size_t len)
{
	char *to = sink_buf_room(buf, len);

	if (to)
		sink_buf_end(buf, sink_put_text(to, data, len));
}

void sink_buf_add_text(struct sink_buf *buf, const char *text)
{
	sink_buf_add(buf, text, strlen(text));
}

void sink_buf_printf(struct sink_buf *buf, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	to = sink_buf_room(buf, (size_t)len + 1);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)len + 1, fmt, ap);
	va_end(ap);
	sink_buf_end(buf, to + len);
}

void sink_buf_free(struct sink_buf *buf)
{
	free(buf->data);
	*buf = (struct sink_buf){ 0 };
}

char *sink_put_text(char *to, const char *text, size_t len)
{
	memcpy(to, text, len);
	return to + len;
}

char *sink_put_dec(char *to, uint64_t value)
{
	char digits[SINK_NUMBER_MAX], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return sink_put_text(to, p, (size_t)(digits + sizeof(digits) - p));
}

char *sink_put_int(char *to, int64_t value)
{
	if (value >= 0)
		return sink_put_dec(to, (uint64_t)value);
	*to++ = '-';
	return sink_put_dec(to, -(uint64_t)value);
}

char *sink_put_hex(char *to, uint64_t value)
{
	int n_digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	for (int i = n_digits - 1; i >= 0; i--, value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
	return to + n_digits;
}

char *sink_put_digits(char *to, uint64_t value, unsigned width)
{
	for (unsigned i = width; i > 0; i--, value /= 10)
		to[i - 1] = (char)('0' + value % 10);
	return to + width;
}

size_t sink_utf8_len(const uint8_t *s, size_t len)
{
	size_t want;
	uint32_t code;

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
	return code >= 0xd800 && code <= 0xdfff ? 0 : want;
}

static bool is_control(const uint8_t *s, size_t n)
{
	if (n == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	return n == 2 && s[0] == 0xc2 && s[1] < 0xa0; /* U+0080..U+009F */
}

char *sink_put_escaped(char *to, const uint8_t *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = sink_utf8_len(s + i, len - i);

		if (n > 0 && !is_control(s + i, n)) {
			to = sink_put_text(to, (const char *)s + i, n);
			i += n;
			continue;
		}
		for (size_t k = 0; k < (n ? n : 1); k++, i++) {
			*to++ = '\\';
			*to++ = (char)('0' + (s[i] >> 6));
			*to++ = (char)('0' + (s[i] >> 3 & 7));
			*to++ = (char)('0' + (s[i] & 7));
		}
	}
	return to;
}
