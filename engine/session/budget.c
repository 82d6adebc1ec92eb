/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/define/definitions.h"
#include "engine/event/clock.h"
#include "engine/event/ring_sample.h"
#include "engine/plant/change.h"
#include "engine/session/budget_pick.h"
#include "engine/session/state.h"
#include "engine/session/tell.h"
#include "engine/space/probe_list.h"
#include "engine/spec/spec.h"

#define LOOK_NS 500000000ULL

/* Until then a stop of a place that may be a jump, or of a thread without a ring, says nothing: it may be the last one. */
#define EARLY_NS 2000000000ULL

/* Of a stop: the trap, two switches of process and the calls that lead to the next one, measured; what the tracer does at it comes
 * on top, up to so much. */
#define SWITCHES_NS  4000
#define STOP_MOST_NS 1000000

struct budget_seen {
	uint64_t hits;  /* at stops */
	uint64_t stops; /* that will come again */
	uint64_t early; /* others */
	uint64_t jumped, dropped;
	double lost; /* about */
	bool was_fast;
};

void budget_begin(struct ubp_session *s)
{
	struct session_budget *b = &s->budget;

	if (!s->opt.limits.max_rate && !s->opt.limits.max_overhead)
		return;
	b->is_on = alarm_turns_begin(&b->looks, &s->tracer, LOOK_NS);
	if (!b->is_on) {
		session_warn(s, "there is no timer for --max-rate and --max-overhead: nothing "
				"will be taken out");
		return;
	}
	b->begun_ns = b->looked_ns = b->drained_ns = event_clock_now(CLOCK_KIND_MONO);
}

void budget_end(struct ubp_session *s)
{
	struct session_budget *b = &s->budget;

	b->is_on = false;
	alarm_turns_end(&b->looks);
	free(b->seen);
	free(b->places);
	b->seen = NULL;
	b->places = NULL;
}

/* --- stops ------------------------------------------------------------------------------ */

uint64_t budget_stop_begin(const struct ubp_session *s)
{
	return s->budget.is_on ? event_clock_now(CLOCK_KIND_MONO) : 0;
}

void budget_stop_end(struct ubp_session *s, uint64_t begun_ns)
{
	struct session_budget *b = &s->budget;
	uint64_t took;

	if (!begun_ns)
		return;
	/* Others may have been dealt with meanwhile, or a library looked through. */
	took = event_clock_now(CLOCK_KIND_MONO) - begun_ns;
	b->stop_ns += took < STOP_MOST_NS ? took : STOP_MOST_NS;
	b->n_stops++;
}

static double stop_cost(const struct session_budget *b)
{
	return SWITCHES_NS + (b->n_stops ? (double)b->stop_ns / (double)b->n_stops : 0);
}

/* --- a look ------------------------------------------------------------------------------- */

static uint64_t load(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* @has_rings: what is recorded there was read since the last look; else its counters tell nothing yet. */
static struct budget_seen count(const struct ubp_session *s, const struct uprobe *probe,
				const struct budget_seen *before, bool has_rings)
{
	const struct uprobe_stats *u = &probe->stats;
	struct budget_seen now = { .hits = load(&u->hits),
				   .jumped = before->jumped,
				   .dropped = before->dropped,
				   .lost = before->lost,
				   .was_fast = before->was_fast };

	for (unsigned why = 0; why < STOP_N; why++)
		if (why == STOP_BEFORE_JUMP || why == STOP_THREAD)
			now.early += load(&u->stops[why]);
		else
			now.stops += load(&u->stops[why]);
	if (!has_rings)
		return now;
	now.jumped = load(&u->ring_hits);
	/* Only filters drop. */
	if (probe->filter || probe->at_hit.sample)
		now.dropped = ring_set_dropped(s->out.rings, probe->number);
	if (probe->at_hit.sample)
		now.dropped += ring_set_left_out(s->out.rings, probe->number);
	return now;
}

/* A span between two looks. */
struct look {
	uint64_t now_ns, span_ns, ring_span_ns; /* .ring_span_ns: 0: rings were not read */
	bool counts_early;
	double lost;   /* records of rings */
	double jumped; /* ... and those that were read */
};

static double part(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

/* Rings are read at times of their own: what they had is taken for the span of the look. */
static struct budget_counts since(const struct look *look, const struct budget_seen *now,
				  const struct budget_seen *before)
{
	double scale =
		look->ring_span_ns ? (double)look->span_ns / (double)look->ring_span_ns : 0;
	struct budget_counts counts = {
		.at_stops = part(now->hits, before->hits),
		.stops = part(now->stops, before->stops) +
			 (look->counts_early ? part(now->early, before->early) : 0),
		.jumped = part(now->jumped, before->jumped) * scale,
		.dropped = part(now->dropped, before->dropped) * scale,
	};

	/* What there was no room for was lost by those that others were read of, each its share. */
	if (look->jumped > 0)
		counts.lost = counts.jumped * look->lost / look->jumped;
	return counts;
}

static int make_room(struct session_budget *b, const struct probe_list *list)
{
	size_t n = b->n_seen;

	if (list->n_numbers > n) {
		if (VEC_FIT(b->seen, list->n_numbers) < 0)
			return -ENOMEM;
		for (; n < list->n_numbers; n++)
			b->seen[n] = (struct budget_seen){ 0 };
		b->n_seen = n;
	}
	if (list->n > b->n_places) {
		if (VEC_FIT(b->places, list->n) < 0)
			return -ENOMEM;
		b->n_places = list->n;
	}
	return 0;
}

static struct look begin_look(struct ubp_session *s, uint64_t now_ns)
{
	struct session_budget *b = &s->budget;
	uint64_t drained_ns = load(&s->out.drained_ns), lost = load(&s->out.ring_lost);
	struct look look = { .now_ns = now_ns,
			     .span_ns = now_ns - b->looked_ns,
			     .counts_early = now_ns - b->begun_ns > EARLY_NS };

	b->looked_ns = now_ns;
	if (!s->out.rings || drained_ns <= b->drained_ns)
		return look;
	look.ring_span_ns = drained_ns - b->drained_ns;
	look.lost = part(lost, b->lost);
	b->drained_ns = drained_ns;
	b->lost = lost;
	return look;
}

static double jumped_in_all(struct session_budget *b, const struct probe_list *list)
{
	double n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += part(load(&list->v[i]->stats.ring_hits),
			  b->seen[list->v[i]->number].jumped);
	return n;
}

/* Those that had anything. Returns how many there are in .places. */
static size_t fill_places(const struct ubp_session *s, const struct probe_list *list,
			  const struct look *look)
{
	const struct session_budget *b = &s->budget;
	double stop_ns = stop_cost(b);
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct uprobe *probe = list->v[i];
		struct budget_seen *seen = &b->seen[probe->number];
		struct budget_seen now = count(s, probe, seen, look->ring_span_ns != 0);
		struct budget_counts counts = since(look, &now, seen);

		now.was_fast = false;
		now.lost += counts.lost;
		if (counts.stops > 0 || counts.at_stops > 0 || counts.jumped > 0 ||
		    counts.dropped > 0) {
			struct budget_place *place = &b->places[n++];

			*place = (struct budget_place){ .probe = probe,
							.was_fast = seen->was_fast };
			budget_cost(place, &counts, probe->kind, stop_ns, look->span_ns);
		}
		*seen = now;
	}
	return n;
}

/* --- those that are to go ----------------------------------------------------------------- */

/* What it had in all: "812 hits". */
static void count_text(const struct ubp_session *s, const struct uprobe *probe, char *text,
		       size_t size)
{
	const struct budget_seen *seen = &s->budget.seen[probe->number];
	uint64_t n = seen->hits + load(&probe->stats.ring_hits) + seen->dropped;
	int len = snprintf(text, size, "%" PRIu64 " hits", n);

	if (seen->lost >= 1 && len > 0 && (size_t)len < size)
		(void)snprintf(text + len, size - (size_t)len, ", some %.0f more were lost",
			       seen->lost);
}

/* "p:libc.so.6:malloc"; with an event's name in front that somebody thought of. */
static void name_place(const struct ubp_session *s, const struct uprobe *probe, char *name,
		       size_t size)
{
	const struct spec_probe *spec = probe->number < definitions_n(s->defined)
						? definitions_spec(s->defined, probe->number)
						: NULL;
	bool has_name = spec && (!spec->auto_event || strcmp(spec->group, "uprobes") != 0);

	(void)snprintf(name, size, "%s%s%s%s%c:%s%s", has_name ? spec->group : "",
		       has_name ? "/" : "", has_name ? spec->event : "", has_name ? " (" : "",
		       probe_kind_letter(probe->kind), probe->what, has_name ? ")" : "");
}

static void tell(struct ubp_session *s, const struct budget_place *place, double all)
{
	bool by_stops = place->by_stops > place->share / 2;
	char name[512], count[96];

	count_text(s, place->probe, count, sizeof(count));
	name_place(s, place->probe, name, sizeof(name));
	if (place->out == TAKEN_OUT_RATE)
		session_warn(s,
			     "%s was taken out: %.0f hits a second are more than "
			     "--max-rate %" PRIu64 " (%s)",
			     name, place->rate, s->opt.limits.max_rate, count);
	else
		session_warn(s,
			     "%s was taken out: %.0f %s a second cost %.1f %% of a CPU, all "
			     "probes together %.1f %%, more than --max-overhead %u (%s)",
			     name, by_stops ? place->stop_rate : place->rate,
			     by_stops ? "stops" : "hits", place->share * 100, all * 100,
			     s->opt.limits.max_overhead, count);
}

static struct plant_change *make_change(const struct budget_place *places, size_t n)
{
	struct plant_change *change = plant_change_new(0, n);

	for (size_t i = 0; change && i < n; i++)
		if (places[i].out)
			change->retired[change->n_retired++] = places[i].probe->number;
	return change;
}

/* They are told of before they may be gone. Where memory is short nothing has changed: the next look tries again. */
static void take_out(struct ubp_session *s, size_t n, double all)
{
	const struct budget_place *places = s->budget.places;
	struct plant_change *change = make_change(places, n);
	struct probe_list *before = probe_list_get(&s->plant);

	if (change && change->n_retired && plant_change(&s->plant, &s->tracer, change) == 0) {
		for (size_t i = 0; i < n; i++) {
			if (!places[i].out)
				continue;
			__atomic_store_n(&places[i].probe->stats.taken_out, places[i].out,
					 __ATOMIC_RELAXED);
			tell(s, &places[i], all);
		}
		if (!probe_list(&s->plant)->n)
			session_warn(s, "no probe is left: nothing is traced any more");
	}
	probe_list_put(before);
	plant_change_free(change);
}

static bool is_any_out(const struct budget_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].out)
			return true;
	return false;
}

static void look(struct ubp_session *s, uint64_t now_ns)
{
	const struct budget_limits limits = { s->opt.limits.max_rate,
					      s->opt.limits.max_overhead };
	const struct probe_list *list = probe_list(&s->plant);
	struct session_budget *b = &s->budget;
	struct look look;
	size_t n;
	double all;

	if (make_room(b, list) < 0)
		return;
	look = begin_look(s, now_ns);
	look.jumped = look.ring_span_ns ? jumped_in_all(b, list) : 0;
	n = fill_places(s, list, &look);
	b->stop_ns = b->n_stops = 0;
	all = budget_pick(b->places, n, &limits, &b->was_over);
	for (size_t i = 0; i < n; i++)
		b->seen[b->places[i].probe->number].was_fast = b->places[i].is_fast;
	if (is_any_out(b->places, n))
		take_out(s, n, all);
}

void budget_pass(struct ubp_session *s)
{
	struct session_budget *b = &s->budget;
	uint64_t now_ns = alarm_turn_begin(&b->looks);

	if (!now_ns)
		return;
	look(s, now_ns);
	alarm_turn_end(&b->looks, now_ns);
}
