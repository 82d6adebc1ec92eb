/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Histograms as data: each entry with its keys told apart, for who makes neither the kernel's text nor JSON of it. */

#ifndef UBP_TRIGGER_HIST_ROWS_H
#define UBP_TRIGGER_HIST_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/trigger/hist_map.h"

struct tally;
struct trigger_event;

enum hist_part_kind {
	HIST_PART_NUMBER,
	HIST_PART_TEXT, /* .text: strings, names of functions, stacks (the outermost first, with ';' between) */
	HIST_PART_LOG2,    /* .number: the exponent, as hist files have it */
	HIST_PART_BUCKETS, /* .number: the least value of the bucket */
};

struct hist_part {
	enum hist_part_kind kind;
	const char *name;
	uint64_t number, width;
	bool is_signed; /* numbers; of ranges: what they are made of */
	const char *text;
};

/* An entry. Sums are of what was asked for beside the hits. */
struct hist_row {
	size_t n_keys, n_sums;
	struct hist_part keys[HIST_KEYS_MAX], sums[HIST_VALUES_MAX];
	uint64_t hits;
};

/* A histogram of an event. */
struct hist_head {
	unsigned number, n; /* the first of two is 0 of 2 */
	const char *name;   /* events share it by that name; NULL: it has none */
	uint64_t dropped;
};

/* @row is NULL once for each histogram, before its entries. All that is passed is good during the call. */
typedef void hist_row_fn(void *ctx, const struct hist_head *head, const struct hist_row *row);

/*
 * All histograms of @event, with what was @counted of its one (as for trigger_read_hist()). One that events share is told of with the event that
 * it was made for, and with no other. 0 or -ENOMEM.
 */
int trigger_hist_rows(const struct trigger_event *event, const struct tally *counted,
		      hist_row_fn *fn, void *ctx);

#endif
