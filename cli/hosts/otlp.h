/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --otlp FILE|URL: lines of the form "otlp" to a file, or to a collector as requests. */

#ifndef UBP_CLI_HOSTS_OTLP_H
#define UBP_CLI_HOSTS_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_post;
struct metrics;
struct output;

/* Is that a collector, and no file? */
bool otlp_is_url(const char *to);
/* What processes are called as a service (OTEL_SERVICE_NAME); NULL: by their names. */
const char *otlp_service(void);

/* Zero-initialise. */
struct otlp {
	struct http_post *post; /* NULL: lines go to the output */
	bool waits;             /* for room, rather than lose requests */
	uint64_t n_spans, n_logs, n_points;
	uint64_t begin_ns; /* CLOCK_REALTIME: metrics count from then on */
	bool told;
};

/* @to: as given by the user. CLI_OK, or said why not. */
int otlp_open(struct otlp *o, const char *to, bool waits);
/* Lines: where they belong. */
void otlp_lines(struct otlp *o, struct output *out, const char *lines, size_t len);
/* The same of metrics; NULL: there are none. */
void otlp_metrics(struct otlp *o, struct output *out, const struct metrics *m);
/* To be polled for reading while otlp_is_done() is false; -1: nothing is sent. */
int otlp_fd(const struct otlp *o);
bool otlp_is_done(struct otlp *o);
/* What waits is given up; tells what was sent, and what was not. CLI_OK, or CLI_FAILED: not all was. */
int otlp_close(struct otlp *o);

#endif
