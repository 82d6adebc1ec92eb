/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes by file and offset: what a mapping calls for is found among ten thousands. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plant/plant.h"

/* Of two probes at one place: by number. */
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

int plant_sort(struct plant *plant)
{
	size_t n = plant->n_probes;

	plant->by_place = malloc((n + 1) * sizeof(struct uprobe *));
	if (!plant->by_place)
		return -ENOMEM;
	if (n)
		memcpy(plant->by_place, plant->probes, n * sizeof(struct uprobe *));
	qsort(plant->by_place, n, sizeof(struct uprobe *), compare);
	return 0;
}

void plant_sort_free(struct plant *plant)
{
	free(plant->by_place);
	plant->by_place = NULL;
}

size_t plant_first_in(const struct plant *plant, uint64_t dev, uint64_t ino, uint64_t foffset)
{
	const struct uprobe wanted = { .dev = dev, .ino = ino, .foffset = foffset };
	const struct uprobe *key = &wanted;
	size_t low = 0, high = plant->n_probes;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(&plant->by_place[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool plant_probes_file(const struct plant *plant, uint64_t dev, uint64_t ino)
{
	size_t i = plant_first_in(plant, dev, ino, 0);

	return i < plant->n_probes && plant->by_place[i]->dev == dev &&
	       plant->by_place[i]->ino == ino;
}
