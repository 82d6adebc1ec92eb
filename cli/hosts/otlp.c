/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/hosts/http_post.h"
#include "cli/hosts/metrics.h"
#include "cli/hosts/otlp_metrics.h"
#include "engine/base/err.h"

/* What a line is, by how it begins; and how each of its items begins, which no text in it can look like: its quotes are escaped. */
static const struct {
	const char *line, *item, *path;
} kinds[] = {
	{ "{\"resourceSpans\"", "{\"traceId\":", "/v1/traces" },
	{ "{\"resourceLogs\"", "{\"timeUnixNano\":", "/v1/logs" },
};

bool otlp_is_url(const char *to)
{
	return strncasecmp(to, "http://", 7) == 0 || strncasecmp(to, "https://", 8) == 0;
}

const char *otlp_service(void)
{
	const char *name = getenv("OTEL_SERVICE_NAME");

	return name && *name ? name : NULL;
}

int otlp_open(struct otlp *o, const char *to, bool waits)
{
	struct timespec ts;
	struct ubp_err err;

	ubp_err_reset(&err);
	o->waits = waits;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	o->begin_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	if (otlp_is_url(to) && http_post_new(to, &o->post, &err) < 0)
		return cli_error_record(&err);
	return CLI_OK;
}

/* --- lines --------------------------------------------------------------------------------- */

static uint64_t count(const char *line, size_t len, const char *item)
{
	const char *end = line + len;
	uint64_t n = 0;

	while ((line = memmem(line, (size_t)(end - line), item, strlen(item)))) {
		line += strlen(item);
		n++;
	}
	return n;
}

static void tell_full(struct otlp *o)
{
	if (!o->told)
		cli_warn(NULL, "the collector does not take so much: some is not sent");
	o->told = true;
}

static void send(struct otlp *o, struct output *out, const char *path, const char *line,
		 size_t len, uint64_t items)
{
	if (!o->post)
		output_add(out, line, len);
	else if (!http_post_add(o->post, path, line, len, items, o->waits))
		tell_full(o);
}

void otlp_lines(struct otlp *o, struct output *out, const char *lines, size_t len)
{
	const char *end;

	for (; len; lines = end) {
		bool is_logs = strncmp(lines, kinds[1].line, strlen(kinds[1].line)) == 0;
		uint64_t n;

		end = memchr(lines, '\n', len);
		end = end ? end + 1 : lines + len;
		n = count(lines, (size_t)(end - lines), kinds[is_logs].item);
		*(is_logs ? &o->n_logs : &o->n_spans) += n;
		send(o, out, kinds[is_logs].path, lines, (size_t)(end - lines), n);
		len -= (size_t)(end - lines);
	}
}

void otlp_metrics(struct otlp *o, struct output *out, const struct metrics *m)
{
	uint64_t points = 0;
	size_t len;
	char *line =
		m ? otlp_metrics_line(m, otlp_service(), o->begin_ns, &len, &points) : NULL;

	if (!line) {
		cli_warn(NULL, "out of memory: metrics are not sent");
		return;
	}
	o->n_points += points;
	send(o, out, "/v1/metrics", line, len, points);
	free(line);
}

/* --- the end ------------------------------------------------------------------------------- */

int otlp_fd(const struct otlp *o)
{
	return o->post ? http_post_fd(o->post) : -1;
}

bool otlp_is_done(struct otlp *o)
{
	return !o->post || http_post_is_idle(o->post);
}

static int tell_sent(const struct otlp *o, const struct http_post_counts *c)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "%" PRIu64 " span%s, %" PRIu64 " log record%s, %" PRIu64
		       " data point%s; %" PRIu64 " request%s, sent again %" PRIu64 " time%s",
		       o->n_spans, o->n_spans == 1 ? "" : "s", o->n_logs,
		       o->n_logs == 1 ? "" : "s", o->n_points, o->n_points == 1 ? "" : "s",
		       c->sent, c->sent == 1 ? "" : "s", c->retries,
		       c->retries == 1 ? "" : "s");
	cli_tell(NULL, text);
	if (!c->lost && !c->refused)
		return CLI_OK;
	return cli_error("of these %" PRIu64
			 " did not get there, and the collector refused %" PRIu64 "%s%s",
			 c->lost, c->refused, *c->why ? ": " : "", c->why);
}

int otlp_close(struct otlp *o)
{
	struct http_post_counts counts;
	int status;

	if (!o->post)
		return CLI_OK;
	http_post_give_up(o->post);
	http_post_counts(o->post, &counts);
	status = tell_sent(o, &counts);
	http_post_free(o->post);
	o->post = NULL;
	return status;
}
