/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/heap.h"
#include "engine/base/vec.h"
#include "engine/recording/merge_priv.h"

/* Before its first record is due: what is measured of a clock is not exact. */
#define EARLY_NS 1000000000ULL

/* --- the parts ---------------------------------------------------------------------------- */

static void free_part(struct merge_part *part)
{
	recording_reader_free(part->reader);
	json_decref(part->info);
	json_decref(part->end);
	free(part->numbers);
	free(part);
}

void recording_merge_free(struct recording_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_parts; i++)
		free_part(m->parts[i]);
	free(m->parts);
	heap_free(&m->heap);
	merge_numbers_free(m);
	free(m);
}

static int fail_memory(struct ubp_err *err)
{
	return ubp_fail(err, ENOMEM, "out of memory");
}

static void note_damage(struct recording_merge *m, struct merge_part *part)
{
	struct recording_damage d;

	recording_damage(part->reader, &d);
	m->damage.bytes += d.bytes - part->damage.bytes;
	m->damage.blocks += d.blocks - part->damage.blocks;
	m->damage.copies += d.copies - part->damage.copies;
	m->damage.records += d.records - part->damage.records;
	m->damage.is_cut |= d.is_cut;
	part->damage = d;
}

/* Read by and by: only what is said of it is kept. */
static int look_at(struct recording_merge *m, struct merge_part *part,
		   struct recording_reader *reader, struct ubp_err *err)
{
	part->reader = reader;
	part->info = json_incref((json_t *)recording_info(reader));
	part->end = json_incref((json_t *)recording_end(reader));
	recording_id(reader, &part->id, &part->part);
	m->has_names |= recording_has_names(reader);
	note_damage(m, part);
	return merge_numbers_add(m, part) < 0 ? fail_memory(err) : 0;
}

static int add_part(struct recording_merge *m, const char *path, size_t number, uint64_t at,
		    uint64_t *ret_next, struct ubp_err *err)
{
	struct recording_reader *reader;
	struct merge_part *part;
	int rc = recording_open(path, at, &reader, err);

	if (rc < 0)
		return rc;
	*ret_next = recording_next_at(reader);
	part = calloc(1, sizeof(*part));
	if (!part || VEC_ROOM(m->parts, &m->cap_parts, m->n_parts) < 0) {
		recording_reader_free(reader);
		free(part);
		return fail_memory(err);
	}
	m->parts[m->n_parts++] = part;
	*part = (struct merge_part){ .path = path, .path_number = number, .at = at };
	return look_at(m, part, reader, err);
}

static int add_path(struct recording_merge *m, const char *path, size_t number,
		    struct ubp_err *err)
{
	uint64_t at = 0;
	int rc;

	do {
		/* The one before it is opened again when it is due. */
		if (m->n_parts)
			merge_close(m->parts[m->n_parts - 1]);
		rc = add_part(m, path, number, at, &at, err);
	} while (rc == 0 && at);
	return rc;
}

void merge_close(struct merge_part *part)
{
	recording_reader_free(part->reader);
	part->reader = NULL;
}

int recording_merge_open(const char *const *paths, size_t n,
			 const struct recording_merge_options *options,
			 struct recording_merge **ret_merge, struct ubp_err *err)
{
	struct recording_merge *m = calloc(1, sizeof(*m));
	int rc = m ? 0 : fail_memory(err);

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_path(m, paths[i], i, err);
	if (rc == 0)
		rc = merge_align(m, options, err);
	if (rc < 0) {
		recording_merge_free(m);
		return rc;
	}
	*ret_merge = m;
	return 0;
}

size_t recording_merge_n_parts(const struct recording_merge *m)
{
	return m->n_parts;
}

struct recording_merge_part recording_merge_part(const struct recording_merge *m, size_t i)
{
	const struct merge_part *part = m->parts[i];

	return (struct recording_merge_part){ part->path, part->info, part->end };
}

bool recording_merge_has_names(const struct recording_merge *m)
{
	return m->has_names;
}

void recording_merge_damage(const struct recording_merge *m,
			    struct recording_damage *ret_damage, uint64_t *ret_files,
			    uint64_t *ret_twice)
{
	*ret_damage = m->damage;
	*ret_files = m->n_missing;
	*ret_twice = m->n_twice;
}

/* --- records by time ------------------------------------------------------------------------ */

static uint64_t shifted(uint64_t ns, int64_t by)
{
	uint64_t sum;

	if (by < 0)
		return ns > -(uint64_t)by ? ns + (uint64_t)by : 0;
	return __builtin_add_overflow(ns, (uint64_t)by, &sum) ? UINT64_MAX : sum;
}

/* The next record of a part. 1; 0: it has none, and is closed; a negative errno. */
static int next_of(struct recording_merge *m, struct merge_part *part, struct ubp_err *err)
{
	int rc = recording_next(part->reader, &part->record, err);

	if (rc > 0) {
		part->record->time = shifted(part->record->time, part->shift);
		return 1;
	}
	note_damage(m, part);
	merge_close(part);
	return rc;
}

static int open_part(struct recording_merge *m, struct merge_part *part, struct ubp_err *err)
{
	int rc = 0;

	if (!part->reader) {
		rc = recording_open(part->path, part->at, &part->reader, err);
		/* Somebody may have changed it since it was looked at. */
		if (rc == 0 && merge_numbers_add(m, part) < 0)
			rc = fail_memory(err);
	}
	if (rc == 0)
		rc = next_of(m, part, err);
	if (rc > 0 && !heap_add(&m->heap, part->record->time, part))
		return fail_memory(err);
	return rc < 0 ? rc : 0;
}

/* All parts that may have a record older than the oldest of those that are open. */
static int open_due(struct recording_merge *m, struct ubp_err *err)
{
	int rc = 0;

	while (rc == 0 && m->n_opened < m->n_parts) {
		struct merge_part *part = m->parts[m->n_opened];

		if (m->heap.n &&
		    m->heap.v[0].key + EARLY_NS < shifted(part->from_ns, part->shift))
			break;
		m->n_opened++;
		rc = open_part(m, part, err);
	}
	return rc;
}

/* The one that came last makes room for the next of its part. */
static int go_on(struct recording_merge *m, struct ubp_err *err)
{
	struct merge_part *part = m->current;
	int rc;

	m->current = NULL;
	if (!part)
		return 0;
	rc = next_of(m, part, err);
	if (rc > 0)
		heap_sink(&m->heap, part->record->time);
	else
		heap_take(&m->heap);
	return rc < 0 ? rc : 0;
}

int recording_merge_next(struct recording_merge *m, const struct event_record **ret_record,
			 struct ubp_err *err)
{
	struct merge_part *part;
	int rc = go_on(m, err);

	if (rc == 0)
		rc = open_due(m, err);
	if (rc < 0 || !m->heap.n)
		return rc;
	part = m->heap.v[0].item;
	m->current = part;
	m->maps = part->record->maps;
	m->weight = recording_weight(part->reader, part->record);
	if (merge_renumber(m, part) < 0)
		return fail_memory(err);
	*ret_record = part->record;
	return 1;
}

const json_t *recording_merge_name(const struct recording_merge *m, uint64_t vaddr,
				   bool is_first)
{
	return m->current ? recording_name(m->current->reader, m->maps, vaddr, is_first) : NULL;
}

const struct mapped_set *recording_merge_mapped(const struct recording_merge *m)
{
	return m->current ? recording_mapped(m->current->reader, m->maps) : NULL;
}

uint64_t recording_merge_weight(const struct recording_merge *m)
{
	return m->weight;
}

const char *recording_merge_host(const struct recording_merge *m)
{
	const char *host = m->current && m->has_hosts ? merge_host(m->current) : NULL;

	return m->has_hosts && !host ? "unknown" : host;
}
