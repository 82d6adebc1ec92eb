/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/map.h"

#include <errno.h>
#include <stdlib.h>

/* So many entries ahead of a walk what it will see is fetched. */
#define AHEAD 16

#define ROOM_FIRST 8

/* Of the table no more than half is taken: who looks for what is not there soon comes to a free place. */
#define CAP_PER_ENTRY 2

static size_t home(const struct map *map, uint64_t key)
{
	/* Fibonacci hashing: addresses differ in the middle bits. */
	return (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 20) & (map->cap - 1);
}

static struct map_entry *entry_at(const struct map *map, size_t i)
{
	return map->table[i] ? &map->entries[map->table[i] - 1] : NULL;
}

/* Where @key is in the table, or would be. */
static size_t find(const struct map *map, uint64_t key)
{
	size_t i = home(map, key);

	while (map->table[i] && map->entries[map->table[i] - 1].key != key)
		i = (i + 1) & (map->cap - 1);
	return i;
}

void *map_get(const struct map *map, uint64_t key)
{
	const struct map_entry *entry = map->cap ? entry_at(map, find(map, key)) : NULL;

	return entry ? entry->value : NULL;
}

void map_fetch_ahead(const struct map *map, uint64_t key)
{
	if (map->cap)
		__builtin_prefetch(&map->table[home(map, key)]);
}

/* Other keys are not equal to @key: the first free place is its own. */
static void enter(struct map *map, uint64_t key, uint32_t number)
{
	size_t i = home(map, key);

	while (map->table[i])
		i = (i + 1) & (map->cap - 1);
	map->table[i] = number;
}

static int grow_entries(struct map *map, size_t room)
{
	struct map_entry *entries = reallocarray(map->entries, room, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	map->entries = entries;
	map->room = room;
	return 0;
}

static int grow_table(struct map *map, size_t cap)
{
	uint32_t *table = calloc(cap, sizeof(*table));

	if (!table)
		return -ENOMEM;
	free(map->table);
	map->table = table;
	map->cap = cap;
	for (size_t i = 0; i < map->n; i++)
		enter(map, map->entries[i].key, (uint32_t)(i + 1));
	return 0;
}

int map_keep_room(struct map *map, size_t n)
{
	size_t room = map->room ? map->room : ROOM_FIRST, cap;

	if (n <= map->room)
		return 0;
	if (n > UINT32_MAX / CAP_PER_ENTRY)
		return -ENOMEM;
	while (room < n)
		room *= 2;
	cap = room * CAP_PER_ENTRY;
	/* The table first: with more of it than entries need, the map is as good as before. */
	if (cap > map->cap && grow_table(map, cap) < 0)
		return -ENOMEM;
	return grow_entries(map, room);
}

void **map_place(struct map *map, uint64_t key)
{
	struct map_entry *entry;
	size_t i;

	if (map_keep_room(map, map->n + 1) < 0)
		return NULL;
	i = find(map, key);
	entry = entry_at(map, i);
	if (!entry) {
		entry = &map->entries[map->n++];
		map->table[i] = (uint32_t)map->n;
		*entry = (struct map_entry){ .key = key };
	}
	return &entry->value;
}

int map_put(struct map *map, uint64_t key, void *value)
{
	void **place = map_place(map, key);

	if (!place)
		return -ENOMEM;
	*place = value;
	return 0;
}

int map_put_within(struct map *map, uint64_t key, void *value, size_t looks)
{
	size_t i = map->cap ? home(map, key) : 0;

	for (size_t n = 0; map->cap && map->table[i] && entry_at(map, i)->key != key; n++) {
		if (n == looks)
			return -ELOOP;
		i = (i + 1) & (map->cap - 1);
	}
	return map_put(map, key, value);
}

/* The table's place @hole is free: close the gap, so that no look-up ends at it too early. */
static void close_gap(struct map *map, size_t hole)
{
	size_t mask = map->cap - 1;

	for (size_t i = (hole + 1) & mask; map->table[i]; i = (i + 1) & mask) {
		size_t want = home(map, entry_at(map, i)->key);

		if (((i - want) & mask) >= ((i - hole) & mask)) {
			map->table[hole] = map->table[i];
			hole = i;
		}
	}
	map->table[hole] = 0;
}

void *map_remove(struct map *map, uint64_t key)
{
	size_t at = map->cap ? find(map, key) : 0;
	struct map_entry *entry = map->cap ? entry_at(map, at) : NULL, *last;
	void *value;

	if (!entry)
		return NULL;
	value = entry->value;
	close_gap(map, at);
	/* The last one comes into its place. */
	last = &map->entries[--map->n];
	if (entry != last) {
		map->table[find(map, last->key)] = (uint32_t)(entry - map->entries) + 1;
		*entry = *last;
	}
	return value;
}

bool map_next(const struct map *map, size_t *pos, uint64_t *ret_key, void **ret_value)
{
	const struct map_entry *entry;

	if (*pos >= map->n)
		return false;
	/* Values lie anywhere: the walk would wait for each. */
	if (*pos + AHEAD < map->n)
		__builtin_prefetch(map->entries[*pos + AHEAD].value);
	entry = &map->entries[(*pos)++];
	if (ret_key)
		*ret_key = entry->key;
	if (ret_value)
		*ret_value = entry->value;
	return true;
}

void map_free(struct map *map)
{
	free(map->entries);
	free(map->table);
	*map = (struct map){ 0 };
}
