/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *sink_buf_grow(struct sink_buf *buf, size_t len)
{
	size_t cap = buf->cap ? buf->cap : 512;
	char *data;

	if (buf->failed)
		return NULL;
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

/* --- numbers: two digits at a time ----------------------------------------------------------- */

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

static unsigned n_digits(uint64_t value)
{
	unsigned n = 1;

	for (; value >= 100000000; n += 8)
		value /= 100000000;
	for (uint32_t low = (uint32_t)value; low >= 10; n++)
		low /= 10;
	return n;
}

char *sink_put_digits(char *to, uint64_t value, unsigned width)
{
	unsigned i = width;
	uint32_t low;

	for (; i >= 2 && value > UINT32_MAX; i -= 2, value /= 100)
		memcpy(to + i - 2, pairs + 2 * (value % 100), 2);
	/* Divided faster. */
	for (low = (uint32_t)value; i >= 2; i -= 2, low /= 100)
		memcpy(to + i - 2, pairs + 2 * (low % 100), 2);
	if (i)
		*to = (char)('0' + low % 10);
	return to + width;
}

char *sink_put_dec(char *to, uint64_t value)
{
	return sink_put_digits(to, value, n_digits(value));
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
	int n = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	for (int i = n - 1; i >= 0; i--, value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
	return to + n;
}
