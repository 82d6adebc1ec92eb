/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A buffer that lines are put together in. */

#ifndef UBP_SINK_BUF_H
#define UBP_SINK_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A text buffer that grows. Zero-initialise; free with sink_buf_free(). */
struct sink_buf {
	char *data;
	size_t len, cap;
	int failed; /* -ENOMEM after a failed growth; then further text is dropped */
};

/* Most characters that sink_put_dec(), _int() and _hex() write. */
#define SINK_NUMBER_MAX 20

__attribute__((format(printf, 2, 3))) void sink_buf_printf(struct sink_buf *buf,
							   const char *fmt, ...);
void sink_buf_free(struct sink_buf *buf);

/* sink_buf_room() where there is not enough. */
char *sink_buf_grow(struct sink_buf *buf, size_t len);

/*
 * The fast way, for text of bounded length: room for @len bytes at the end of
 * the text, or NULL when there is no memory. What was written there is added
 * with sink_buf_end(), which takes the address behind it.
 */
static inline char *sink_buf_room(struct sink_buf *buf, size_t len)
{
	return buf->data && !buf->failed && buf->cap - buf->len >= len
		       ? buf->data + buf->len
		       : sink_buf_grow(buf, len);
}

static inline void sink_buf_end(struct sink_buf *buf, const char *end)
{
	buf->len = (size_t)(end - buf->data);
}

static inline char *sink_put_text(char *to, const char *text, size_t len)
{
	memcpy(to, text, len);
	return to + len;
}

static inline void sink_buf_add(struct sink_buf *buf, const void *data, size_t len)
{
	char *to = sink_buf_room(buf, len);

	if (to)
		sink_buf_end(buf, sink_put_text(to, data, len));
}

static inline void sink_buf_add_text(struct sink_buf *buf, const char *text)
{
	sink_buf_add(buf, text, strlen(text));
}

/*
 * Numbers and text, written at @to. Return the address behind. Several times as
 * fast as printf(), which is what a line consists of otherwise.
 */
char *sink_put_dec(char *to, uint64_t value);
char *sink_put_int(char *to, int64_t value);
char *sink_put_hex(char *to, uint64_t value); /* digits only, no 0x */

/* @width digits of @value, zeros in front. */
char *sink_put_digits(char *to, uint64_t value, unsigned width);

#endif
