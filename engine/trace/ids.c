/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/ids.h"

#include <stdlib.h>

#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

#define ROOM_FIRST 64

/* Threads, and as many processes at most, one of which is about to get its first. */
static size_t most_ids(const struct tracer *tracer)
{
	size_t n = tracer->tracees.n;

	return (n > tracer->processes.n ? n : tracer->processes.n) + 2;
}

bool ids_keep_room(struct tracer *tracer)
{
	struct ids_room *room = &tracer->ids;
	size_t needed = most_ids(tracer), cap;
	unsigned i = 0;

	for (; i < IDS_LISTS; i++) {
		pid_t *larger;

		/* Who goes through one has all that there were when it was taken. */
		if (room->caps[i] >= needed || room->taken[i])
			continue;
		cap = needed < ROOM_FIRST ? ROOM_FIRST : 2 * needed;
		larger = realloc(room->lists[i], cap * sizeof(*larger));
		if (!larger)
			return false;
		room->lists[i] = larger;
		room->caps[i] = cap;
	}
	return true;
}

/* A list with room for @n. */
static pid_t *take(struct tracer *tracer, size_t n)
{
	struct ids_room *room = &tracer->ids;

	for (unsigned i = 0; i < IDS_LISTS; i++) {
		if (room->taken[i] || room->caps[i] < n)
			continue;
		room->taken[i] = true;
		return room->lists[i];
	}
	return malloc(n * sizeof(pid_t));
}

void ids_give(struct tracer *tracer, pid_t *ids)
{
	struct ids_room *room = &tracer->ids;

	for (unsigned i = 0; ids && i < IDS_LISTS; i++) {
		if (room->lists[i] == ids) {
			room->taken[i] = false;
			return;
		}
	}
	free(ids);
}

pid_t *space_ids(struct tracer *tracer, const struct space *space, const struct process *only,
		 size_t *ret_n)
{
	size_t max = 1, n = 0;
	pid_t *ids;

	for (const struct process *p = space->processes; p; p = p->next)
		max += p->n_tracees;
	ids = take(tracer, max);
	for (const struct tracee *t = NULL; ids && (t = space_next(space, t));)
		if (!only || t->process == only)
			ids[n++] = t->tid;
	*ret_n = n;
	return ids;
}

pid_t *tracer_pids(struct tracer *tracer, size_t *ret_n)
{
	pid_t *pids = take(tracer, tracer->processes.n + 1);
	size_t pos = 0, n = 0;
	uint64_t pid;

	while (pids && map_next(&tracer->processes, &pos, &pid, NULL))
		pids[n++] = (pid_t)pid;
	*ret_n = n;
	return pids;
}

pid_t *tracer_tids(struct tracer *tracer, size_t *ret_n)
{
	pid_t *tids = take(tracer, tracer->tracees.n + 1);
	size_t pos = 0, n = 0;
	uint64_t tid;

	while (tids && map_next(&tracer->tracees, &pos, &tid, NULL))
		tids[n++] = (pid_t)tid;
	*ret_n = n;
	return tids;
}

void ids_fini(struct tracer *tracer)
{
	for (unsigned i = 0; i < IDS_LISTS; i++)
		free(tracer->ids.lists[i]);
}
