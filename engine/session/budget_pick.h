/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which places cost too much: from what they had in a span of time, and the limits. It knows no session and no clock. */

#ifndef UBP_SESSION_BUDGET_PICK_H
#define UBP_SESSION_BUDGET_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/probe_kind.h"
#include "engine/space/uprobe.h"

struct budget_limits {
	uint64_t rate;    /* hits a second of one place; 0: none */
	unsigned percent; /* of one CPU's time, for all places together; 0: none */
};

/* What a place had in a span of time. */
struct budget_counts {
	double stops; /* of threads */
	/* Hits without a stop: recorded; not recorded, since the filter said no, or there was no room. */
	double jumped, dropped, lost;
	double at_stops; /* hits */
};

struct budget_place {
	struct uprobe *probe;
	double rate;        /* hits a second */
	double stop_rate;   /* stops a second */
	double share;       /* of one CPU's time: 1 is all of it */
	double by_stops;    /* the part of .share that stops cost */
	bool was_fast;      /* it was over the rate at the look before, too */
	bool is_fast;       /* told: it is over the rate */
	enum taken_out out; /* told */
};

/* Fill in what it costs: @stop_ns is what a stop does. @span_ns is not 0. */
void budget_cost(struct budget_place *place, const struct budget_counts *counts,
		 enum probe_kind kind, double stop_ns, uint64_t span_ns);
/*
 * Tell which are to go: .out. Those that are over the rate, and were at the look before; then, if what is left is over
 * the percentage, and was at the look before (*was_over, which is what it is now behind the call), as many as it
 * takes: those that stop threads first, and of these what costs most. None goes in vain: what fits in the end stays.
 * @places are put into another order. Returns what all of them cost before, as .share.
 */
double budget_pick(struct budget_place *places, size_t n, const struct budget_limits *limits,
		   bool *was_over);

#endif
