/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "chrome": the Trace Event format, which chrome://tracing, Perfetto and speedscope open. A call is a complete event
 * ("X"), all else an instant ("i"). Times are microseconds of the records' clock, with three digits behind the point.
 */

#include <inttypes.h>
#include <string.h>

#include "engine/sink/folded.h"
#include "engine/sink/json.h"
#include "engine/sink/of_calls.h"

struct chrome {
	struct sink sink;
	struct calls *calls;
	struct sink_threads threads;
	struct sink_buf *to; /* during a call */
	uint64_t last_ns;
};

static struct chrome *chrome_of(struct sink *sink)
{
	return (struct chrome *)sink;
}

/* Each stands behind the first, which begin() writes. */
static void add_begin(struct sink_buf *to, const char *name, char phase)
{
	sink_buf_add_text(to, ",\n{\"name\":");
	sink_json_quoted(to, name, strlen(name));
	sink_buf_add_text(to, ",\"ph\":\"");
	sink_buf_add(to, &phase, 1);
	sink_buf_add(to, "\"", 1);
}

/* @key: with its comma, quotes and colon. */
static void add_number(struct sink_buf *to, const char *key, int64_t value)
{
	size_t len = strlen(key);
	char *room = sink_buf_room(to, len + SINK_NUMBER_MAX);

	if (room)
		sink_buf_end(to, sink_put_int(sink_put_text(room, key, len), value));
}

static void add_time(struct sink_buf *to, const char *key, uint64_t ns)
{
	size_t len = strlen(key);
	char *room = sink_buf_room(to, len + SINK_NUMBER_MAX + 4);

	if (!room)
		return;
	room = sink_put_dec(sink_put_text(room, key, len), ns / 1000);
	*room++ = '.';
	sink_buf_end(to, sink_put_digits(room, ns % 1000, 3));
}

static void add_ids(const struct chrome *c, struct sink_buf *to, int32_t pid, int32_t tid)
{
	add_number(to, ",\"pid\":", sink_threads_id(&c->threads, pid));
	add_number(to, ",\"tid\":", sink_threads_id(&c->threads, tid));
}

static void add_thread_name(const struct chrome *c, struct sink_buf *to, const char *what,
			    const struct event_record *record)
{
	char name[SINK_THREAD_NAME_MAX];

	add_begin(to, what, 'M');
	add_ids(c, to, record->pid, record->tid);
	sink_buf_add_text(to, ",\"args\":{\"name\":");
	sink_json_quoted(to, name, sink_threads_name(name, c->sink.host, record));
	sink_buf_add_text(to, "}}");
}

static void tell_thread(struct chrome *c, struct sink_buf *to,
			const struct event_record *record)
{
	if (sink_threads_see(&c->threads, c->sink.host, record) == SINK_THREAD_KNOWN)
		return;
	if (record->pid == record->tid)
		add_thread_name(c, to, "process_name", record);
	add_thread_name(c, to, "thread_name", record);
}

/* {"call":{...},"return":{...},"stack":"a;b"}: what there is. */
static void add_args(const struct chrome *c, struct sink_buf *to, const char *key,
		     const struct spec_probe *probe, const struct event_record *record)
{
	if (!record)
		return;
	sink_buf_add(to, "\"", 1);
	sink_buf_add_text(to, key);
	sink_buf_add(to, "\":", 2);
	sink_json_args(to, probe, record);
	if (record->n_stack) {
		struct sink_buf stack = { 0 };

		sink_folded_stack(&stack, record, c->sink.opt.resolver);
		sink_buf_add_text(to, ",\"stack\":");
		sink_json_quoted(to, stack.data ? stack.data : "", stack.len);
		sink_buf_free(&stack);
	}
	sink_buf_add(to, ",", 1);
}

/* Where hits are sampled (struct sink). No viewer counts by it, but who reads it can. */
static void add_weight(struct sink_buf *to, uint64_t weight)
{
	if (weight)
		sink_buf_printf(to, "\"weight\":%" PRIu64 ",", weight);
}

static const char *state_of(const struct call *call)
{
	if (call->end == CALL_LEFT)
		return "left without a return";
	if (call->end == CALL_OPEN)
		return "no return";
	if (!call->has_start)
		return "no entry";
	return call->is_uncertain ? "events were lost meanwhile" : "returned";
}

static void on_call(void *ctx, const struct call *call)
{
	struct chrome *c = ctx;
	struct sink_buf *to = c->to;

	add_begin(to, call->function->name, 'X');
	add_time(to, ",\"ts\":", call->start_ns);
	add_time(to, ",\"dur\":", call->end_ns - call->start_ns);
	add_ids(c, to, call->pid, call->tid);
	sink_buf_add_text(to, ",\"args\":{");
	add_args(c, to, "call", call->entry_probe, call->entry);
	add_args(c, to, "return", call->return_probe, call->ret);
	add_weight(to, call->ret ? c->sink.weight : 0);
	add_number(to, "\"id\":", (int64_t)call->id);
	sink_buf_add_text(to, ",\"state\":\"");
	sink_buf_add_text(to, state_of(call));
	sink_buf_add(to, "\"}}", 3);
}

static void begin(struct sink *sink, struct sink_buf *to)
{
	(void)sink;
	sink_buf_add_text(to, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
			      "{\"name\":\"ubp\",\"ph\":\"M\",\"pid\":0,\"args\":{}}");
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct chrome *c = chrome_of(sink);

	c->to = to;
	c->last_ns = record->time;
	tell_thread(c, to, record);
	if (sink_calls_add(sink, &c->calls, on_call, probe, record) != CALLS_OTHER)
		return;
	add_begin(to, probe->event, 'i');
	add_time(to, ",\"ts\":", record->time);
	add_ids(c, to, record->pid, record->tid);
	sink_buf_add_text(to, ",\"s\":\"t\",\"args\":{");
	add_args(c, to, "args", probe, record);
	add_weight(to, sink->weight);
	sink_buf_printf(to, "\"cpu\":%u}}", record->cpu);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	struct chrome *c = chrome_of(sink);

	sink_calls_lost(c->calls, n);
	add_begin(to, "lost events", 'i');
	add_time(to, ",\"ts\":", c->last_ns);
	sink_buf_printf(to, ",\"pid\":0,\"tid\":0,\"s\":\"g\",\"args\":{\"lost\":%" PRIu64 "}}",
			n);
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct chrome *c = chrome_of(sink);

	c->to = to;
	if (c->calls)
		calls_end(c->calls);
	sink_buf_add_text(to, "\n]}\n");
}

static void free_chrome(struct sink *sink)
{
	struct chrome *c = chrome_of(sink);

	calls_free(c->calls);
	sink_threads_free(&c->threads);
}

const struct sink_kind sink_chrome = {
	.name = "chrome",
	.is_data = true,
	.is_whole = true,
	.size = sizeof(struct chrome),
	.begin = begin,
	.event = event,
	.lost = lost,
	.end = end,
	.free = free_chrome,
};
