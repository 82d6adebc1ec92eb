/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/budget_pick.h"

#include <stdlib.h>

/* Of a hit without a stop, as measured (docs/overhead.md): an entry with an argument, a return, a hit that is not recorded. */
#define ENTRY_NS  30.0
#define RETURN_NS 50.0
#define DROP_NS   5.0

void budget_cost(struct budget_place *place, const struct budget_counts *counts,
		 enum probe_kind kind, double stop_ns, uint64_t span_ns)
{
	double seconds = (double)span_ns / 1e9;
	double jump_ns = kind == PROBE_RETURN ? RETURN_NS : ENTRY_NS;

	double unrecorded = counts->dropped + counts->lost;

	place->rate = (counts->at_stops + counts->jumped + unrecorded) / seconds;
	place->stop_rate = counts->stops / seconds;
	place->by_stops = counts->stops * stop_ns / (double)span_ns;
	place->share = place->by_stops +
		       (counts->jumped * jump_ns + unrecorded * DROP_NS) / (double)span_ns;
}

static void pick_fast(struct budget_place *places, size_t n, uint64_t rate)
{
	for (size_t i = 0; i < n; i++) {
		places[i].is_fast = rate && places[i].rate > (double)rate;
		places[i].out = places[i].is_fast && places[i].was_fast ? TAKEN_OUT_RATE
									: TAKEN_OUT_NOT;
	}
}

static double sum(const struct budget_place *places, size_t n)
{
	double share = 0;

	for (size_t i = 0; i < n; i++)
		if (!places[i].out)
			share += places[i].share;
	return share;
}

static bool is_stopping(const struct budget_place *place)
{
	return place->by_stops > place->share / 2;
}

static int compare(const void *pa, const void *pb)
{
	const struct budget_place *a = pa, *b = pb;

	if (is_stopping(a) != is_stopping(b))
		return is_stopping(b) - is_stopping(a);
	return (a->share < b->share) - (a->share > b->share);
}

/* A trap goes before a jump that costs more, and is back here if that has to go all the same. */
static void put_back(struct budget_place *places, size_t n, double most)
{
	double left = sum(places, n);

	for (size_t i = n; i-- > 0;)
		if (places[i].out == TAKEN_OUT_OVERHEAD && left + places[i].share <= most) {
			places[i].out = TAKEN_OUT_NOT;
			left += places[i].share;
		}
}

static void pick_costly(struct budget_place *places, size_t n, double most)
{
	double left = sum(places, n);

	qsort(places, n, sizeof(*places), compare);
	for (size_t i = 0; i < n && left > most; i++) {
		if (places[i].out)
			continue;
		places[i].out = TAKEN_OUT_OVERHEAD;
		left -= places[i].share;
	}
	put_back(places, n, most);
}

double budget_pick(struct budget_place *places, size_t n, const struct budget_limits *limits,
		   bool *was_over)
{
	double most = limits->percent / 100.0, all, left;
	bool is_over;

	pick_fast(places, n, limits->rate);
	all = 0;
	for (size_t i = 0; i < n; i++)
		all += places[i].share;
	left = sum(places, n);
	is_over = limits->percent && left > most;
	if (is_over && *was_over)
		pick_costly(places, n, most);
	*was_over = is_over;
	return all;
}
