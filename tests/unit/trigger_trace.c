/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/trigger_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/sink/text.h"
#include "engine/spec/spec.h"
#include "engine/trigger/event.h"
#include "engine/trigger/synth.h"

static struct trace_item *add(struct trace_buffer *buffer, char *text)
{
	struct trace_item *item = calloc(1, sizeof(*item));

	buffer->items = realloc(buffer->items, (buffer->n + 1) * sizeof(*buffer->items));
	assert_non_null(buffer->items);
	assert_non_null(item);
	item->text = text;
	buffer->items[buffer->n++] = item;
	return item;
}

/* The line without what is in front of the event's name. */
static void add_line(struct sink_buf *text, const struct trigger_event *event,
		     const struct event_record *record)
{
	const struct sink_text_options opt = { 0 };
	struct event_record *plain = malloc(record->size);
	struct sink_buf line = { 0 };
	char *name, mark[300];

	assert_non_null(plain);
	memcpy(plain, record, record->size);
	plain->n_stack = 0;
	sink_text_line(&line, event->probe, plain, &opt);
	free(plain);
	sink_buf_add(&line, "", 1);
	snprintf(mark, sizeof(mark), ": %s: (", event->name);
	name = strstr(line.data, mark);
	assert_non_null(name);
	sink_buf_printf(text, "%.*s", (int)(strlen(name + 2) - 1), name + 2);
	sink_buf_free(&line);
}

static void *reserve(void *ctx, const struct trigger_event *event,
		     const struct event_record *record, bool in_snapshot)
{
	struct trigger_trace *trace = ctx;
	struct sink_buf text = { 0 };

	sink_buf_printf(&text, "%s-%d: ", record->comm, record->tid);
	if (event->synth)
		synth_text(trace->set, event, record, &text);
	else
		add_line(&text, event, record);
	return add(in_snapshot ? &trace->snapshot : &trace->now, text.data);
}

static void settle(void *ctx, void *place, bool keep)
{
	struct trace_item *item = place;

	/* It may be in the snapshot by now. */
	(void)ctx;
	item->is_kept = keep;
}

static void stack(void *ctx, const struct trigger_event *event,
		  const struct event_record *record)
{
	(void)event;
	struct trigger_trace *trace = ctx;
	struct sink_buf text = { 0 };

	sink_buf_printf(&text, "%s-%d: <stack trace>", record->comm, record->tid);
	add(&trace->now, text.data)->is_kept = true;
}

static void clear(struct trace_buffer *buffer)
{
	for (size_t i = 0; i < buffer->n; i++) {
		free(buffer->items[i]->text);
		free(buffer->items[i]);
	}
	free(buffer->items);
	*buffer = (struct trace_buffer){ 0 };
}

/* The two buffers change places: what comes then is written behind what had been in the snapshot. */
static void snapshot(void *ctx)
{
	struct trigger_trace *trace = ctx;
	struct trace_buffer now = trace->now;

	trace->now = trace->snapshot;
	trace->snapshot = now;
}

const struct trigger_out trigger_trace_out = {
	.reserve = reserve,
	.settle = settle,
	.stack = stack,
	.snapshot = snapshot,
};

void trigger_trace_free(struct trigger_trace *trace)
{
	clear(&trace->now);
	clear(&trace->snapshot);
}
