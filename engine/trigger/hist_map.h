/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of a histogram: entries by key bytes, as many as were asked for and not one more; what finds no room is
 * counted.
 */

#ifndef UBP_TRIGGER_HIST_MAP_H
#define UBP_TRIGGER_HIST_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIST_VALUES_MAX 3
#define HIST_VARS_MAX   16
#define HIST_KEYS_MAX   3
#define HIST_KEY_MAX    384

/* What a variable holds. .bytes is the variable's own, and stays where it is: strings, and the entries of stacks. */
struct hist_var {
	bool is_set;
	uint64_t number;
	uint8_t *bytes;
	size_t len;
};

struct hist_entry {
	uint64_t sums[HIST_VALUES_MAX];
	struct hist_var *vars; /* NULL: the histogram has none */
	char comm[16];
	uint32_t hash;
	uint8_t key[];
};

struct hist_map {
	unsigned bits;
	size_t key_size, n_vars;
	struct hist_entry **entries;
	size_t n;
	uint32_t *places; /* numbers of entries, from 1 on */
	size_t n_places;
	uint64_t hits, drops;
};

/* NULL: there is none. */
struct hist_entry *hist_map_find(const struct hist_map *map, const uint8_t *key);
/* The entry of @key, new (*ret_new) if there was none: so many hits. NULL: they were dropped. */
struct hist_entry *hist_map_hit(struct hist_map *map, const uint8_t *key, uint64_t n_hits,
				bool *ret_new);
/* Set a variable. False: memory is short. */
bool hist_var_set(struct hist_var *var, uint64_t number, const void *bytes, size_t len);
void hist_map_clear(struct hist_map *map);

#endif
