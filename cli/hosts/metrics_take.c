/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/metrics_take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/tally_part.h"
#include "cli/hosts/metrics_rows.h"
#include "cli/hosts/metrics_triggers.h"
#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/ubp_event.h"
#include "engine/ubp_stats.h"
#include "engine/ubp_tally.h"

#define NAME_ROOM 80

struct event_count {
	const char *group; /* of the session */
	char *name;
	char comm[16];
	uint64_t n;
};

void metrics_taker_init(struct metrics_taker *t, struct ubp_session *session, bool has_tally,
			bool has_triggers)
{
	char name[sizeof(t->host)] = "";

	*t = (struct metrics_taker){ .session = session,
				     .has_tally = has_tally,
				     .has_triggers = has_triggers };
	if (gethostname(name, sizeof(name) - 1) < 0 || !name[0])
		(void)snprintf(name, sizeof(name), "unknown");
	escape_line_cut(t->host, sizeof(t->host), name);
}

void metrics_taker_free(struct metrics_taker *t)
{
	size_t pos = 0;
	void *value;

	while (map_next(&t->events, &pos, NULL, &value)) {
		free(((struct event_count *)value)->name);
		free(value);
	}
	map_free(&t->events);
	metrics_known_free(&t->known);
}

/* --- events -------------------------------------------------------------------------------- */

static struct event_count *make_count(struct metrics_taker *t, int probe, const char *name,
				      const char *comm)
{
	struct event_count *count = calloc(1, sizeof(*count));

	if (!count)
		return NULL;
	count->group = probe >= 0 ? ubp_probe_group(t->session, (size_t)probe) : "synthetic";
	count->name = strdup(name);
	(void)snprintf(count->comm, sizeof(count->comm), "%s", comm);
	if (count->name)
		return count;
	free(count);
	return NULL;
}

static struct event_count *count_of(struct metrics_taker *t, int probe, const char *name,
				    const char *comm)
{
	uint64_t hash =
		hash_text(hash_text(hash_number(0, (uint64_t)(int64_t)probe), name), comm);
	void **place;

	if (t->events.n >= METRIC_POINTS && !map_get(&t->events, hash))
		return NULL;
	place = map_place(&t->events, hash);
	if (!place)
		return NULL;
	if (!*place)
		*place = make_count(t, probe, name, comm);
	if (!*place)
		(void)map_remove(&t->events, hash);
	return map_get(&t->events, hash);
}

void metrics_taker_event(struct metrics_taker *t, const struct ubp_event *event)
{
	struct event_count *count;

	if (ubp_event_probe(event) == -1)
		return;
	count = count_of(t, ubp_event_probe(event), ubp_event_name(event),
			 ubp_event_comm(event));
	if (count)
		count->n++;
	else
		t->other++;
}

static void add_to(struct metric_point *point, uint64_t number)
{
	if (point)
		point->number += number;
}

static void take_events(struct metrics_taker *t, struct metrics *m)
{
	struct metric_family *family = metrics_family(
		m, "ubp_events", "Events that were handed out, by the name of the thread.",
		METRIC_COUNTER);
	struct metric_labels labels = { 0 };
	char comm[NAME_ROOM];
	size_t pos = 0;
	void *value;

	while (map_next(&t->events, &pos, NULL, &value)) {
		const struct event_count *count = value;

		labels.n = 0;
		escape_line_cut(comm, sizeof(comm), count->comm);
		metric_label_add(&labels, "event", count->name);
		metric_label_add(&labels, "group", count->group);
		metric_label_add(&labels, "comm", comm);
		add_to(metrics_point(m, family, &t->known, &labels, 0), count->n);
	}
	if (!t->other)
		return;
	labels.n = 0;
	for (size_t i = 0; i < 3; i++)
		metric_label_add(&labels, ((const char *[]){ "event", "group", "comm" })[i],
				 "(other)");
	add_to(metrics_point(m, family, &t->known, &labels, 3), t->other);
}

/* --- statistics ---------------------------------------------------------------------------- */

/* Texts are compared, for two definitions may be of one event. */
static bool is_event_of(struct ubp_session *s, size_t i, size_t other)
{
	return strcmp(ubp_probe_event(s, i), ubp_probe_event(s, other)) == 0 &&
	       strcmp(ubp_probe_group(s, i), ubp_probe_group(s, other)) == 0;
}

static void take_probes(struct metrics_taker *t, struct metrics *m, struct metric_family *hits)
{
	struct metric_family *family[4] = {
		hits,
		metrics_family(m, "ubp_lost", "Hits of these that were lost.", METRIC_COUNTER),
		metrics_family(m, "ubp_missed", "Returns that could not be seen.",
			       METRIC_COUNTER),
		metrics_family(m, "ubp_stops", "Hits for which the thread was stopped.",
			       METRIC_COUNTER),
	};
	size_t n = ubp_n_probes(t->session);
	uint64_t sums[4] = { 0 };

	/* An event of several places is one; these stand together. */
	for (size_t i = 0; i < n; i++) {
		struct metric_labels labels = { 0 };
		struct ubp_probe_stats st;

		ubp_probe_stats(t->session, i, &st);
		/* What is counted in a table is not counted there. */
		sums[0] += t->has_tally ? 0 : st.passed;
		sums[1] += st.lost;
		sums[2] += st.missed;
		sums[3] += st.stopped;
		if (i + 1 < n && is_event_of(t->session, i, i + 1))
			continue;
		metric_label_add(&labels, "event", ubp_probe_event(t->session, i));
		metric_label_add(&labels, "group", ubp_probe_group(t->session, i));
		for (size_t k = t->has_tally; k < 4; k++) {
			add_to(metrics_point(m, family[k], &t->known, &labels, 0), sums[k]);
			sums[k] = 0;
		}
	}
}

static void take_one(struct metrics_taker *t, struct metrics *m, const char *name,
		     const char *help, enum metric_kind kind, uint64_t number)
{
	struct metric_family *family = metrics_family(m, name, help, kind);
	struct metric_labels none = { 0 };

	add_to(metrics_point(m, family, &t->known, &none, 0), number);
}

static void take_session(struct metrics_taker *t, struct metrics *m)
{
	struct ubp_stats st;

	ubp_stats(t->session, &st);
	take_one(t, m, "ubp_processes", "Processes that were traced at any time.",
		 METRIC_COUNTER, st.processes);
	take_one(t, m, "ubp_processes_skipped", "Processes that could not be traced.",
		 METRIC_COUNTER, st.skipped);
	take_one(t, m, "ubp_ring_lost",
		 "Records that threads had no room for; of which event is not known.",
		 METRIC_COUNTER, st.ring_lost);
}

/* --- what is counted ----------------------------------------------------------------------- */

/* Whose hits these are, where no key tells: of one event alone that is known. */
static struct metric_whose whose_all(const struct metrics_taker *t)
{
	size_t n = ubp_n_probes(t->session);

	for (size_t i = 1; i < n; i++)
		if (!is_event_of(t->session, 0, i))
			return (struct metric_whose){ 0 };
	return (struct metric_whose){ .event = ubp_probe_event(t->session, 0),
				      .group = ubp_probe_group(t->session, 0) };
}

/* Of each event, where the table tells them apart. */
static void take_hits(struct metrics_taker *t, struct metrics *m, struct metric_family *hits,
		      const struct metric_whose *whose, const struct ubp_tally_row *row)
{
	struct metric_whose own = *whose;
	struct metric_labels labels = { 0 };

	for (unsigned k = 0; k < row->n_keys && !own.event; k++)
		if (row->keys[k].kind == UBP_TALLY_PROBE)
			own = (struct metric_whose){
				.event = ubp_probe_event(t->session, row->keys[k].number),
				.group = ubp_probe_group(t->session, row->keys[k].number),
			};
	if (!own.event)
		return;
	metric_whose_add(&own, &labels);
	add_to(metrics_point(m, hits, &t->known, &labels, 0), row->hits);
}

static void take_tally(struct metrics_taker *t, struct metrics *m, struct metric_family *hits)
{
	const struct ubp_tally *tally = ubp_tally_take(t->session);
	struct metric_whose whose = whose_all(t);
	struct metric_rows rows;
	struct ubp_tally_row row;

	if (!tally) {
		m->no_memory = true;
		return;
	}
	take_one(t, m, "ubp_count_dropped", "Hits that had no room for their keys.",
		 METRIC_COUNTER, ubp_tally_dropped(tally));
	metric_rows_begin(&rows, m, &t->known, t->session);
	for (size_t i = 0; i < ubp_tally_n(tally); i++) {
		ubp_tally_row(tally, i, &row);
		take_hits(t, m, hits, &whose, &row);
		if (tally_part_is_range(&row.keys[row.n_keys - 1]))
			metric_rows_bucket(&rows, &whose, &row);
		else
			metric_rows_count(&rows, &whose, &row);
	}
}

static void take_triggers(struct metrics_taker *t, struct metrics *m)
{
	struct metric_rows rows;

	metric_rows_begin(&rows, m, &t->known, t->session);
	metrics_take_triggers(&rows);
}

/* --- all ----------------------------------------------------------------------------------- */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void tell_left_out(struct metrics_taker *t)
{
	char text[120];

	if (!t->known.left_out || t->told)
		return;
	t->told = true;
	(void)snprintf(text, sizeof(text),
		       "too many sets of labels: those after the first %d (of histograms "
		       "%d) are told of as (other)",
		       METRIC_POINTS, METRIC_HIST_POINTS);
	cli_warn(NULL, text);
}

struct metrics *metrics_take(struct metrics_taker *t)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);
	struct metrics *m = metrics_new(t->host);
	struct metric_family *hits;

	if (!m)
		return NULL;
	m->time_ns = now_ns(CLOCK_REALTIME);
	hits = metrics_family(m, "ubp_hits", "Hits that the filter let through.",
			      METRIC_COUNTER);
	take_probes(t, m, hits);
	take_session(t, m);
	take_events(t, m);
	if (t->has_tally)
		take_tally(t, m, hits);
	if (t->has_triggers)
		take_triggers(t, m);
	take_one(t, m, "ubp_labels_left_out",
		 "Sets of labels that are told of together, as (other).", METRIC_GAUGE,
		 t->known.left_out);
	tell_left_out(t);
	m->took_ns = now_ns(CLOCK_MONOTONIC) - begin;
	if (!m->no_memory)
		return m;
	metrics_free(m);
	return NULL;
}
