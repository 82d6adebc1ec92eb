/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The ways "stats" and "stats-json": how often and how long functions were called, at the end. What their files share. */

#ifndef UBP_SINK_STATS_H
#define UBP_SINK_STATS_H

#include "engine/sink/of_calls.h"
#include "engine/sink/quantiles.h"

/* Times are nanoseconds. Those of calls whose return is known, and where no events were lost meanwhile. */
struct stats_function {
	const struct calls_function *function;
	uint64_t n;
	uint64_t total,
		self; /* .total without calls that are inside of others of the same function */
	uint64_t min, max;
	struct quantiles times;
	uint64_t unreturned;
};

struct stats_path {
	uint64_t n, total, self;
};

/* An event that is no part of a call; of several recordings those of one group and name are one. */
struct stats_event {
	struct stats_event *next; /* of the same hash */
	char *group, *name;
	uint64_t n;
};

struct stats {
	struct sink sink;
	struct calls *calls;
	struct stats_function *functions; /* by number */
	size_t n_functions, cap_functions;
	struct stats_path *paths; /* by number */
	size_t n_paths, cap_paths;
	struct map by_probe, by_name; /* -> struct stats_event, which the latter owns */
	size_t n_events;
	uint64_t lost;
	const struct spec_probe *last; /* whose event was asked for last */
	struct stats_event *last_event;
};

/* Exactly those of which something is known, by total time, the most first. free() it. NULL: memory is short. */
const struct stats_function **stats_by_total(const struct stats *stats, size_t *ret_n);
/* A quantile between the least and the most. */
uint64_t stats_quantile(const struct stats_function *f, double share);
/* What could not be counted; all 0 where there was no call. */
struct calls_counts stats_counts(const struct stats *stats);
/* Events, by name. free() it. NULL: memory is short. */
const struct stats_event **stats_events(const struct stats *stats, size_t *ret_n);

/* "12.3us", for people. */
#define STATS_TIME_MAX 32
void stats_time(char text[STATS_TIME_MAX], uint64_t ns);

void stats_text(struct stats *stats, struct sink_buf *to);
void stats_json(struct stats *stats, struct sink_buf *to);
/* What differs between two traces. */
void stats_diff_text(struct sink *old, struct sink *new, struct sink_buf *to);
void stats_diff_json(struct sink *old, struct sink *new, struct sink_buf *to);

/* One function's numbers as members of a JSON object: "calls":1,... */
void stats_json_function(struct sink_buf *to, const struct stats_function *f);

#endif
