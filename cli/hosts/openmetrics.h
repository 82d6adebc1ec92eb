/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Metrics as Prometheus reads them. */

#ifndef UBP_CLI_HOSTS_OPENMETRICS_H
#define UBP_CLI_HOSTS_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

struct metrics;

enum openmetrics_form {
	OPENMETRICS_PLAIN, /* "text/plain; version=0.0.4" */
	OPENMETRICS_1_0,   /* "application/openmetrics-text; version=1.0.0" */
	OPENMETRICS_FORMS
};

/* All of it as text, allocated; NULL: out of memory. */
char *openmetrics_text(const struct metrics *m, enum openmetrics_form form, size_t *ret_len);

/* Which form a request with this Accept header wants (NULL: it has none). */
enum openmetrics_form openmetrics_wanted(const char *accept);
/* The Content-Type of a form. */
const char *openmetrics_type(enum openmetrics_form form);

#endif
