/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Histograms of --trigger, as metrics. */

#ifndef UBP_CLI_HOSTS_METRICS_TRIGGERS_H
#define UBP_CLI_HOSTS_METRICS_TRIGGERS_H

struct metric_rows;

/*
 * Those of all events of the session: a key that is a range makes a histogram, of the keys in front of it one each; without such a key each
 * entry is a counter. Sums of other arguments are told beside. Out of memory is noted in the metrics.
 */
void metrics_take_triggers(struct metric_rows *rows);

#endif
