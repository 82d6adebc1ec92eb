/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/vec.h"

#define STRETCHES 256

/* --- events ---------------------------------------------------------------------------------- */

static bool is_kept(const struct kept_events *events, uint64_t number)
{
	return (number / KEPT_RUN & ((1ULL << events->every_log2) - 1)) == 0;
}

static void drop_half(struct kept_events *events)
{
	size_t n = 0;

	events->every_log2++;
	for (size_t i = 0; i < events->n; i++) {
		if (is_kept(events, events->v[i].number))
			events->v[n++] = events->v[i];
		else
			free(events->v[i].text);
	}
	events->n = n;
}

bool kept_events_wants(struct kept_events *events)
{
	if (events->n >= KEPT_EVENTS_MAX)
		drop_half(events);
	return is_kept(events, events->n_all++);
}

int kept_events_add(struct kept_events *events, const struct kept_event *event)
{
	if (VEC_ROOM(events->v, &events->cap, events->n) < 0) {
		free(event->text);
		return -ENOMEM;
	}
	events->v[events->n] = *event;
	events->v[events->n++].number = events->n_all - 1;
	return 0;
}

void kept_events_free(struct kept_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->v[i].text);
	free(events->v);
	*events = (struct kept_events){ 0 };
}

/* --- calls ----------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	double x = ((const struct kept_call *)a)->start,
	       y = ((const struct kept_call *)b)->start;

	return (x > y) - (x < y);
}

static int by_length(const void *a, const void *b)
{
	double x = ((const struct kept_call *)a)->dur, y = ((const struct kept_call *)b)->dur;

	return (x < y) - (x > y);
}

/* Where each stretch of time ends among calls that are sorted by start. */
static void find_stretches(const struct kept_calls *calls, size_t ends[STRETCHES])
{
	double first = calls->v[0].start, span = calls->v[calls->n - 1].start - first;
	size_t i = 0;

	for (unsigned k = 0; k < STRETCHES; k++) {
		double until = first + span * (k + 1) / STRETCHES;

		while (i < calls->n && (calls->v[i].start < until || k == STRETCHES - 1))
			i++;
		ends[k] = i;
	}
}

/* How many of each stretch, so that all are half of what there may be. */
static size_t share(const size_t ends[STRETCHES])
{
	for (size_t most = KEPT_CALLS_MAX / 2;; most = most * 7 / 8) {
		size_t sum = 0, from = 0;

		for (unsigned k = 0; k < STRETCHES; from = ends[k++])
			sum += ends[k] - from < most ? ends[k] - from : most;
		if (sum <= KEPT_CALLS_MAX / 2)
			return most;
	}
}

static void thin(struct kept_calls *calls)
{
	size_t ends[STRETCHES], most, n = 0, from = 0;

	qsort(calls->v, calls->n, sizeof(calls->v[0]), by_start);
	find_stretches(calls, ends);
	most = share(ends);
	for (unsigned k = 0; k < STRETCHES; from = ends[k++]) {
		size_t in = ends[k] - from;

		qsort(calls->v + from, in, sizeof(calls->v[0]), by_length);
		for (size_t i = 0; i < in && i < most; i++)
			calls->v[n++] = calls->v[from + i];
	}
	calls->n = n;
	calls->is_thinned = true;
}

void kept_calls_add(struct kept_calls *calls, const struct kept_call *call)
{
	calls->n_all++;
	if (calls->n >= KEPT_CALLS_MAX)
		thin(calls);
	if (VEC_ROOM(calls->v, &calls->cap, calls->n) == 0)
		calls->v[calls->n++] = *call;
}

void kept_calls_end(struct kept_calls *calls)
{
	if (calls->is_thinned && calls->n > KEPT_CALLS_MAX / 2)
		thin(calls);
	if (calls->n)
		qsort(calls->v, calls->n, sizeof(calls->v[0]), by_start);
}

void kept_calls_free(struct kept_calls *calls)
{
	free(calls->v);
	*calls = (struct kept_calls){ 0 };
}
