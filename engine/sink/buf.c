/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/buf.h"

#include <errno.h>
#include <stdarg.h>
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
