/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The few of all events, and of all calls, that are shown one by one. Bounded: events are kept in runs, of which each second one goes when
 * there are too many; of calls the longest stay, of each stretch of time.
 */

#ifndef UBP_PICTURE_KEPT_H
#define UBP_PICTURE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEPT_EVENTS_MAX 32768
#define KEPT_RUN        64 /* events that follow each other */
#define KEPT_TEXT_MAX   480
#define KEPT_CALLS_MAX  65536

/* Times are nanoseconds from the first event. */
struct kept_event {
	uint64_t number;   /* among all */
	uint64_t time, ns; /* .ns: latency; 0: none is known */
	uint32_t path, stack, cpu;
	uint16_t key, thread;
	bool is_return, is_paired; /* .is_paired: a call begins or ends with it */
	char *text;                /* its args; NULL: none */
};

struct kept_events {
	struct kept_event *v;
	size_t n, cap;
	uint64_t n_all;
	unsigned every_log2; /* of 2^N runs one is kept */
};

/* Whether the next event is to be kept: else it is counted, and that is all. */
bool kept_events_wants(struct kept_events *events);
/* Keep it: behind kept_events_wants(). Takes .text over. 0 or -ENOMEM. */
int kept_events_add(struct kept_events *events, const struct kept_event *event);
void kept_events_free(struct kept_events *events);

struct kept_call {
	double start, dur;
	uint32_t path;
	uint16_t key, thread;
	uint8_t depth;
};

struct kept_calls {
	struct kept_call *v;
	size_t n, cap;
	uint64_t n_all;
	bool is_thinned;
};

/* Memory short: it is not kept. */
void kept_calls_add(struct kept_calls *calls, const struct kept_call *call);
/* Nothing comes any more: they are as dense everywhere, and sorted by start. */
void kept_calls_end(struct kept_calls *calls);
void kept_calls_free(struct kept_calls *calls);

#endif
