/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A host's traces of triggers: what they are called to it, and their snapshots, which are marks among the events. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/session/serve_priv.h"
#include "engine/ubp_trigger.h"

/* What a snapshot takes. */
#define MARK_BYTES (sizeof(struct apart_event) + sizeof(struct event_record))

static struct served_trace **place_of(struct served *v, const char *name)
{
	struct served_trace **at = &v->traces.list;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

/* It is the host's from now on. NULL: memory is short, or they are more than there is room for. */
static struct served_trace *take(struct served *v, const char *name, uint64_t number)
{
	struct served_trace **at = place_of(v, name), *made;

	if (*at) {
		(*at)->number = number;
		return *at;
	}
	/* The session's own may be one of them. */
	made = v->traces.n <= APART_TRACES_MAX ? calloc(1, sizeof(*made)) : NULL;
	if (made)
		made->name = strdup(name);
	if (!made || !made->name) {
		free(made);
		return NULL;
	}
	made->v = v;
	made->number = number;
	*at = made;
	v->traces.n++;
	return made;
}

int serve_traces_choose(struct served *v, const char *name, uint64_t number,
			struct ubp_err *err)
{
	struct served_trace *trace = take(v, name, number);
	int rc;

	if (!trace)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = ubp_trigger_trace(v->session, name, err);
	if (rc == 0)
		v->traces.chosen = trace;
	return rc;
}

void serve_traces_end(struct served *v, const char *name)
{
	struct served_trace **at = place_of(v, name), *trace = *at;

	if (!trace || !name[0])
		return;
	ubp_trigger_trace_end(v->session, name);
	*at = trace->next;
	v->traces.n--;
	if (v->traces.chosen == trace)
		v->traces.chosen = NULL;
	free(trace->name);
	free(trace);
}

uint64_t serve_traces_number(const struct served *v, const char *name)
{
	const struct served_trace *trace = *place_of((struct served *)v, name);

	return trace ? trace->number : 0;
}

/* --- snapshots --------------------------------------------------------------------------------- */

/* There is room for one of each trace behind each event: several of one are one mark. */
static void on_snapshot(void *ctx)
{
	struct served_trace *trace = ctx;
	struct served *v = trace->v;
	struct event_record record = { .size = sizeof(record), .kind = EVENT_LOST };
	struct apart_event head = {
		.weight = 1, .id = -1, .trace = trace->number, .made = APART_SNAPSHOT
	};

	if (trace->mark) {
		trace->mark->weight++;
		return;
	}
	trace->mark = (struct apart_event *)(v->events + v->n_bytes);
	memcpy(v->events + v->n_bytes, &head, sizeof(head));
	memcpy(v->events + v->n_bytes + sizeof(head), &record, sizeof(record));
	v->n_bytes += MARK_BYTES;
}

int serve_traces_on_snapshot(struct served *v, bool on)
{
	/* Until the host names one, that is the session's own. */
	struct served_trace *trace = v->traces.chosen ? v->traces.chosen : take(v, "", 0);

	return trace ? ubp_trigger_on_snapshot(v->session, on ? on_snapshot : NULL, trace)
		     : -ENOMEM;
}

size_t serve_traces_begin_marks(struct served *v)
{
	for (struct served_trace *at = v->traces.list; at; at = at->next)
		at->mark = NULL;
	return v->traces.n * MARK_BYTES;
}

void serve_traces_free(struct served *v)
{
	struct served_trace *trace;

	while ((trace = v->traces.list)) {
		v->traces.list = trace->next;
		free(trace->name);
		free(trace);
	}
}
