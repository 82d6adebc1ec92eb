/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/hosts.h"

#include "cli/common/clock.h"
#include "cli/common/heap.h"
#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/trace_options.h"
#include "engine/ubp_sink.h"

#define LINES_NS   1000000000ULL
#define METRICS_NS (10 * 1000000000ULL)

int hosts_check(const struct trace_options *o)
{
	if (o->to.prometheus &&
	    (o->only.format || o->only.check || o->only.explain || o->only.definition))
		return cli_usage_error("--prometheus is for tracing: it excludes -v, --check, "
				       "--definition and --explain");
	if (o->to.otlp && heap_is_wanted(o))
		return cli_usage_error("a heap profile is no metric yet: --otlp excludes "
				       "--allocates");
	if (o->to.otlp && (o->to.output || o->to.record.path))
		return cli_usage_error("--otlp says where events go: it excludes %s",
				       o->to.output ? "-o" : "--record");
	return CLI_OK;
}

const char *hosts_output(const struct trace_options *o)
{
	return o->to.otlp && !otlp_is_url(o->to.otlp) ? o->to.otlp : o->to.output;
}

int hosts_open(struct hosts *h, struct ubp_session *session, const struct trace_options *o,
	       struct output *out)
{
	uint64_t now = cli_now_ns();

	h->out = out;
	if (!o->to.prometheus && !o->to.otlp)
		return CLI_OK;
	metrics_taker_init(&h->taker, session, tally_is_wanted(&o->tally), o->triggers.n > 0);
	if (prometheus_open(&h->prometheus, &h->taker, o) != CLI_OK)
		return CLI_FAILED;
	if (!o->to.otlp)
		return CLI_OK;
	h->has_otlp = true;
	h->every_ns = o->tally.every_ns ? o->tally.every_ns : METRICS_NS;
	h->lines_ns = now + LINES_NS;
	h->metrics_ns = now + h->every_ns;
	return otlp_open(&h->otlp, o->to.otlp, false);
}

void hosts_event(struct hosts *h, const struct ubp_event *event)
{
	if (h->taker.session)
		metrics_taker_event(&h->taker, event);
}

void hosts_text(struct hosts *h, const char *text, size_t len)
{
	if (h->has_otlp)
		otlp_lines(&h->otlp, h->out, text, len);
	else
		output_add(h->out, text, len);
}

static void send_metrics(struct hosts *h)
{
	struct metrics *m = metrics_take(&h->taker);

	otlp_metrics(&h->otlp, h->out, m);
	metrics_free(m);
}

uint64_t hosts_look(struct hosts *h, struct ubp_sink *sink)
{
	uint64_t now;
	size_t len;

	if (!h->has_otlp)
		return 0;
	now = cli_now_ns();
	if (now >= h->lines_ns) {
		const char *text = ubp_sink_flush(sink, &len);

		hosts_text(h, text, len);
		h->lines_ns = now + LINES_NS;
	}
	if (now >= h->metrics_ns) {
		send_metrics(h);
		h->metrics_ns = now + h->every_ns;
	}
	return (h->lines_ns < h->metrics_ns ? h->lines_ns : h->metrics_ns) - now;
}

void hosts_end(struct hosts *h)
{
	if (h->has_otlp)
		send_metrics(h);
}

int hosts_close(struct hosts *h)
{
	int status = otlp_close(&h->otlp);

	prometheus_close(&h->prometheus);
	metrics_taker_free(&h->taker);
	return status;
}
