/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes by file and offset: what a mapping calls for is found among ten thousands. */

#include "engine/space/probe_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/sort.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"

static const struct probe_list empty;

static int compare(const void *pa, const void *pb)
{
	const struct uprobe *a = *(struct uprobe *const *)pa;
	const struct uprobe *b = *(struct uprobe *const *)pb;

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	if (a->foffset != b->foffset)
		return a->foffset < b->foffset ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Of two probes at one place: by number. */
static uint64_t key(const void *probe_ptr, unsigned k)
{
	const struct uprobe *probe = probe_ptr;
	const uint64_t keys[] = { probe->dev, probe->ino, probe->foffset, probe->number };

	return keys[k];
}

static int sort(struct probe_list *list)
{
	struct sort_item *items = malloc((list->n + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++)
		items[i].value = list->v[i];
	sort_items_by(items, list->n, 4, key);
	for (size_t i = 0; i < list->n; i++)
		list->v[i] = items[i].value;
	free(items);
	return 0;
}

int probe_lists_init(struct plant *plant)
{
	return pthread_mutex_init(&plant->list_lock, NULL) ? -ENOMEM : 0;
}

void probe_lists_free(struct plant *plant)
{
	probe_list_put(plant->list);
	plant->list = NULL;
	pthread_mutex_destroy(&plant->list_lock);
}

static bool is_in(const unsigned *numbers, size_t n, unsigned number)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

static void append(struct probe_list *list, struct uprobe *probe)
{
	list->v[list->n++] = uprobe_get(probe);
	list->has_returns |= probe->kind == PROBE_RETURN;
	list->has_refs |= probe->ref != 0;
	if (probe->number >= list->n_numbers)
		list->n_numbers = probe->number + 1;
}

/* Those who look at the old one have it, or take this. */
static void publish(struct plant *plant, struct probe_list *list)
{
	struct probe_list *old;

	pthread_mutex_lock(&plant->list_lock);
	old = plant->list;
	plant->list = list;
	pthread_mutex_unlock(&plant->list_lock);
	probe_list_put(old);
}

int probe_list_change(struct plant *plant, struct uprobe *const *added, size_t n_added,
		      const unsigned *retired, size_t n_retired)
{
	const struct probe_list *old = probe_list(plant);
	struct probe_list *list = calloc(1, sizeof(*list));

	if (list)
		list->v = calloc(old->n + n_added + 1, sizeof(*list->v));
	if (!list || !list->v) {
		free(list);
		return -ENOMEM;
	}
	list->refs = 1;
	list->version = old->version + 1;
	list->n_numbers = old->n_numbers;
	for (size_t i = 0; i < old->n; i++)
		if (!is_in(retired, n_retired, old->v[i]->number))
			append(list, old->v[i]);
	for (size_t i = 0; i < n_added; i++)
		append(list, added[i]);
	if (sort(list) < 0) {
		probe_list_put(list);
		return -ENOMEM;
	}
	publish(plant, list);
	return 0;
}

const struct probe_list *probe_list(const struct plant *plant)
{
	return plant->list ? plant->list : &empty;
}

struct probe_list *probe_list_get(struct plant *plant)
{
	struct probe_list *list;

	pthread_mutex_lock(&plant->list_lock);
	list = plant->list;
	if (list)
		__atomic_fetch_add(&list->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&plant->list_lock);
	return list ? list : (struct probe_list *)&empty;
}

void probe_list_put(struct probe_list *list)
{
	if (!list || list == &empty || __atomic_sub_fetch(&list->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < list->n; i++)
		uprobe_put(list->v[i]);
	free(list->v);
	free(list);
}

size_t probe_list_first(const struct probe_list *list, uint64_t dev, uint64_t ino,
			uint64_t foffset)
{
	const struct uprobe wanted = { .dev = dev, .ino = ino, .foffset = foffset };
	const struct uprobe *key = &wanted;
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(&list->v[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool probe_list_has_file(const struct probe_list *list, uint64_t dev, uint64_t ino)
{
	size_t i = probe_list_first(list, dev, ino, 0);

	return i < list->n && list->v[i]->dev == dev && list->v[i]->ino == ino;
}
