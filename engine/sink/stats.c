/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"

static struct stats *stats_of(struct sink *sink)
{
	return (struct stats *)sink;
}

/* --- counting --------------------------------------------------------------------------- */

static struct stats_function *function_at(struct stats *s, const struct calls_function *f)
{
	while (s->n_functions <= f->number) {
		if (VEC_ROOM(s->functions, &s->cap_functions, s->n_functions) < 0)
			return NULL;
		s->functions[s->n_functions++] = (struct stats_function){ .min = UINT64_MAX };
	}
	s->functions[f->number].function = f;
	return &s->functions[f->number];
}

static struct stats_path *path_at(struct stats *s, uint32_t path)
{
	while (s->n_paths <= path) {
		if (VEC_ROOM(s->paths, &s->cap_paths, s->n_paths) < 0)
			return NULL;
		s->paths[s->n_paths++] = (struct stats_path){ 0 };
	}
	return &s->paths[path];
}

static void count(struct stats_function *f, const struct call *call, uint64_t weight)
{
	uint64_t time = call->end_ns - call->start_ns;

	f->n += weight;
	f->self += weight * call->self_ns;
	/* Time counts once, where calls are inside of others. */
	f->total += weight * (time - (call->inner_ns < time ? call->inner_ns : time));
	if (time < f->min)
		f->min = time;
	if (time > f->max)
		f->max = time;
}

static void on_call(void *ctx, const struct call *call)
{
	struct stats *s = ctx;
	struct stats_function *f = function_at(s, call->function);
	struct stats_path *path = path_at(s, call->path);
	uint64_t time = call->end_ns - call->start_ns;
	uint64_t weight = sink_calls_weight(&s->sink, call);

	if (f && (call->end != CALL_RETURNED || !call->has_start)) {
		f->unreturned += call->end != CALL_RETURNED;
		return;
	}
	if (call->is_uncertain)
		return;
	if (!f || !path || quantiles_add(&f->times, time, weight) < 0) {
		s->sink.is_short = true;
		return;
	}
	count(f, call, weight);
	path->n += weight;
	path->total += weight * time;
	path->self += weight * call->self_ns;
}

static void free_event(struct stats_event *e)
{
	free(e->group);
	free(e->name);
	free(e);
}

static struct stats_event *event_called(struct stats *s, const struct spec_probe *probe)
{
	uint64_t hash = hash_text(hash_text(0, probe->group), probe->event);
	struct stats_event *first = map_get(&s->by_name, hash), *e = first;

	while (e && (strcmp(e->name, probe->event) != 0 || strcmp(e->group, probe->group) != 0))
		e = e->next;
	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->next = first;
	e->group = strdup(probe->group);
	e->name = strdup(probe->event);
	if (!e->group || !e->name || map_put(&s->by_name, hash, e) < 0) {
		free_event(e);
		return NULL;
	}
	s->n_events++;
	return e;
}

static struct stats_event *event_of(struct stats *s, const struct spec_probe *probe)
{
	struct stats_event *e = map_get(&s->by_probe, (uintptr_t)probe);

	if (e)
		return e;
	e = event_called(s, probe);
	return e && map_put(&s->by_probe, (uintptr_t)probe, e) == 0 ? e : NULL;
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct stats *s = stats_of(sink);

	(void)to;
	if (sink_calls_add(sink, &s->calls, on_call, probe, record) != CALLS_OTHER)
		return;
	if (s->last != probe || !s->last_event)
		s->last_event = event_of(s, probe);
	s->last = probe;
	if (s->last_event)
		s->last_event->n += sink->weight ? sink->weight : 1;
	else
		sink->is_short = true;
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	(void)to;
	stats_of(sink)->lost += n;
	sink_calls_lost(stats_of(sink)->calls, n);
}

static void end_calls(struct stats *s)
{
	if (s->calls)
		calls_end(s->calls);
}

static void end_text(struct sink *sink, struct sink_buf *to)
{
	end_calls(stats_of(sink));
	stats_text(stats_of(sink), to);
}

static void end_json(struct sink *sink, struct sink_buf *to)
{
	end_calls(stats_of(sink));
	stats_json(stats_of(sink), to);
}

static void free_stats(struct sink *sink)
{
	struct stats *s = stats_of(sink);
	size_t pos = 0;
	void *value;

	while (map_next(&s->by_name, &pos, NULL, &value))
		for (struct stats_event *e = value, *next; e; e = next) {
			next = e->next;
			free_event(e);
		}
	map_free(&s->by_name);
	map_free(&s->by_probe);
	for (size_t i = 0; i < s->n_functions; i++)
		quantiles_free(&s->functions[i].times);
	free(s->functions);
	free(s->paths);
	calls_free(s->calls);
}

/* --- for those who print it ----------------------------------------------------------------- */

static int by_total(const void *a, const void *b)
{
	const struct stats_function *x = *(const struct stats_function *const *)a;
	const struct stats_function *y = *(const struct stats_function *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->function->name, y->function->name);
}

const struct stats_function **stats_by_total(const struct stats *s, size_t *ret_n)
{
	const struct stats_function **all =
		calloc(s->n_functions + 1, sizeof(const struct stats_function *));
	size_t n = 0;

	for (size_t i = 0; all && i < s->n_functions; i++)
		if (s->functions[i].n || s->functions[i].unreturned)
			all[n++] = &s->functions[i];
	if (all)
		qsort(all, n, sizeof(all[0]), by_total);
	*ret_n = n;
	return all;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct stats_event *const *)a)->name,
		      (*(const struct stats_event *const *)b)->name);
}

const struct stats_event **stats_events(const struct stats *s, size_t *ret_n)
{
	const struct stats_event **all =
		calloc(s->n_events + 1, sizeof(const struct stats_event *));
	size_t n = 0, pos = 0;
	void *value;

	while (all && map_next(&s->by_name, &pos, NULL, &value))
		for (const struct stats_event *e = value; e; e = e->next)
			all[n++] = e;
	if (all)
		qsort(all, n, sizeof(all[0]), by_name);
	*ret_n = n;
	return all;
}

uint64_t stats_quantile(const struct stats_function *f, double share)
{
	uint64_t value = quantiles_get(&f->times, share);

	if (!f->n)
		return 0;
	return value < f->min ? f->min : value > f->max ? f->max : value;
}

struct calls_counts stats_counts(const struct stats *s)
{
	struct calls_counts counts = { 0 };

	if (s->calls)
		calls_counts(s->calls, &counts);
	return counts;
}

/* Three digits that count. */
void stats_time(char text[STATS_TIME_MAX], uint64_t ns)
{
	static const char *const units[] = { "us", "ms", "s" };
	double value = (double)ns / 1000;
	size_t i = 0;

	if (ns < 1000) {
		(void)snprintf(text, STATS_TIME_MAX, "%uns", (unsigned)ns);
		return;
	}
	for (; value >= 999.5 && i < 2; i++)
		value /= 1000;
	(void)snprintf(text, STATS_TIME_MAX, "%.*f%s",
		       value < 9.995   ? 2
		       : value < 99.95 ? 1
				       : 0,
		       value, units[i]);
}

#define STATS_KIND(text, ending, differ)                                                       \
	{                                                                                      \
		.name = (text), .is_data = true, .size = sizeof(struct stats), .event = event, \
		.lost = lost, .end = (ending), .diff = (differ), .free = free_stats            \
	}

const struct sink_kind sink_stats = STATS_KIND("stats", end_text, stats_diff_text);
const struct sink_kind sink_stats_json = STATS_KIND("stats-json", end_json, stats_diff_json);
