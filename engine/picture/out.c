/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void out_begin(struct out *out, const struct picture_ops *ops)
{
	out->ops = ops;
	out->len = 0;
}

void out_end(struct out *out)
{
	if (out->len)
		out->ops->put(out->ops->ctx, out->buf, out->len);
	out->len = 0;
}

static void put(struct out *out, const char *text, size_t len)
{
	while (len) {
		size_t n = sizeof(out->buf) - out->len;

		n = len < n ? len : n;
		memcpy(out->buf + out->len, text, n);
		out->len += n;
		text += n;
		len -= n;
		if (out->len == sizeof(out->buf))
			out_end(out);
	}
}

void out_text(struct out *out, const char *text)
{
	put(out, text, strlen(text));
}

/* For numbers and short words: 255 bytes at most. */
void out_printf(struct out *out, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(out, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* What would end the script element, begin a comment in it, or end the string is written by its number. */
void out_json(struct out *out, const char *text, size_t len)
{
	put(out, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f || strchr("\"\\<>&", c))
			out_printf(out, "\\u%04x", c);
		else
			put(out, text + i, 1);
	}
	put(out, "\"", 1);
}

void out_xml(struct out *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f)
			put(out, "?", 1);
		else if (strchr("\"'<>&", c))
			out_printf(out, "&#%u;", c);
		else
			put(out, text + i, 1);
	}
}

static void put_three(struct out *out, const uint8_t b[3], unsigned n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4] = { digits[b[0] >> 2], digits[(b[0] & 3) << 4 | b[1] >> 4],
			 n > 1 ? digits[(b[1] & 15) << 2 | b[2] >> 6] : '=',
			 n > 2 ? digits[b[2] & 63] : '=' };

	put(out, text, 4);
}

void out_base64(struct out *out, struct out_base64 *state, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < len; i++) {
		state->rest[state->n++] = b[i];
		if (state->n == 3) {
			put_three(out, state->rest, 3);
			state->n = 0;
		}
	}
	if (len || !state->n)
		return;
	for (unsigned i = state->n; i < 3; i++)
		state->rest[i] = 0;
	put_three(out, state->rest, state->n);
	state->n = 0;
}
