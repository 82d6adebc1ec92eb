/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/change.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "engine/base/vec.h"
#include "engine/event/ring.h"
#include "engine/plant/plant.h"
#include "engine/plant/renew.h"
#include "engine/plant/semaphore.h"
#include "engine/space/probe_list.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

struct plant_change *plant_change_new(size_t n_added, size_t n_retired)
{
	struct plant_change *change = calloc(1, sizeof(*change));

	if (!change)
		return NULL;
	change->added = calloc(n_added + 1, sizeof(struct uprobe *));
	change->replaced = calloc(n_added + 1, sizeof(*change->replaced));
	change->retired = calloc(n_retired + 1, sizeof(*change->retired));
	if (change->added && change->replaced && change->retired)
		return change;
	plant_change_free(change);
	return NULL;
}

void plant_change_free(struct plant_change *change)
{
	if (!change)
		return;
	for (size_t i = 0; change->added && i < change->n_added; i++)
		uprobe_put(change->added[i]);
	free(change->added);
	free(change->replaced);
	free(change->retired);
	free(change);
}

/* NULL: there is none. */
static struct uprobe *find(const struct probe_list *list, unsigned number)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i]->number == number)
			return list->v[i];
	return NULL;
}

/* There is room for its text. */
static void retire_one(struct plant *plant, struct uprobe *probe)
{
	probe->life.is_retired = true;
	if (probe->no_window)
		plant->texts[plant->n_texts++] = probe->no_window;
	probe->no_window = NULL;
}

static void retire(struct plant *plant, const struct probe_list *list,
		   const struct plant_change *change)
{
	for (size_t i = 0; i < change->n_retired; i++) {
		struct uprobe *probe = find(list, change->retired[i]);

		if (probe && !probe->life.is_retired)
			retire_one(plant, probe);
	}
	for (size_t i = 0; i < change->n_added; i++) {
		struct uprobe *probe = change->replaced[i] == PLANT_CHANGE_NEW
					       ? NULL
					       : find(list, change->replaced[i]);

		if (probe && probe->life.is_retired && !probe->life.successor)
			probe->life.successor = uprobe_get(change->added[i]);
	}
}

/* Has one of those that go a reference counter? */
static bool has_refs(const struct probe_list *list, const struct plant_change *change)
{
	for (size_t i = 0; i < change->n_retired; i++) {
		const struct uprobe *probe = find(list, change->retired[i]);

		if (probe && probe->ref)
			return true;
	}
	return false;
}

static void drop_everywhere(struct plant *plant, const struct tracer *tracer, bool refs)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		const struct process *p = value;

		if (!p->space->plant)
			continue;
		renew_drop(plant, p->space->plant);
		if (refs)
			semaphore_retire(plant, p->space, p->pid);
	}
}

/* Before a detour is made that has one of them. */
static void tell_numbers(const struct plant *plant, const struct plant_change *change)
{
	for (size_t i = 0; plant->opt.rings && i < change->n_added; i++)
		ring_set_n_probes(plant->opt.rings, change->added[i]->number + 1);
}

/* -ENOENT: there is none with such a number. */
static int take_places(const struct probe_list *list, const struct plant_change *change)
{
	int rc = 0;

	for (size_t i = 0; i < change->n_retired; i++)
		if (!find(list, change->retired[i]))
			return -ENOENT;
	for (size_t i = 0; i < change->n_added && rc == 0; i++) {
		const struct uprobe *old = find(list, change->replaced[i]);

		if (change->replaced[i] != PLANT_CHANGE_NEW)
			rc = old ? uprobe_take_place(change->added[i], old) : -ENOENT;
	}
	return rc;
}

int plant_change(struct plant *plant, const struct tracer *tracer, struct plant_change *change)
{
	struct probe_list *before = probe_list_get(plant);
	int rc = take_places(before, change);

	if (rc == 0)
		rc = VEC_FIT(plant->texts, plant->n_texts + change->n_retired + 1);
	if (rc == 0)
		rc = probe_list_change(plant, change->added, change->n_added, change->retired,
				       change->n_retired);
	if (rc == 0) {
		/* What it has found is for the list that was. */
		plant_forget_ahead(plant);
		tell_numbers(plant, change);
		retire(plant, before, change);
		drop_everywhere(plant, tracer, has_refs(before, change));
	}
	probe_list_put(before);
	return rc;
}
