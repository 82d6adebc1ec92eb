/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Clocks of several recordings: which are the same, and what lies between the others. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/recording/merge_priv.h"

/* Where files do not say which boot they are of: clocks of one are not further from CLOCK_REALTIME than that. */
#define NEAR_NS 1000000000

static const char *word(const struct merge_part *part, const char *key)
{
	return json_string_value(json_object_get(part->info, key));
}

static int64_t number(const struct merge_part *part, const char *key)
{
	return json_integer_value(json_object_get(part->info, key));
}

const char *merge_host(const struct merge_part *part)
{
	return word(part, "host");
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* CLOCK_REALTIME less the part's clock. Any numbers at all may stand there. */
static int64_t base_of(const struct merge_part *part)
{
	return (int64_t)((uint64_t)number(part, "real_ns") -
			 (uint64_t)number(part, "clock_ns"));
}

static bool same_clock(const struct merge_part *a, const struct merge_part *b)
{
	const char *boot = word(a, "boot"), *other = word(b, "boot"), *name = word(a, "clock");
	uint64_t apart = (uint64_t)base_of(a) - (uint64_t)base_of(b);

	if (a->id == b->id && a->part != b->part)
		return true;
	if (!same(name, word(b, "clock")))
		return false;
	if (name && strcmp(name, "real") == 0)
		return true;
	if (boot && other)
		return strcmp(boot, other) == 0;
	return same(merge_host(a), merge_host(b)) && apart + NEAR_NS < 2 * NEAR_NS;
}

/* The first part with the same clock: what lies between clocks is read off there, for all that have it. */
static const struct merge_part *first_of_clock(const struct recording_merge *m, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_clock(m->parts[k], m->parts[i]))
			return m->parts[k];
	return m->parts[i];
}

static int shift_one(struct recording_merge *m, size_t i,
		     const struct recording_merge_options *o, struct ubp_err *err)
{
	struct merge_part *part = m->parts[i];
	const struct merge_part *first = first_of_clock(m, i);

	switch (o->align) {
	case RECORDING_ALIGN_BY:
		part->shift = part->path_number ? o->ns[part->path_number - 1] : 0;
		return 0;
	case RECORDING_ALIGN_REAL:
		part->shift = first != part ? first->shift
					    : (int64_t)((uint64_t)base_of(part) -
							(uint64_t)base_of(m->parts[0]));
		return 0;
	case RECORDING_ALIGN_NOT:
		break;
	}
	if (i && first == part)
		return ubp_fail(err, EINVAL,
				"the clocks of %s and %s are not the same: --align puts their "
				"times together",
				m->parts[0]->path, part->path);
	return 0;
}

static double start_of(const struct merge_part *part)
{
	return (double)part->from_ns + (double)part->shift;
}

static int compare_starts(const void *a, const void *b)
{
	const struct merge_part *x = *(struct merge_part *const *)a;
	const struct merge_part *y = *(struct merge_part *const *)b;
	double xs = start_of(x), ys = start_of(y);

	if (xs != ys)
		return xs < ys ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

static int compare_ids(const void *a, const void *b)
{
	const struct merge_part *x = *(struct merge_part *const *)a;
	const struct merge_part *y = *(struct merge_part *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* Those between parts that are there; and those that are there in several files. */
static int count_missing(struct recording_merge *m, struct ubp_err *err)
{
	struct merge_part **v = malloc(m->n_parts * sizeof(struct merge_part *));

	if (!v)
		return ubp_fail(err, ENOMEM, "out of memory");
	memcpy(v, m->parts, m->n_parts * sizeof(struct merge_part *));
	qsort(v, m->n_parts, sizeof(struct merge_part *), compare_ids);
	for (size_t i = 1; i < m->n_parts; i++)
		if (v[i]->id == v[i - 1]->id && v[i]->part > v[i - 1]->part)
			m->n_missing += v[i]->part - v[i - 1]->part - 1;
		else if (v[i]->id == v[i - 1]->id && v[i]->path_number != v[i - 1]->path_number)
			m->n_twice++;
	free(v);
	return 0;
}

int merge_align(struct recording_merge *m, const struct recording_merge_options *options,
		struct ubp_err *err)
{
	for (size_t i = 0; i < m->n_parts; i++) {
		struct merge_part *part = m->parts[i];
		int rc = shift_one(m, i, options, err);

		if (rc < 0)
			return rc;
		part->from_ns = (uint64_t)number(
			part, json_object_get(part->info, "from_ns") ? "from_ns" : "clock_ns");
		m->has_hosts |= !same(merge_host(part), merge_host(m->parts[0]));
		m->has_ids |= part->id != m->parts[0]->id;
	}
	qsort(m->parts, m->n_parts, sizeof(struct merge_part *), compare_starts);
	return count_missing(m, err);
}
