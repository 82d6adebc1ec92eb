/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a session counts, as metrics. */

#ifndef UBP_CLI_HOSTS_METRICS_TAKE_H
#define UBP_CLI_HOSTS_METRICS_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/hosts/metrics.h"

struct ubp_event;
struct ubp_session;

/* What is kept from one moment to the next. Zero-initialise; free with metrics_taker_free(). */
struct metrics_taker {
	struct ubp_session *session;
	bool has_tally;    /* --count, --hist, --sum */
	bool has_triggers; /* --trigger */
	char host[256];
	struct metrics_known known;
	struct map events; /* of a probe and a name of a thread: struct event_count */
	uint64_t other;    /* events that found no room there */
	bool told;
};

void metrics_taker_init(struct metrics_taker *t, struct ubp_session *session, bool has_tally,
			bool has_triggers);
void metrics_taker_free(struct metrics_taker *t);

/* An event is handed out, or a gap. */
void metrics_taker_event(struct metrics_taker *t, const struct ubp_event *event);

/* All there is by now; by the thread that dispatches. NULL: out of memory. */
struct metrics *metrics_take(struct metrics_taker *t);

#endif
