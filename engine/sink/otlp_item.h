/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Spans and log records of OTLP, each as a JSON object: the mapping of opentelemetry-proto 1.x to JSON, in which ids are hexadecimal, numbers of 64 bits
 * decimal strings, and enumerations numbers.
 */

#ifndef UBP_SINK_OTLP_ITEM_H
#define UBP_SINK_OTLP_ITEM_H

#include "engine/calls/calls.h"
#include "engine/sink/sink.h"

/* What all ids of a trace are made of, so that the same trace has the same ids whenever it is told. */
struct otlp_ids {
	uint64_t seed;
	int64_t real_less_clock_ns; /* to be added to a record's time */
};

/* @trace: which tree of calls of its thread it is in; @weight: see struct sink. */
void otlp_span(struct sink_buf *to, const struct otlp_ids *ids, const struct call *call,
	       uint64_t trace, const struct sink_resolver *resolver, uint64_t weight);

/* An event that is no part of a call; @weight: see struct sink. */
void otlp_log(struct sink_buf *to, const struct otlp_ids *ids, const struct spec_probe *probe,
	      const struct event_record *record, const struct sink_resolver *resolver,
	      uint64_t weight);
/* @n events are not there. */
void otlp_lost(struct sink_buf *to, const struct otlp_ids *ids, uint64_t time, uint64_t n);

/* {"key":KEY,"value":...} of a text. */
void otlp_text(struct sink_buf *to, const char *key, const char *value, size_t len);
/* The same of a number. */
void otlp_number(struct sink_buf *to, const char *key, int64_t value);

#endif
