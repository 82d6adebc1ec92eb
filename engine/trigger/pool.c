/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool_piece {
	struct pool_piece *before;
	_Alignas(max_align_t) char bytes[];
};

void *pool_get(struct pool *pool, size_t size)
{
	struct pool_piece *piece = calloc(1, sizeof(*piece) + size);

	if (!piece)
		return NULL;
	piece->before = pool->last;
	pool->last = piece;
	return piece->bytes;
}

char *pool_text(struct pool *pool, const char *text, size_t len)
{
	char *copy = pool_get(pool, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

char *pool_format(struct pool *pool, const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	text = len < 0 ? NULL : pool_get(pool, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, fmt);
	vsnprintf(text, (size_t)len + 1, fmt, args);
	va_end(args);
	return text;
}

void pool_free(struct pool *pool)
{
	struct pool_piece *piece;

	while ((piece = pool->last)) {
		pool->last = piece->before;
		free(piece);
	}
}

void pool_join(struct pool *pool, struct pool *from)
{
	struct pool_piece **at = &from->last;

	while (*at)
		at = &(*at)->before;
	*at = pool->last;
	pool->last = from->last;
	from->last = NULL;
}
