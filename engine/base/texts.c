/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"

struct text {
	struct text *next; /* of the same hash */
	size_t number, len;
	char bytes[];
};

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	return hash;
}

int64_t texts_number(struct texts *texts, const char *bytes, size_t len)
{
	uint64_t hash = hash_of(bytes, len);
	struct text *first = map_get(&texts->by_hash, hash), *t = first;

	while (t && (t->len != len || memcmp(t->bytes, bytes, len) != 0))
		t = t->next;
	if (t)
		return (int64_t)t->number;
	if (VEC_ROOM(texts->v, &texts->cap, texts->n) < 0)
		return -ENOMEM;
	t = malloc(sizeof(*t) + len + 1);
	if (!t || map_put(&texts->by_hash, hash, t) < 0) {
		free(t);
		return -ENOMEM;
	}
	*t = (struct text){ .next = first, .number = texts->n, .len = len };
	memcpy(t->bytes, bytes, len);
	t->bytes[len] = '\0';
	texts->v[texts->n++] = t;
	return (int64_t)t->number;
}

const char *texts_get(const struct texts *texts, uint64_t number)
{
	return number < texts->n ? texts->v[number]->bytes : NULL;
}

void texts_free(struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->v[i]);
	free(texts->v);
	map_free(&texts->by_hash);
	*texts = (struct texts){ 0 };
}
