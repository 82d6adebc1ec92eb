/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/meter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "engine/base/vec.h"
#include "engine/calls/calls.h"
#include "engine/event/record.h"
#include "engine/picture/cube.h"
#include "engine/picture/keys.h"

#define BINS 512 /* cube_lat() */

struct function_sum {
	uint64_t hits, calls, max_ns;
	uint32_t bins[BINS];
};

struct meter {
	struct names names;
	struct picture_keys keys;
	struct function_sum **sums; /* by key; NULL: no hit yet */
	size_t n, cap;
	struct calls *pairs;
	const struct event_record *record; /* that goes in now */
	bool has_ns;
	uint64_t ns;
};

static void on_call(void *ctx, const struct call *call)
{
	struct meter *m = ctx;

	if (!call->ret || call->ret != m->record || !call->has_start)
		return;
	m->has_ns = true;
	m->ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
}

struct meter *meter_new(void)
{
	struct meter *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->pairs = calls_new(on_call, m);
	if (!m->pairs || keys_begin(&m->keys) < 0) {
		meter_free(m);
		return NULL;
	}
	return m;
}

void meter_free(struct meter *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->sums[i]);
	free(m->sums);
	calls_free(m->pairs);
	keys_free(&m->keys);
	names_free(&m->names);
	free(m);
}

int meter_add_probe(struct meter *m, const struct spec_probe *probe)
{
	(void)keys_find(&m->keys, &m->names, probe);
	return calls_add_probe(m->pairs, probe);
}

/* The sum of a key. NULL: memory is short. */
static struct function_sum *sum_of(struct meter *m, uint16_t key)
{
	for (; m->n <= key; m->n++) {
		if (VEC_ROOM(m->sums, &m->cap, m->n) < 0)
			return NULL;
		m->sums[m->n] = NULL;
	}
	if (!m->sums[key])
		m->sums[key] = calloc(1, sizeof(*m->sums[key]));
	return m->sums[key];
}

int meter_add(struct meter *m, const struct spec_probe *probe,
	      const struct event_record *record, uint64_t weight)
{
	struct function_sum *sum;

	m->record = record;
	m->has_ns = false;
	if (calls_add(m->pairs, probe, record) < 0)
		return -ENOMEM;
	if (record->kind == EVENT_LOST || !probe)
		return 0;
	sum = sum_of(m, keys_find(&m->keys, &m->names, probe));
	if (!sum)
		return -ENOMEM;
	weight = weight ? weight : 1;
	sum->hits += weight;
	if (!m->has_ns)
		return 0;
	sum->calls++;
	sum->bins[cube_lat(m->ns)]++;
	sum->max_ns = m->ns > sum->max_ns ? m->ns : sum->max_ns;
	return 0;
}

/* Number 0 is for what did not fit: only there if there was any. */
static size_t first(const struct meter *m)
{
	return m->n && m->sums[0] ? 0 : 1;
}

size_t meter_n(const struct meter *m)
{
	return m->keys.n - first(m);
}

static uint64_t quantile(const struct function_sum *sum, uint64_t percent)
{
	uint64_t left = (sum->calls * percent + 99) / 100;
	uint16_t lat = 1;

	while (lat < BINS - 1 && sum->bins[lat] < left)
		left -= sum->bins[lat++];
	return sum->calls ? cube_lat_ns(lat) : 0;
}

void meter_row(const struct meter *m, size_t i, struct meter_row *ret_row)
{
	size_t key = i + first(m);
	const struct function_sum *sum = key < m->n ? m->sums[key] : NULL;

	*ret_row = (struct meter_row){ .name = names_text(&m->names, m->keys.v[key].name) };
	if (!sum)
		return;
	ret_row->hits = sum->hits;
	ret_row->calls = sum->calls;
	ret_row->max_ns = sum->max_ns;
	ret_row->p50_ns = quantile(sum, 50);
	ret_row->p99_ns = quantile(sum, 99);
	for (uint16_t lat = 1; lat < BINS; lat++) {
		uint64_t ns = cube_lat_ns(lat);

		if (sum->bins[lat])
			ret_row->octaves[ns > 1 ? 63 - __builtin_clzll(ns) : 0] +=
				sum->bins[lat];
	}
}
