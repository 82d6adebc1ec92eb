/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Requests to an OpenTelemetry collector, by libcurl, which is loaded when it is asked for. A thread of its own sends them in their order, and tries again
 * what may get through later: while there is no connection, and where the answer is 429, 502, 503 or 504. What waits is bounded.
 */

#ifndef UBP_CLI_HOSTS_HTTP_POST_H
#define UBP_CLI_HOSTS_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_post;
struct ubp_err;

#define HTTP_POST_SIGNALS 3

struct http_post_counts {
	uint64_t sent, retries; /* requests; how often one was sent again */
	uint64_t items, lost,
		refused; /* items: that got there; that did not; that the collector has not taken */
	uint64_t waiting; /* requests */
	char why[256];    /* what was wrong last; "" */
};

/*
 * For "http://HOST[:PORT][/PATH]" or https: "/v1/traces", "/v1/logs" or "/v1/metrics" is put behind. -EINVAL: it is no such address; -ENOTSUP: the
 * library is not there, or this build loads none; -ENOMEM, others.
 *
 * From the environment, as for other OpenTelemetry programs: OTEL_EXPORTER_OTLP_HEADERS ("NAME=VALUE,...", more headers),
 * OTEL_EXPORTER_OTLP_CERTIFICATE (a file of the certificates that are trusted).
 */
int http_post_new(const char *url, struct http_post **ret_post, struct ubp_err *err);
/* What waits is not sent any more; NULL is fine. */
void http_post_free(struct http_post *post);

/*
 * A request: @text of @len bytes is copied. @items: how many it is of, for the counts. @waits: where there is no room it is waited for. Returns
 * false, and it is counted as lost: there is none, or no memory.
 */
bool http_post_add(struct http_post *post, const char *path, const char *text, size_t len,
		   uint64_t items, bool waits);

/* Readable when all that was added has been sent, or was given up. */
int http_post_fd(const struct http_post *post);
/* Nothing waits any more. */
bool http_post_is_idle(struct http_post *post);
/* What waits is given up: it counts as lost. */
void http_post_give_up(struct http_post *post);
void http_post_counts(struct http_post *post, struct http_post_counts *ret_counts);

#endif
