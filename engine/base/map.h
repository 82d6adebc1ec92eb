/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A hash map from 64-bit keys (addresses, thread ids) to pointers. The entries stand one behind the other, in the
 * order in which they came until one is taken out, so a walk of very many is as quick as one of an array. A table of their
 * numbers finds them: open addressing, grows by doubling; a look-up is one multiplication and usually one probe. Values
 * are never NULL. Not thread-safe.
 */

#ifndef UBP_BASE_MAP_H
#define UBP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	void *value;
};

/* Zero-initialise. */
struct map {
	struct map_entry *entries;
	size_t n, room;  /* entries; how many there is memory for */
	uint32_t *table; /* numbers of entries, from 1 on; 0: free */
	size_t cap;      /* of .table: 0 or a power of two */
};

/* The value of @key, or NULL. */
void *map_get(const struct map *map, uint64_t key);

/* Set or replace. Returns 0 or -ENOMEM. */
int map_put(struct map *map, uint64_t key, void *value);

/* @key will be looked for soon: of many, what that needs is fetched while others are looked for. */
void map_fetch_ahead(const struct map *map, uint64_t key);

/*
 * Where the value of @key is. NULL stands there if it has come just now: the caller puts a value there before anything else is done with the
 * map. Returns NULL if memory is short.
 */
void **map_place(struct map *map, uint64_t key);

/* Room for @n in all, 2^31 at most: so many are put without memory being asked for. Returns 0 or -ENOMEM. */
int map_keep_room(struct map *map, size_t n);

/*
 * As map_put(), for a key that somebody else has chosen, perhaps so that it takes long to find:
 * -ELOOP if more than @looks others are in its way.
 */
int map_put_within(struct map *map, uint64_t key, void *value, size_t looks);

/* Take out; returns what was there, or NULL. */
void *map_remove(struct map *map, uint64_t key);

/*
 * Walk: start with *pos = 0, ends with false. The map must not change
 * meanwhile. Either out-parameter may be NULL.
 */
bool map_next(const struct map *map, size_t *pos, uint64_t *ret_key, void **ret_value);

/* Free the map (not the values); leaves it empty. */
void map_free(struct map *map);

#endif
