/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/metrics_triggers.h"

#include <stdio.h>
#include <string.h>

#include "cli/common/tally_part.h"
#include "cli/common/triggers.h"
#include "cli/hosts/metrics_rows.h"
#include "engine/base/map.h"
#include "engine/ubp.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

struct taking {
	struct metric_rows *rows;
	struct metric_family *dropped;
	size_t probe;
};

/* Of several histograms each is told with its number; what events share belongs to none of them. */
static struct metric_whose whose_of(const struct taking *t, const struct ubp_trigger_hist *hist,
				    char number[16])
{
	(void)snprintf(number, 16, "%u", hist->number + 1);
	if (hist->name)
		return (struct metric_whose){ .hist = hist->name };
	return (struct metric_whose){
		.event = ubp_probe_event(t->rows->session, t->probe),
		.group = ubp_probe_group(t->rows->session, t->probe),
		.hist = hist->n > 1 ? number : NULL,
	};
}

static void take_dropped(const struct taking *t, const struct metric_whose *whose,
			 uint64_t dropped)
{
	struct metric_labels labels = { 0 };
	struct metric_point *point;

	metric_whose_add(whose, &labels);
	point = metrics_point(t->rows->m, t->dropped, t->rows->known, &labels, 0);
	if (point)
		point->number += dropped;
}

/* The last range is what the histogram is of, and becomes the last key. False: there is none. */
static bool range_to_end(struct ubp_tally_row *row)
{
	for (unsigned i = row->n_keys; i-- > 0;) {
		struct ubp_tally_part range = row->keys[i];

		if (!tally_part_is_range(&range))
			continue;
		for (; i + 1 < row->n_keys; i++)
			row->keys[i] = row->keys[i + 1];
		row->keys[i] = range;
		return true;
	}
	return false;
}

/* Of the values only that of @name (@is_it), or only the others. */
static struct ubp_tally_row with_values(const struct ubp_tally_row *row, const char *name,
					bool is_it)
{
	struct ubp_tally_row some = *row;

	some.n_values = 0;
	for (unsigned i = 0; i < row->n_values; i++)
		if ((strcmp(row->values[i].name, name) == 0) == is_it)
			some.values[some.n_values++] = row->values[i];
	return some;
}

static void take_range(const struct taking *t, const struct metric_whose *whose,
		       const struct ubp_tally_row *row)
{
	const char *name = row->keys[row->n_keys - 1].name;
	struct ubp_tally_row own = with_values(row, name, true);
	struct ubp_tally_row others = with_values(row, name, false);

	metric_rows_bucket(t->rows, whose, &own);
	metric_rows_sums(t->rows, whose, &others);
}

/* Extremes are nothing that a trigger keeps as a value. */
static void take_entry(const struct taking *t, const struct metric_whose *whose,
		       const struct ubp_tally_row *row)
{
	struct ubp_tally_row hits = *row;

	hits.n_values = 0;
	metric_rows_count(t->rows, whose, &hits);
	metric_rows_sums(t->rows, whose, row);
}

static void take_row(void *ctx, const struct ubp_trigger_hist *hist,
		     const struct ubp_tally_row *row)
{
	const struct taking *t = ctx;
	struct ubp_tally_row own;
	char number[16];
	struct metric_whose whose = whose_of(t, hist, number);

	if (!row) {
		take_dropped(t, &whose, hist->dropped);
		return;
	}
	own = *row;
	if (range_to_end(&own))
		take_range(t, &whose, &own);
	else
		take_entry(t, &whose, &own);
}

void metrics_take_triggers(struct metric_rows *rows)
{
	struct taking t = { .rows = rows };
	struct map seen = { 0 };
	char name[TRIGGER_EVENT_ROOM];

	t.dropped = metrics_family(rows->m, "ubp_count_dropped",
				   "Hits that had no room for their keys.", METRIC_COUNTER);
	for (; t.probe < ubp_n_probes(rows->session); t.probe++) {
		if (!trigger_event_is_new(rows->session, t.probe, &seen))
			continue;
		trigger_event_name(rows->session, t.probe, name);
		if (ubp_trigger_hist_rows(rows->session, name, take_row, &t) < 0)
			rows->m->no_memory = true;
	}
	map_free(&seen);
}
