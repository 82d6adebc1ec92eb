/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_map.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"

static uint32_t hash_of(const uint8_t *key, size_t size)
{
	uint64_t hash = 0x9e3779b97f4a7c15, word;

	/* The size is a multiple of 8. */
	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, key + i, sizeof(word));
		hash = (hash ^ word) * 0xff51afd7ed558ccd;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

/* Where @key is, or would be. */
static uint32_t *place_of(const struct hist_map *map, const uint8_t *key, uint32_t hash)
{
	size_t i = hash & (map->n_places - 1);

	while (map->places[i]) {
		const struct hist_entry *entry = map->entries[map->places[i] - 1];

		if (entry->hash == hash && memcmp(entry->key, key, map->key_size) == 0)
			break;
		i = (i + 1) & (map->n_places - 1);
	}
	return &map->places[i];
}

struct hist_entry *hist_map_find(const struct hist_map *map, const uint8_t *key)
{
	uint32_t number;

	if (!map->n)
		return NULL;
	number = *place_of(map, key, hash_of(key, map->key_size));
	return number ? map->entries[number - 1] : NULL;
}

static bool grow(struct hist_map *map)
{
	size_t n = map->n_places ? 2 * map->n_places : 16;
	uint32_t *places = calloc(n, sizeof(*places));

	if (!places)
		return false;
	free(map->places);
	map->places = places;
	map->n_places = n;
	for (size_t i = 0; i < map->n; i++)
		*place_of(map, map->entries[i]->key, map->entries[i]->hash) = (uint32_t)i + 1;
	return true;
}

static struct hist_entry *make(struct hist_map *map, const uint8_t *key, uint32_t hash)
{
	struct hist_entry *entry = calloc(1, sizeof(*entry) + map->key_size);

	if (!entry)
		return NULL;
	if (map->n_vars)
		entry->vars = calloc(map->n_vars, sizeof(*entry->vars));
	if ((map->n_vars && !entry->vars) || VEC_DOUBLE(map->entries, map->n) < 0) {
		free(entry->vars);
		free(entry);
		return NULL;
	}
	entry->hash = hash;
	memcpy(entry->key, key, map->key_size);
	map->entries[map->n++] = entry;
	return entry;
}

struct hist_entry *hist_map_hit(struct hist_map *map, const uint8_t *key, uint64_t n_hits,
				bool *ret_new)
{
	uint32_t hash = hash_of(key, map->key_size), *place;
	struct hist_entry *entry = NULL;

	*ret_new = false;
	if (2 * (map->n + 1) <= map->n_places || grow(map)) {
		place = place_of(map, key, hash);
		if (*place)
			entry = map->entries[*place - 1];
		else if (map->n < (size_t)1 << map->bits && (entry = make(map, key, hash))) {
			*place = (uint32_t)map->n;
			*ret_new = true;
		}
	}
	if (entry)
		map->hits += n_hits;
	else
		map->drops += n_hits;
	return entry;
}

bool hist_var_set(struct hist_var *var, uint64_t number, const void *bytes, size_t len)
{
	if (bytes && !var->bytes) {
		var->bytes = calloc(1, HIST_KEY_MAX);
		if (!var->bytes)
			return false;
	}
	if (bytes) {
		var->len = len < HIST_KEY_MAX ? len : HIST_KEY_MAX - 1;
		memmove(var->bytes, bytes, var->len);
		var->bytes[var->len] = '\0';
		number = (uintptr_t)var->bytes;
	}
	var->number = number;
	var->is_set = true;
	return true;
}

void hist_map_clear(struct hist_map *map)
{
	for (size_t i = 0; i < map->n; i++) {
		for (size_t k = 0; map->entries[i]->vars && k < map->n_vars; k++)
			free(map->entries[i]->vars[k].bytes);
		free(map->entries[i]->vars);
		free(map->entries[i]);
	}
	free(map->entries);
	free(map->places);
	map->entries = NULL;
	map->places = NULL;
	map->n = map->n_places = 0;
	map->hits = map->drops = 0;
}
