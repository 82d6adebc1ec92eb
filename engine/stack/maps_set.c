/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/maps_set.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/event/clock.h"

/* Mappings of one process at one time, or of several that have the same. */
struct kept {
	struct maps maps;
	uint64_t hash;
	size_t n_entries;
	struct kept *next; /* of the same hash */
};

struct entry {
	pid_t pid;
	uint32_t before;   /* number of the process's last one before this; 0: none */
	struct kept *kept; /* NULL: swept */
	uint64_t gone_ns;  /* 0: it is not */
};

struct stack_maps_set {
	pthread_mutex_t lock; /* what follows */
	struct entry *entries;
	size_t n, cap, n_gone;
	struct map by_hash; /* -> struct kept */
	struct map by_pid;  /* -> number of the last */
};

struct stack_maps_set *stack_maps_set_new(void)
{
	struct stack_maps_set *set = calloc(1, sizeof(*set));

	if (set)
		pthread_mutex_init(&set->lock, NULL);
	return set;
}

void stack_maps_set_free(struct stack_maps_set *set)
{
	size_t pos = 0;
	void *value;

	if (!set)
		return;
	while (map_next(&set->by_hash, &pos, NULL, &value))
		for (struct kept *kept = value, *next; kept; kept = next) {
			next = kept->next;
			maps_free(&kept->maps);
			free(kept);
		}
	map_free(&set->by_hash);
	map_free(&set->by_pid);
	free(set->entries);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

static uint64_t add_to_hash(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct maps *maps)
{
	uint64_t hash = maps->n;

	for (size_t i = 0; i < maps->n; i++) {
		hash = add_to_hash(hash, maps->v[i].start);
		hash = add_to_hash(hash, maps->v[i].end);
		hash = add_to_hash(hash, maps->v[i].ino);
	}
	return hash;
}

static bool is_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->foffset == b->foffset &&
	       a->dev == b->dev && a->ino == b->ino && a->exec == b->exec &&
	       strcmp(a->path, b->path) == 0;
}

static bool is_same(const struct maps *a, const struct maps *b)
{
	size_t i = 0;

	if (a->n != b->n || a->is_our_root != b->is_our_root)
		return false;
	while (i < a->n && is_same_mapping(&a->v[i], &b->v[i]))
		i++;
	return i == a->n;
}

/* Data come and go all the time, and no stack leads there. */
static void leave_out_data(struct maps *maps)
{
	size_t kept = 0;

	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].exec)
			maps->v[kept++] = maps->v[i];
	maps->n = kept;
}

/* A copy that takes no more room than it needs. */
static int copy(const struct maps *from, struct maps *ret_maps)
{
	size_t len = 0;
	char *text;

	for (size_t i = 0; i < from->n; i++)
		len += strlen(from->v[i].path) + 1;
	*ret_maps = (struct maps){ .v = malloc(from->n * sizeof(*from->v) + 1),
				   .text = malloc(len + 1),
				   .n = from->n,
				   .is_our_root = from->is_our_root };
	if (!ret_maps->v || !ret_maps->text) {
		maps_free(ret_maps);
		return -ENOMEM;
	}
	text = ret_maps->text;
	for (size_t i = 0; i < from->n; i++) {
		ret_maps->v[i] = from->v[i];
		ret_maps->v[i].path = text;
		text = stpcpy(text, from->v[i].path) + 1;
	}
	return 0;
}

/* NULL: memory is short. */
static struct kept *keep(struct stack_maps_set *set, const struct maps *maps)
{
	uint64_t hash = hash_of(maps);
	struct kept *first = map_get(&set->by_hash, hash), *kept = first;

	while (kept && !is_same(&kept->maps, maps))
		kept = kept->next;
	if (kept)
		return kept;
	kept = calloc(1, sizeof(*kept));
	if (kept && copy(maps, &kept->maps) == 0) {
		kept->next = first;
		kept->hash = hash;
		if (map_put(&set->by_hash, hash, kept) == 0)
			return kept;
		maps_free(&kept->maps);
	}
	free(kept);
	return NULL;
}

static void drop(struct stack_maps_set *set, struct kept *kept)
{
	struct kept *first = map_get(&set->by_hash, kept->hash), **at = &first;

	while (*at != kept)
		at = &(*at)->next;
	*at = kept->next;
	/* Replacing a value takes no memory. */
	if (first)
		(void)map_put(&set->by_hash, kept->hash, first);
	else
		(void)map_remove(&set->by_hash, kept->hash);
	maps_free(&kept->maps);
	free(kept);
}

/* The lock is held. */
static uint32_t add(struct stack_maps_set *set, pid_t pid, struct kept *kept)
{
	uintptr_t last = (uintptr_t)map_get(&set->by_pid, (uint64_t)pid);

	if (last && set->entries[last - 1].gone_ns)
		last = 0; /* another process of that number */
	if (last && set->entries[last - 1].kept == kept)
		return (uint32_t)last;
	if (set->n == UINT32_MAX || VEC_ROOM(set->entries, &set->cap, set->n) < 0 ||
	    map_put(&set->by_pid, (uint64_t)pid, (void *)(uintptr_t)(set->n + 1)) < 0)
		return 0;
	set->entries[set->n++] =
		(struct entry){ .pid = pid, .before = (uint32_t)last, .kept = kept };
	kept->n_entries++;
	return (uint32_t)set->n;
}

uint32_t stack_maps_set_add(struct stack_maps_set *set, pid_t pid, struct maps *maps)
{
	struct kept *kept;
	uint32_t number = 0;

	leave_out_data(maps);
	pthread_mutex_lock(&set->lock);
	kept = keep(set, maps);
	if (kept)
		number = add(set, pid, kept);
	if (kept && !kept->n_entries)
		drop(set, kept);
	pthread_mutex_unlock(&set->lock);
	maps_free(maps);
	return number;
}

const struct maps *stack_maps_set_get(struct stack_maps_set *set, uint32_t number,
				      pid_t *ret_pid)
{
	const struct maps *maps = NULL;

	pthread_mutex_lock(&set->lock);
	if (number && number <= set->n && set->entries[number - 1].kept) {
		maps = &set->entries[number - 1].kept->maps;
		*ret_pid = set->entries[number - 1].pid;
	}
	pthread_mutex_unlock(&set->lock);
	return maps;
}

void stack_maps_set_gone(struct stack_maps_set *set, uint32_t number)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	pthread_mutex_lock(&set->lock);
	while (number && number <= set->n && !set->entries[number - 1].gone_ns) {
		set->entries[number - 1].gone_ns = now;
		set->n_gone++;
		number = set->entries[number - 1].before;
	}
	pthread_mutex_unlock(&set->lock);
}

size_t stack_maps_set_n_gone(struct stack_maps_set *set)
{
	size_t n;

	pthread_mutex_lock(&set->lock);
	n = set->n_gone;
	pthread_mutex_unlock(&set->lock);
	return n;
}

/* The lock is held. */
static void sweep_one(struct stack_maps_set *set, uint32_t number)
{
	struct entry *entry = &set->entries[number - 1];
	struct kept *kept = entry->kept;

	entry->kept = NULL;
	set->n_gone--;
	if (map_get(&set->by_pid, (uint64_t)entry->pid) == (void *)(uintptr_t)number)
		(void)map_remove(&set->by_pid, (uint64_t)entry->pid);
	if (--kept->n_entries == 0)
		drop(set, kept);
}

void stack_maps_set_sweep(struct stack_maps_set *set, uint64_t ns)
{
	pthread_mutex_lock(&set->lock);
	for (uint32_t i = 0; i < set->n && set->n_gone; i++)
		if (set->entries[i].kept && set->entries[i].gone_ns &&
		    set->entries[i].gone_ns < ns)
			sweep_one(set, i + 1);
	pthread_mutex_unlock(&set->lock);
}
