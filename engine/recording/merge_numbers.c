/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers of probes and mappings, which each recording has of its own. */

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/recording/merge_priv.h"
#include "engine/recording/probe_json.h"

#define NO_NUMBER UINT32_MAX

/* The merge owns it. NULL: memory is short. */
static struct spec_probe *copy_probe(const json_t *json)
{
	struct spec_probe *probe = NULL;
	struct ubp_err err;
	unsigned number;

	ubp_err_reset(&err);
	return probe_of_json(json, &number, &probe, &err) < 0 ? NULL : probe;
}

/* A probe that it has already, *ret_number. A file may say that it is of a recording, and have other probes: records of the one must not be printed by the other. */
static bool has_probe(const struct recording_merge *m, uint64_t key, unsigned local,
		      const json_t *json, uint32_t *ret_number)
{
	uintptr_t there = (uintptr_t)map_get(&m->by_probe, key);
	json_t *other = there ? probe_to_json(local, m->probes[there - 1]) : NULL;
	bool is_same = other && json_equal(other, json);

	json_decref(other);
	*ret_number = (uint32_t)there - 1;
	return is_same;
}

static int add_probe(struct recording_merge *m, uint64_t key, unsigned local,
		     const json_t *json, uint32_t *ret_number)
{
	struct spec_probe *probe;

	if (has_probe(m, key, local, json, ret_number))
		return 0;
	probe = m->n_probes < NO_NUMBER - 1 ? copy_probe(json) : NULL;
	if (!probe || VEC_ROOM(m->probes, &m->cap_probes, m->n_probes) < 0 ||
	    map_put(&m->by_probe, key, (void *)(uintptr_t)(m->n_probes + 1)) < 0) {
		probe_of_json_free(probe);
		return -ENOMEM;
	}
	*ret_number = (uint32_t)m->n_probes;
	m->probes[m->n_probes++] = probe;
	return 0;
}

int merge_numbers_add(struct recording_merge *m, struct merge_part *part)
{
	unsigned n = recording_n_probes(part->reader);
	int rc = 0;

	free(part->numbers);
	part->n_numbers = 0;
	part->numbers = n ? malloc(n * sizeof(*part->numbers)) : NULL;
	if (n && !part->numbers)
		return -ENOMEM;
	part->n_numbers = n;
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		const struct spec_probe *probe = recording_probe(part->reader, i);
		json_t *json = probe ? probe_to_json(i, probe) : NULL;

		part->numbers[i] = NO_NUMBER;
		if (probe)
			rc = json ? add_probe(m, hash_number(part->id, i), i, json,
					      &part->numbers[i])
				  : -ENOMEM;
		json_decref(json);
	}
	return rc;
}

/* What has none, as of records without a stack, keeps none. */
static int renumber_maps(struct recording_merge *m, const struct merge_part *part)
{
	void **place;

	if (!m->has_ids || !part->record->maps)
		return 0;
	place = map_place(&m->by_maps, hash_number(part->id, part->record->maps));
	if (!place)
		return -ENOMEM;
	if (!*place)
		*place = (void *)(uintptr_t)++m->n_maps;
	part->record->maps = (uint32_t)(uintptr_t)*place;
	return 0;
}

int merge_renumber(struct recording_merge *m, const struct merge_part *part)
{
	struct event_record *record = part->record;

	/* It is one that the reader has. */
	if (record->kind == EVENT_HIT)
		record->probe = part->numbers[record->probe];
	return renumber_maps(m, part);
}

unsigned recording_merge_n_probes(const struct recording_merge *m)
{
	return (unsigned)m->n_probes;
}

const struct spec_probe *recording_merge_probe(const struct recording_merge *m, unsigned number)
{
	return number < m->n_probes ? m->probes[number] : NULL;
}

void merge_numbers_free(struct recording_merge *m)
{
	for (size_t i = 0; i < m->n_probes; i++)
		if (m->probes[i])
			probe_of_json_free(m->probes[i]);
	free(m->probes);
	map_free(&m->by_probe);
	map_free(&m->by_maps);
}
