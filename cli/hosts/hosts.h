/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What goes to other machines while a session is traced: --prometheus, --otlp. */

#ifndef UBP_CLI_HOSTS_HOSTS_H
#define UBP_CLI_HOSTS_HOSTS_H

#include "cli/hosts/metrics_take.h"
#include "cli/hosts/otlp.h"
#include "cli/hosts/prometheus.h"

struct output;
struct trace_options;
struct ubp_sink;

/* Zero-initialise. */
struct hosts {
	struct prometheus prometheus;
	struct otlp otlp;
	bool has_otlp;
	struct metrics_taker taker; /* of both */
	struct output *out;
	uint64_t lines_ns, metrics_ns; /* when what waits is sent next */
	uint64_t every_ns;             /* metrics: so often */
};

/* CLI_OK, or said what makes no sense together. */
int hosts_check(const struct trace_options *o);
/* The file that all is written to; NULL: standard output. */
const char *hosts_output(const struct trace_options *o);
/* Before the session starts. CLI_OK, or said why not. */
int hosts_open(struct hosts *h, struct ubp_session *session, const struct trace_options *o,
	       struct output *out);
/* An event was handed out. */
void hosts_event(struct hosts *h, const struct ubp_event *event);
/* What the sink gave: to the output, or to a collector. */
void hosts_text(struct hosts *h, const char *text, size_t len);
/* What is due now; returns nanoseconds until more is, 0: nothing will be. */
uint64_t hosts_look(struct hosts *h, struct ubp_sink *sink);
/* Behind all events. */
void hosts_end(struct hosts *h);
/* As otlp_close(); nobody is answered any more. */
int hosts_close(struct hosts *h);

#endif
