/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/names.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"

/* Who chooses texts so that they have the same hash gets "(other)" for them. */
#define TRIES_MAX 32

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	return hash;
}

static uint32_t add(struct names *names, uint64_t hash, const char *text, size_t len)
{
	char *copy;

	if (names->n >= NAMES_MAX || VEC_ROOM(names->v, &names->cap, names->n) < 0)
		return NAMES_OTHER;
	copy = strndup(text, len);
	if (!copy || map_put(&names->by_hash, hash, (void *)(uintptr_t)(names->n + 1)) < 0) {
		free(copy);
		return NAMES_OTHER;
	}
	names->v[names->n] = copy;
	return (uint32_t)names->n++;
}

/* Not in the middle of a character. */
static size_t cut(const char *text, size_t len)
{
	if (len <= NAME_LEN_MAX)
		return len;
	len = NAME_LEN_MAX;
	while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

uint32_t names_find(struct names *names, const char *text, size_t len)
{
	uint64_t hash;

	if (!names->n) {
		static const char other[] = "(other)";

		/* The number of what does not fit. */
		(void)add(names, hash_of(other, sizeof(other) - 1), other, sizeof(other) - 1);
	}
	len = cut(text, len);
	hash = hash_of(text, len);
	for (unsigned tries = 0; tries < TRIES_MAX; tries++, hash++) {
		uintptr_t at = (uintptr_t)map_get(&names->by_hash, hash);

		if (!at)
			return add(names, hash, text, len);
		if (strlen(names->v[at - 1]) == len && memcmp(names->v[at - 1], text, len) == 0)
			return (uint32_t)(at - 1);
	}
	return NAMES_OTHER;
}

const char *names_text(const struct names *names, uint32_t number)
{
	return number < names->n ? names->v[number] : "(other)";
}

void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	map_free(&names->by_hash);
	*names = (struct names){ 0 };
}
