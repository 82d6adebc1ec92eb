/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/map.h"

#include <errno.h>
#include <stdlib.h>

/* So many entries ahead of a walk what it will see is fetched. */
#define AHEAD 16

static size_t home(const struct map *map, uint64_t key)
{
	/* Fibonacci hashing: addresses differ in the middle bits. */
	return (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 20) & (map->cap - 1);
}

static size_t find(const struct map *map, uint64_t key)
{
	size_t i = home(map, key);

	while (map->entries[i].value && map->entries[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return i;
}

void *map_get(const struct map *map, uint64_t key)
{
	return map->cap ? map->entries[find(map, key)].value : NULL;
}

static int grow(struct map *map)
{
	struct map bigger = { .cap = map->cap ? map->cap * 2 : 16 };

	bigger.entries = calloc(bigger.cap, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->cap; i++)
		if (map->entries[i].value)
			bigger.entries[find(&bigger, map->entries[i].key)] = map->entries[i];
	bigger.n = map->n;
	free(map->entries);
	*map = bigger;
	return 0;
}

int map_keep_room(struct map *map, size_t n)
{
	while (n * 4 > map->cap * 3)
		if (grow(map) < 0)
			return -ENOMEM;
	return 0;
}

int map_put(struct map *map, uint64_t key, void *value)
{
	size_t i;

	if (map_keep_room(map, map->n + 1) < 0)
		return -ENOMEM;
	i = find(map, key);
	if (!map->entries[i].value)
		map->n++;
	map->entries[i] = (struct map_entry){ .key = key, .value = value };
	return 0;
}

int map_put_within(struct map *map, uint64_t key, void *value, size_t looks)
{
	size_t i = map->cap ? home(map, key) : 0;

	for (size_t n = 0; map->cap && map->entries[i].value && map->entries[i].key != key;
	     n++) {
		if (n == looks)
			return -ELOOP;
		i = (i + 1) & (map->cap - 1);
	}
	return map_put(map, key, value);
}

void *map_remove(struct map *map, uint64_t key)
{
	size_t mask = map->cap - 1, hole, i;
	void *value;

	if (!map->cap)
		return NULL;
	hole = find(map, key);
	value = map->entries[hole].value;
	if (!value)
		return NULL;
	/* Close the gap, so that no look-up ends at it too early. */
	for (i = (hole + 1) & mask; map->entries[i].value; i = (i + 1) & mask) {
		size_t want = home(map, map->entries[i].key);

		if (((i - want) & mask) >= ((i - hole) & mask)) {
			map->entries[hole] = map->entries[i];
			hole = i;
		}
	}
	map->entries[hole].value = NULL;
	map->n--;
	return value;
}

bool map_next(const struct map *map, size_t *pos, uint64_t *ret_key, void **ret_value)
{
	for (; *pos < map->cap; ++*pos) {
		/* Values lie anywhere: the walk would wait for each. */
		if (*pos + AHEAD < map->cap)
			__builtin_prefetch(map->entries[*pos + AHEAD].value);
		if (!map->entries[*pos].value)
			continue;
		if (ret_key)
			*ret_key = map->entries[*pos].key;
		if (ret_value)
			*ret_value = map->entries[*pos].value;
		++*pos;
		return true;
	}
	return false;
}

void map_free(struct map *map)
{
	free(map->entries);
	*map = (struct map){ 0 };
}
