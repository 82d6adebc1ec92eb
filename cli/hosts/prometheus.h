/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --prometheus [ADDR:]PORT: what is counted, for those who ask by HTTP. */

#ifndef UBP_CLI_HOSTS_PROMETHEUS_H
#define UBP_CLI_HOSTS_PROMETHEUS_H

#include "cli/hosts/metrics_take.h"

struct http_server;
struct trace_options;

/* As .set of struct cli_option, of a structure that begins with trace_options. */
int prometheus_set(void *into, const char *arg);

/* Zero-initialise. */
struct prometheus {
	struct http_server *server; /* NULL: there is none */
	struct metrics_taker *taker;
};

/* Listens, if that is asked for; before the session starts. CLI_OK, or said why not. */
int prometheus_open(struct prometheus *p, struct metrics_taker *taker,
		    const struct trace_options *o);
/* To be polled for reading, and then taken: by the thread that dispatches. -1: nobody can ask. */
int prometheus_fd(const struct prometheus *p);
void prometheus_take(struct prometheus *p);
/* Once more; the last. */
void prometheus_close(struct prometheus *p);

#endif
