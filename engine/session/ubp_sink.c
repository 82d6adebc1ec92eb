/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The public sink: a trace in one of the forms of engine/sink, with names and stacks as the session knows them. */

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/session/apart.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/sink.h"
#include "engine/sink/sink.h"
#include "engine/ubp_event.h"
#include "engine/ubp_sink.h"

struct ubp_sink {
	struct sink *sink;
	const struct event_texts *texts; /* of its events */
	struct sink_buf text;            /* what was given last */
};

bool ubp_sink_form(const char *name, struct ubp_sink_form *ret_form)
{
	const struct sink_kind *kind = name ? sink_kind_find(name) : NULL;

	if (!kind)
		return false;
	*ret_form = (struct ubp_sink_form){
		.name = kind->name,
		.is_data = kind->is_data,
		.has_header = kind->has_header,
		.is_binary = kind->is_binary,
		.is_whole = kind->is_whole,
		.file = kind->file,
		.file_beside = kind->file_beside,
		.can_diff = kind->diff != NULL,
		.needs_stack = kind->needs_stack,
	};
	return true;
}

static struct sink_options options_for(const struct event_texts *texts,
				       const struct ubp_sink_options *options)
{
	_Static_assert((int)SINK_TIME_KERNEL == UBP_SINK_TIME_KERNEL &&
			       (int)SINK_TIME_NONE == UBP_SINK_TIME_NONE,
		       "both mean the same");
	return (struct sink_options){
		.resolver = texts->resolver,
		.probes = texts->probes.next ? &texts->probes : NULL,
		.about = texts->about.host || texts->about.real_ns ? &texts->about : NULL,
		.service = options->service,
		.escape = !options->raw,
		.header = options->header,
		.time = (enum sink_time)options->time,
		.colour = options->colour,
		/* Files are read for that. */
		.n_cpus = options->header ? (unsigned)sysconf(_SC_NPROCESSORS_ONLN) : 0,
	};
}

int session_sink_new(const struct event_texts *texts, const struct ubp_sink_options *options,
		     struct ubp_sink **ret_sink, struct ubp_err *err)
{
	const struct sink_kind *kind;
	struct sink_options opt;
	struct ubp_sink *sink;
	int rc = ubp_need(options, "form of output", err);

	*ret_sink = NULL;
	if (rc == 0)
		rc = ubp_need(options->form, "form of output", err);
	if (rc < 0)
		return rc;
	opt = options_for(texts, options);
	kind = sink_kind_find(options->form);
	if (!kind)
		return ubp_fail(err, EINVAL, "there is no form '%s' of output", options->form);
	if ((unsigned)options->time > UBP_SINK_TIME_NONE)
		return ubp_fail(err, EINVAL, "there is no form %u of times",
				(unsigned)options->time);
	if (kind->missing && kind->missing())
		return ubp_fail(err, ENOSYS, "--%s: %s", kind->name, kind->missing());
	sink = calloc(1, sizeof(*sink));
	if (!sink)
		return ubp_fail(err, ENOMEM, "out of memory");
	sink->texts = texts;
	sink->sink = sink_new(kind, &opt);
	if (!sink->sink) {
		free(sink);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	*ret_sink = sink;
	return 0;
}

static const struct spec_probe *next_probe(void *ctx, unsigned *at)
{
	const struct ubp_session *s = ctx;
	const struct spec_probe *spec = NULL;

	while (!spec && *at < live_n_specs(s))
		spec = live_spec(s, (*at)++);
	return spec;
}

/* Where the session runs, and what its clock says now. */
static void set_about(struct ubp_session *s, struct event_texts *texts)
{
	struct timespec ts;

	if (gethostname(texts->host, sizeof(texts->host) - 1) < 0)
		texts->host[0] = '\0';
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	texts->about = (struct picture_about){
		.host = texts->host[0] ? texts->host : NULL,
		.clock_ns = event_clock_now(s->clock),
		.real_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec,
	};
}

struct sink_probes session_probes(struct ubp_session *session)
{
	return (struct sink_probes){ session->tracing.apart ? apart_next_probe : next_probe,
				     session };
}

int ubp_sink_new(struct ubp_session *session, const struct ubp_sink_options *options,
		 struct ubp_sink **ret_sink, struct ubp_err *err)
{
	set_about(session, &session->out.texts);
	session->out.texts.probes = session_probes(session);
	return session_sink_new(&session->out.texts, options, ret_sink, err);
}

void ubp_sink_free(struct ubp_sink *sink)
{
	if (!sink)
		return;
	sink_free(sink->sink);
	sink_buf_free(&sink->text);
	free(sink);
}

/* --- for several threads ------------------------------------------------------ */

bool session_sink_is_apart(const struct ubp_sink *sink)
{
	enum sink_time time = sink->sink->opt.time;

	/* Names for stacks are read as events are. */
	return sink->sink->kind->is_apart && !sink->texts->resolver &&
	       time != SINK_TIME_RELATIVE && time != SINK_TIME_DELTA;
}

struct ubp_sink *session_sink_again(const struct ubp_sink *sink)
{
	struct ubp_sink *again = calloc(1, sizeof(*again));

	if (!again)
		return NULL;
	again->texts = sink->texts;
	again->sink = sink_new(sink->sink->kind, &sink->sink->opt);
	if (!again->sink) {
		free(again);
		return NULL;
	}
	return again;
}

void session_sink_join(struct ubp_sink *sink, const struct ubp_sink *other)
{
	sink->sink->n_untold += other->sink->n_untold;
	sink->sink->is_short |= other->sink->is_short;
}

/* --- what is to be written next --------------------------------------------- */

static const char *given(struct ubp_sink *sink, size_t *ret_len)
{
	*ret_len = sink->text.len;
	return sink->text.data ? sink->text.data : "";
}

/* Half an event is none: where there was no memory for it, behind @len bytes, it counts as lost. */
static void drop_half(struct ubp_sink *sink, struct sink_buf *to, size_t len, uint64_t n)
{
	if (!to->failed)
		return;
	to->failed = 0;
	to->len = len;
	sink->sink->is_short = true;
	sink->sink->n_untold += n;
}

const char *ubp_sink_begin(struct ubp_sink *sink, size_t *ret_len)
{
	sink->text.len = 0;
	sink_begin(sink->sink, &sink->text);
	return given(sink, ret_len);
}

void session_sink_add(struct ubp_sink *sink, struct sink_buf *to, const struct ubp_event *event)
{
	size_t len = to->len;

	if (event->record->kind == EVENT_PROCESS)
		return;
	sink->sink->opt.resolver = sink->texts->resolver;
	sink->sink->weight = event->weight;
	sink->sink->host = event->host;
	sink_record(sink->sink, to, event->spec, event->record);
	drop_half(sink, to, len, event->record->kind == EVENT_LOST ? event->record->n_lost : 1);
}

const char *ubp_sink_event(struct ubp_sink *sink, const struct ubp_event *event,
			   size_t *ret_len)
{
	sink->text.len = 0;
	session_sink_add(sink, &sink->text, event);
	return given(sink, ret_len);
}

const char *ubp_sink_lost(struct ubp_sink *sink, uint64_t n, size_t *ret_len)
{
	sink->text.len = 0;
	sink_lost(sink->sink, &sink->text, n);
	drop_half(sink, &sink->text, 0, n);
	return given(sink, ret_len);
}

const char *ubp_sink_flush(struct ubp_sink *sink, size_t *ret_len)
{
	sink->text.len = 0;
	sink_flush(sink->sink, &sink->text);
	return given(sink, ret_len);
}

const char *ubp_sink_end(struct ubp_sink *sink, size_t *ret_len)
{
	sink->text.len = 0;
	sink_end(sink->sink, &sink->text);
	return given(sink, ret_len);
}

const char *ubp_sink_beside(struct ubp_sink *sink, size_t *ret_len)
{
	sink->text.len = 0;
	if (sink->sink->kind->beside)
		sink->sink->kind->beside(sink->sink, &sink->text);
	return given(sink, ret_len);
}

const char *ubp_sink_diff(struct ubp_sink *old, struct ubp_sink *new_sink, size_t *ret_len)
{
	const struct sink_kind *kind = new_sink->sink->kind;

	new_sink->text.len = 0;
	if (kind->diff && old->sink->kind == kind)
		kind->diff(old->sink, new_sink->sink, &new_sink->text);
	return given(new_sink, ret_len);
}

uint64_t ubp_sink_untold(const struct ubp_sink *sink)
{
	return sink->sink->n_untold;
}

bool ubp_sink_is_short(const struct ubp_sink *sink)
{
	return sink->sink->is_short || sink->text.failed;
}
