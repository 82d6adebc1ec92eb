/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Entries of what is counted, as points of metrics: a counter for each, or a bucket of a histogram; keys are labels. */

#ifndef UBP_CLI_HOSTS_METRICS_ROWS_H
#define UBP_CLI_HOSTS_METRICS_ROWS_H

#include <stdbool.h>

#include "cli/hosts/metrics.h"

struct ubp_session;
struct ubp_tally_row;

/* Where they go. */
struct metric_rows {
	struct metrics *m;
	struct metrics_known *known;
	struct ubp_session *session;
	struct metric_family *count, *sum, *min, *max; /* tables */
	struct metric_family *times, *values;          /* histograms */
};

/* What stands in front of the keys; NULL: that does not. */
struct metric_whose {
	const char *event, *group;
	const char *hist; /* which of an event's histograms */
};

/* Adds the families to @m. All is borrowed. */
void metric_rows_begin(struct metric_rows *rows, struct metrics *m, struct metrics_known *known,
		       struct ubp_session *session);

void metric_whose_add(const struct metric_whose *whose, struct metric_labels *labels);

/* Hits, and sum, least and most of the row's first value. */
void metric_rows_count(struct metric_rows *rows, const struct metric_whose *whose,
		       const struct ubp_tally_row *row);
/* Sums alone, of all of the row's values. */
void metric_rows_sums(struct metric_rows *rows, const struct metric_whose *whose,
		      const struct ubp_tally_row *row);
/* The last key is a range, and the row a bucket of a histogram. The first value is the sum of what is in it, if there is one. */
void metric_rows_bucket(struct metric_rows *rows, const struct metric_whose *whose,
			const struct ubp_tally_row *row);

#endif
