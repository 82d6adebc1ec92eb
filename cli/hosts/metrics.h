/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What other machines are told in numbers: counters, gauges and histograms with labels, as plain data. It is collected by the thread that traces
 * (metrics_take.h) and written by others (openmetrics.h, otlp_metrics.h).
 */

#ifndef UBP_CLI_HOSTS_METRICS_H
#define UBP_CLI_HOSTS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

#define METRIC_LABELS  8
#define METRIC_BUCKETS 64
/* Of each metric so many sets of labels are told of by themselves; all that come later are one, "(other)". */
#define METRIC_POINTS      1000
#define METRIC_HIST_POINTS 100

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_label {
	const char *name;  /* [a-zA-Z_][a-zA-Z0-9_]* */
	const char *value; /* UTF-8 */
};

struct metric_labels {
	struct metric_label v[METRIC_LABELS];
	size_t n;
};

/* Upper bounds of a histogram's buckets, inclusive, the same from its first telling to its last. What is above the last is in .total alone. */
struct metric_bounds {
	bool log2;      /* 2^0, 2^1, ... */
	uint64_t width; /* else width - 1, 2 * width - 1, ... */
	unsigned n;     /* METRIC_BUCKETS at most */
};

uint64_t metric_bound(const struct metric_bounds *bounds, unsigned i);

/* Numbers for one set of labels. */
struct metric_point {
	struct metric_labels labels; /* the point's own copy */
	bool is_signed;              /* .number is to be seen as int64_t */
	uint64_t number;             /* counters, gauges */
	struct metric_bounds bounds; /* histograms */
	uint64_t *
		buckets; /* histograms: hits up to each bound and above the one before; then above all */
	uint64_t total, sum;
	bool has_sum;
};

struct metric_family {
	const char *name, *help; /* constant texts */
	enum metric_kind kind;
	bool in_seconds; /* values, bounds and sums are in nanoseconds, and are to be told in seconds */
	struct metric_bounds bounds; /* histograms: of points that are made from now on */
	struct metric_point *points;
	size_t n, cap;
};

#define METRIC_FAMILIES 20

/* All of a moment. */
struct metrics {
	struct metric_family families[METRIC_FAMILIES];
	size_t n;
	const char *host;  /* borrowed */
	uint64_t time_ns;  /* CLOCK_REALTIME: when it was collected ... */
	uint64_t took_ns;  /* ... and how long that took */
	struct map places; /* hash of a family and labels: where the point is */
	bool no_memory;    /* not all is there */
};

/* Which sets of labels are told of by themselves: the first ones, for good, so that no counter goes backwards. Zero-initialise. */
struct metrics_known {
	struct map sets; /* hash of a family and labels: struct known_set */
	struct {
		const char *name;
		size_t n;
	} of[METRIC_FAMILIES]; /* how many of each family */
	uint64_t left_out;     /* sets that are told of as one */
	struct map others;     /* which these are */
};

void metrics_known_free(struct metrics_known *known);

/* Empty; NULL: out of memory. @host must live as long. */
struct metrics *metrics_new(const char *host);
void metrics_free(struct metrics *m); /* NULL is fine */

/* A family more, METRIC_FAMILIES at most: texts are borrowed, and constant. */
struct metric_family *metrics_family(struct metrics *m, const char *name, const char *help,
				     enum metric_kind kind);

void metric_label_add(struct metric_labels *labels, const char *name, const char *value);

/*
 * The point of these labels, made if there is none yet: theirs, or the one for all that there are too many of (*ret_other); NULL: out of memory, which @m notes. The
 * first @n_fixed labels stay what they are in "(other)". Good until the next call for the family.
 */
struct metric_point *metrics_point(struct metrics *m, struct metric_family *family,
				   struct metrics_known *known,
				   const struct metric_labels *labels, size_t n_fixed);

#endif
