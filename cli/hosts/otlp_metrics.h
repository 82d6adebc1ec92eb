/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Metrics as a request of OTLP/JSON. */

#ifndef UBP_CLI_HOSTS_OTLP_METRICS_H
#define UBP_CLI_HOSTS_OTLP_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct metrics;

/* A line, newline included, allocated; *ret_points: what is in it. @begin_ns: when counting began, by CLOCK_REALTIME. NULL: out of memory. */
char *otlp_metrics_line(const struct metrics *m, const char *service, uint64_t begin_ns,
			size_t *ret_len, uint64_t *ret_points);

#endif
