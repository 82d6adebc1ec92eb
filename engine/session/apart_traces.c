/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host's half of a session that is apart: traces, each with triggers and snapshots of its own. The engine has them by name, and tells of them by the host's numbers. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/session/apart_counts.h"
#include "engine/session/apart_priv.h"

static struct apart_traces *traces_of(struct ubp_session *s)
{
	return &s->tracing.apart->counts.traces;
}

static const char *name_of(const struct apart_trace *trace)
{
	return trace->name ? trace->name : "";
}

struct apart_trace *apart_trace_find(struct apart_traces *traces, uint64_t number)
{
	struct apart_trace *at = &traces->own;

	while (at && at->number != number)
		at = at->next;
	return at;
}

/* Which has @name; the last of all has nothing behind it. */
static struct apart_trace **place_of(struct apart_traces *traces, const char *name)
{
	struct apart_trace **at = &traces->own.next;

	while (*at && strcmp(name_of(*at), name) != 0)
		at = &(*at)->next;
	return at;
}

static void free_one(struct apart_trace *trace)
{
	free(trace->name);
	free(trace);
}

/* NULL: memory is short. */
static struct apart_trace *new_trace(struct apart_traces *traces, const char *name)
{
	struct apart_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->number = ++traces->n_made;
	trace->name = strdup(name);
	if (trace->name)
		return trace;
	free(trace);
	return NULL;
}

int apart_trace_choose(struct ubp_session *s, const char *name, struct ubp_err *err)
{
	struct apart_traces *traces = traces_of(s);
	struct apart_trace **at = place_of(traces, name);
	struct apart_trace *trace = name[0] ? *at : &traces->own, *made = NULL;
	int rc;

	if (!trace && traces->n == APART_TRACES_MAX)
		return ubp_fail(err, ENOSPC, "an engine that is apart has %d traces at most",
				APART_TRACES_MAX);
	if (!trace)
		trace = made = new_trace(traces, name);
	if (!trace)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = apart_trigger(s, APART_TRIGGER_TRACE, NULL, name, trace->number, err);
	if (rc < 0) {
		if (made)
			free_one(made);
		return rc;
	}
	if (made) {
		*at = made;
		traces->n++;
	}
	traces->chosen = trace;
	return 0;
}

void apart_trace_end(struct ubp_session *s, const char *name)
{
	struct apart_traces *traces = traces_of(s);
	struct apart_trace **at = place_of(traces, name), *trace = *at;

	if (!trace)
		return;
	(void)apart_trigger(s, APART_TRIGGER_TRACE_END, NULL, name, trace->number, NULL);
	if (traces->chosen == trace)
		traces->chosen = NULL;
	*at = trace->next;
	traces->n--;
	free_one(trace);
}

/* Marks among the events tell of them. */
int apart_on_snapshot(struct ubp_session *s, ubp_trigger_snapshot_fn *fn, void *ctx)
{
	struct apart_traces *traces = traces_of(s);
	struct apart_trace *trace = traces->chosen ? traces->chosen : &traces->own;
	int rc = apart_trigger(s, APART_TRIGGER_ON_SNAPSHOT, NULL, NULL, fn != NULL, NULL);

	if (rc == 0) {
		trace->on_snapshot = fn;
		trace->on_snapshot_ctx = ctx;
	}
	return rc;
}

void apart_traces_free(struct apart_traces *traces)
{
	struct apart_trace *trace;

	while ((trace = traces->own.next)) {
		traces->own.next = trace->next;
		free_one(trace);
	}
}
