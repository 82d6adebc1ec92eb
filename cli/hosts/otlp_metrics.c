/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/otlp_metrics.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hosts/metrics.h"

#define CUMULATIVE 2 /* enum AggregationTemporality */

struct times {
	uint64_t begin_ns, time_ns;
};

/* Numbers of 64 bits are strings. */
static json_t *big(uint64_t number)
{
	return json_sprintf("%" PRIu64, number);
}

static json_t *text_attribute(const char *name, const char *value)
{
	return json_pack("{s:s, s:{s:s}}", "key", name, "value", "stringValue", value);
}

static json_t *attributes_of(const struct metric_labels *labels)
{
	json_t *all = json_array();

	for (size_t i = 0; i < labels->n; i++)
		(void)json_array_append_new(
			all, text_attribute(labels->v[i].name, labels->v[i].value));
	return all;
}

static json_t *begin_point(const struct metric_point *point, const struct times *times)
{
	return json_pack("{s:o, s:o, s:o}", "attributes", attributes_of(&point->labels),
			 "startTimeUnixNano", big(times->begin_ns), "timeUnixNano",
			 big(times->time_ns));
}

static double scaled(const struct metric_family *family, uint64_t number)
{
	return family->in_seconds ? (double)number / 1e9 : (double)number;
}

static json_t *histogram_point(const struct metric_family *family,
			       const struct metric_point *point, const struct times *times)
{
	json_t *json = begin_point(point, times), *counts = json_array(),
	       *bounds = json_array();
	uint64_t below = 0;

	for (unsigned i = 0; i < point->bounds.n; i++) {
		(void)json_array_append_new(counts, big(point->buckets[i]));
		(void)json_array_append_new(
			bounds, json_real(scaled(family, metric_bound(&point->bounds, i))));
		below += point->buckets[i];
	}
	(void)json_array_append_new(counts, big(point->total - below));
	(void)json_object_set_new(json, "count", big(point->total));
	if (point->has_sum)
		(void)json_object_set_new(json, "sum", json_real(scaled(family, point->sum)));
	(void)json_object_set_new(json, "bucketCounts", counts);
	(void)json_object_set_new(json, "explicitBounds", bounds);
	return json;
}

static json_t *number_point(const struct metric_point *point, const struct times *times)
{
	json_t *json = begin_point(point, times);
	bool is_large = !point->is_signed && point->number > INT64_MAX;

	if (is_large)
		(void)json_object_set_new(json, "asDouble", json_real((double)point->number));
	else
		(void)json_object_set_new(json, "asInt",
					  json_sprintf("%" PRId64, (int64_t)point->number));
	return json;
}

static json_t *metric_of(const struct metric_family *family, const struct times *times)
{
	static const char *const kinds[] = { "sum", "gauge", "histogram" };
	json_t *points = json_array(), *data = json_pack("{s:O}", "dataPoints", points);

	for (size_t i = 0; i < family->n; i++)
		(void)json_array_append_new(
			points, family->kind == METRIC_HISTOGRAM
					? histogram_point(family, &family->points[i], times)
					: number_point(&family->points[i], times));
	json_decref(points);
	if (family->kind != METRIC_GAUGE)
		(void)json_object_set_new(data, "aggregationTemporality",
					  json_integer(CUMULATIVE));
	if (family->kind == METRIC_COUNTER)
		(void)json_object_set_new(data, "isMonotonic", json_true());
	return json_pack("{s:s, s:s, s:s, s:o}", "name", family->name, "description",
			 family->help, "unit", family->in_seconds ? "s" : "1",
			 kinds[family->kind], data);
}

static json_t *request_of(const struct metrics *m, const char *service,
			  const struct times *times, uint64_t *ret_points)
{
	json_t *all = json_array();

	*ret_points = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (!m->families[i].n)
			continue;
		*ret_points += m->families[i].n;
		(void)json_array_append_new(all, metric_of(&m->families[i], times));
	}
	return json_pack(
		"{s:[{s:{s:[o,o,o]}, s:[{s:{s:s}, s:o}]}]}", "resourceMetrics", "resource",
		"attributes", text_attribute("service.name", service ? service : "ubp"),
		text_attribute("host.name", m->host), text_attribute("os.type", "linux"),
		"scopeMetrics", "scope", "name", "ubp", "metrics", all);
}

char *otlp_metrics_line(const struct metrics *m, const char *service, uint64_t begin_ns,
			size_t *ret_len, uint64_t *ret_points)
{
	const struct times times = { begin_ns, m->time_ns };
	json_t *json = request_of(m, service, &times, ret_points);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL, *line;

	json_decref(json);
	if (!text)
		return NULL;
	*ret_len = strlen(text);
	line = realloc(text, *ret_len + 2);
	if (!line) {
		free(text);
		return NULL;
	}
	memcpy(line + *ret_len, "\n", 2);
	*ret_len += 1;
	return line;
}
