/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/metrics_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/tally.h"
#include "cli/common/tally_part.h"
#include "engine/base/escape.h"
#include "engine/ubp.h"
#include "engine/ubp_tally.h"

#define TEXT_ROOM   1100
#define NAME_ROOM   80
#define STACK_TEXT  1000 /* the innermost functions of longer ones */
#define LOG2_BOUNDS 41   /* 1 to 2^40: 18 minutes in nanoseconds, a TiB */
#define STEP_BOUNDS 64

/* Room for the labels of one row. */
struct row_texts {
	char names[UBP_TALLY_KEYS][NAME_ROOM], values[UBP_TALLY_KEYS][TEXT_ROOM];
};

void metric_rows_begin(struct metric_rows *rows, struct metrics *m, struct metrics_known *known,
		       struct ubp_session *session)
{
	*rows = (struct metric_rows){
		.m = m,
		.known = known,
		.session = session,
		.count = metrics_family(m, "ubp_count", "Hits, by what they are counted by.",
					METRIC_COUNTER),
		/* A sum of what may be negative is no counter. */
		.sum = metrics_family(m, "ubp_sum", "Sum of an argument.", METRIC_GAUGE),
		.min = metrics_family(m, "ubp_min", "Least value of an argument.",
				      METRIC_GAUGE),
		.max = metrics_family(m, "ubp_max", "Largest value of an argument.",
				      METRIC_GAUGE),
		.times = metrics_family(m, "ubp_duration_seconds", "How long calls took.",
					METRIC_HISTOGRAM),
		.values = metrics_family(m, "ubp_value", "Values of an argument.",
					 METRIC_HISTOGRAM),
	};
	rows->times->in_seconds = true;
}

/* --- labels -------------------------------------------------------------------------------- */

/* Names that have a meaning of their own, or that none may have. */
static bool is_taken(const char *name)
{
	static const char *const taken[] = { "host",     "le",       "event", "group",
					     "comm",     "job",      "arg",   "hist",
					     "instance", "quantile", "width" };

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(name, taken[i]) == 0)
			return true;
	return strncmp(name, "__", 2) == 0 || (*name >= '0' && *name <= '9');
}

static bool has_label(const struct metric_labels *labels, const char *name)
{
	for (size_t i = 0; i < labels->n; i++)
		if (strcmp(labels->v[i].name, name) == 0)
			return true;
	return false;
}

/*
 * The session's own keys have their names; an argument that is called like one of them, or worse, another; so has a key that is there
 * already ("keys=n,n.hex").
 */
static void label_name(char to[NAME_ROOM], const struct metric_labels *labels,
		       const struct ubp_tally_part *part)
{
	bool is_own = part->kind == UBP_TALLY_STRING && strcmp(part->name, "comm") == 0;
	size_t len;

	(void)snprintf(to, NAME_ROOM - 2, "%s%s", !is_own && is_taken(part->name) ? "arg_" : "",
		       part->name);
	for (char *p = to; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789",
			    *p))
			*p = '_';
	len = strlen(to);
	for (char n = '2'; has_label(labels, to); n++) {
		to[len] = '_';
		to[len + 1] = n;
		to[len + 2] = '\0';
	}
}

static void stack_text(char value[TEXT_ROOM], const struct ubp_tally_part *part)
{
	struct tally_frames all = tally_part_frames(part);
	const char *from = all.text;

	if (all.len > STACK_TEXT) {
		from += all.len - STACK_TEXT;
		from = strchr(from, ';') ? strchr(from, ';') : from;
	}
	escape_line_cut(value, TEXT_ROOM, from);
}

static void value_text(char value[TEXT_ROOM], const struct ubp_tally_part *part)
{
	uint64_t number = tally_part_is_range(part) ? ubp_tally_last(part) : part->number;

	if (part->kind == UBP_TALLY_STRING)
		escape_line_cut(value, TEXT_ROOM, part->text ? part->text : "");
	else if (part->kind == UBP_TALLY_STACK)
		stack_text(value, part);
	else if (part->kind == UBP_TALLY_SIGNED || part->is_signed)
		(void)snprintf(value, TEXT_ROOM, "%" PRId64, (int64_t)number);
	else
		(void)snprintf(value, TEXT_ROOM, "%" PRIu64, number);
}

static void part_label(const struct metric_rows *rows, struct metric_labels *labels,
		       const struct ubp_tally_part *part, char name[NAME_ROOM],
		       char value[TEXT_ROOM])
{
	if (part->kind == UBP_TALLY_PROBE) {
		metric_label_add(labels, "event", ubp_probe_event(rows->session, part->number));
		metric_label_add(labels, "group", ubp_probe_group(rows->session, part->number));
		return;
	}
	label_name(name, labels, part);
	value_text(value, part);
	metric_label_add(labels, name, value);
}

void metric_whose_add(const struct metric_whose *whose, struct metric_labels *labels)
{
	if (whose->event)
		metric_label_add(labels, "event", whose->event);
	if (whose->group)
		metric_label_add(labels, "group", whose->group);
	if (whose->hist)
		metric_label_add(labels, "hist", whose->hist);
}

static void row_labels(const struct metric_rows *rows, const struct metric_whose *whose,
		       const struct ubp_tally_row *row, unsigned n_keys,
		       struct metric_labels *labels, struct row_texts *texts)
{
	bool has_event = false;

	for (unsigned i = 0; i < n_keys; i++)
		has_event |= row->keys[i].kind == UBP_TALLY_PROBE;
	if (!has_event)
		metric_whose_add(whose, labels);
	for (unsigned i = 0; i < n_keys; i++)
		part_label(rows, labels, &row->keys[i], texts->names[i], texts->values[i]);
}

/* --- tables -------------------------------------------------------------------------------- */

static void extreme(struct metric_point *point, const struct ubp_tally_part *value, bool most,
		    bool is_first)
{
	bool is_signed = value->kind == UBP_TALLY_SIGNED, is_more;

	if (!point)
		return;
	is_more = is_signed ? (int64_t)value->number > (int64_t)point->number
			    : value->number > point->number;
	point->is_signed = is_signed;
	if (is_first || is_more == most)
		point->number = value->number;
}

/* What is told of value @i, by its own name in front of all other labels. */
static void value_labels(const struct ubp_tally_row *row, unsigned i,
			 const struct metric_labels *labels, struct metric_labels *own)
{
	own->n = 0;
	metric_label_add(own, "arg", row->values[i].name);
	for (size_t k = 0; k < labels->n; k++)
		metric_label_add(own, labels->v[k].name, labels->v[k].value);
}

static void add_sum(struct metric_rows *rows, const struct ubp_tally_row *row, unsigned i,
		    const struct metric_labels *own)
{
	struct metric_point *point = metrics_point(rows->m, rows->sum, rows->known, own, 1);

	if (!point)
		return;
	point->is_signed = row->values[i].kind == UBP_TALLY_SIGNED;
	point->number += row->values[i].number;
}

void metric_rows_count(struct metric_rows *rows, const struct metric_whose *whose,
		       const struct ubp_tally_row *row)
{
	struct metric_family *const extremes[] = { NULL, rows->min, rows->max };
	struct metric_labels labels = { 0 }, own = { 0 };
	struct metric_point *point;
	struct row_texts texts;
	size_t before;

	row_labels(rows, whose, row, row->n_keys, &labels, &texts);
	point = metrics_point(rows->m, rows->count, rows->known, &labels, 0);
	if (point)
		point->number += row->hits;
	if (!row->n_values)
		return;
	value_labels(row, 0, &labels, &own);
	add_sum(rows, row, 0, &own);
	for (unsigned i = 1; i < row->n_values && i < 3; i++) {
		before = extremes[i]->n;
		point = metrics_point(rows->m, extremes[i], rows->known, &own, 1);
		extreme(point, &row->values[i], i == 2, extremes[i]->n > before);
	}
}

void metric_rows_sums(struct metric_rows *rows, const struct metric_whose *whose,
		      const struct ubp_tally_row *row)
{
	struct metric_labels labels = { 0 }, own = { 0 };
	struct row_texts texts;

	row_labels(rows, whose, row, row->n_keys, &labels, &texts);
	for (unsigned i = 0; i < row->n_values; i++) {
		value_labels(row, i, &labels, &own);
		add_sum(rows, row, i, &own);
	}
}

/* --- histograms ---------------------------------------------------------------------------- */

static struct metric_bounds bounds_of(const struct ubp_tally_part *part)
{
	if (part->kind == UBP_TALLY_LOG2)
		return (struct metric_bounds){ .log2 = true, .n = LOG2_BOUNDS };
	return (struct metric_bounds){ .width = part->width, .n = STEP_BOUNDS };
}

/* The same labels never have other bounds: where those are steps, how wide these are is a label, too. */
static struct metric_point *histogram_of(struct metric_rows *rows,
					 const struct metric_whose *whose,
					 const struct ubp_tally_row *row)
{
	const struct ubp_tally_part *part = &row->keys[row->n_keys - 1];
	struct metric_family *family =
		tally_unit(rows->session, part->name) == UNIT_NS ? rows->times : rows->values;
	struct metric_labels labels = { 0 };
	struct row_texts texts;
	char width[32];
	size_t n_fixed;

	family->bounds = bounds_of(part);
	metric_label_add(&labels, "arg", part->name);
	(void)snprintf(width, sizeof(width), "%" PRIu64, part->width);
	if (!family->bounds.log2)
		metric_label_add(&labels, "width", width);
	n_fixed = labels.n;
	row_labels(rows, whose, row, row->n_keys - 1, &labels, &texts);
	return metrics_point(rows->m, family, rows->known, &labels, n_fixed);
}

void metric_rows_bucket(struct metric_rows *rows, const struct metric_whose *whose,
			const struct ubp_tally_row *row)
{
	const struct ubp_tally_part *part = &row->keys[row->n_keys - 1];
	uint64_t bucket = tally_part_is_negative(part) ? 0 : part->number;
	struct metric_point *point = histogram_of(rows, whose, row);

	if (!point)
		return;
	if (bucket > point->bounds.n)
		bucket = point->bounds.n;
	point->buckets[bucket] += row->hits;
	point->total += row->hits;
	if (!row->n_values ||
	    (row->values[0].kind == UBP_TALLY_SIGNED && (int64_t)row->values[0].number < 0))
		point->has_sum = false;
	else
		point->sum += row->values[0].number;
}
