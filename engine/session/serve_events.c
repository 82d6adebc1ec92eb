/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Events for a host, what they are of, and names for their stacks. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/probe_json.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/serve_priv.h"
#include "engine/sink/value.h"
#include "engine/ubp_trigger.h"

/* At each look so many of the definitions that the host has are looked at: is the probe gone? */
#define LOOKS 32

/* Room that the largest record takes. */
#define RECORD_MOST                                                                            \
	(sizeof(struct apart_event) + sizeof(struct event_record) + EVENT_DATA_MAX + 8 +       \
	 8 * EVENT_STACK_MAX)

/* --- definitions ----------------------------------------------------------------------------- */

/* The host gets it with this answer. False: memory is short. */
static bool add_definition(struct served *v, unsigned number, const struct spec_probe *spec)
{
	if (map_get(&v->known.numbers, number))
		return true;
	if (VEC_ROOM(v->known.list, &v->known.cap, v->known.n) < 0 ||
	    map_put(&v->known.numbers, number, v) < 0)
		return false;
	if (!v->fresh)
		v->fresh = json_array();
	if (!v->fresh || json_array_append_new(v->fresh, probe_to_json(number, spec)) < 0) {
		(void)map_remove(&v->known.numbers, number);
		return false;
	}
	v->known.list[v->known.n++] = number;
	return true;
}

/* A synthetic event's number, + 1, whose definition the host gets with this answer, if it has not. 0: memory is short. */
static uint32_t made_number(struct served *v, const struct spec_probe *spec)
{
	void **place = map_place(&v->made, (uintptr_t)spec);

	if (!place || *place)
		return place ? (uint32_t)(uintptr_t)*place : 0;
	*place = (void *)(uintptr_t)(v->n_made + 1);
	if (!v->fresh_made)
		v->fresh_made = json_array();
	if (!v->fresh_made ||
	    json_array_append_new(v->fresh_made, probe_to_json((unsigned)v->n_made, spec)) <
		    0) {
		(void)map_remove(&v->made, (uintptr_t)spec);
		return 0;
	}
	return (uint32_t)++v->n_made;
}

void serve_forget_made(struct served *v)
{
	map_free(&v->made);
	v->made = (struct map){ 0 };
	v->n_made = 0;
}

static void put_list(struct served *v, json_t **list)
{
	char *text = *list ? json_dumps(*list, JSON_COMPACT) : NULL;

	v->answer.failed |= *list && !text;
	wire_put_bytes(&v->answer, text, text ? strlen(text) : 0);
	free(text);
	json_decref(*list);
	*list = NULL;
}

static void put_definitions(struct served *v)
{
	put_list(v, &v->fresh);
	put_list(v, &v->fresh_made);
}

/* Numbers that are gone: no event can be of them any more. */
static void put_gone(struct served *v)
{
	struct wire gone = { 0 };
	size_t n = 0;

	pthread_mutex_lock(&v->session->numbers.lock);
	for (unsigned i = 0; i < LOOKS && v->known.n; i++) {
		size_t at = v->known.next++ % v->known.n;
		unsigned number = v->known.list[at];

		if (live_spec(v->session, number))
			continue;
		(void)map_remove(&v->known.numbers, number);
		v->known.list[at] = v->known.list[--v->known.n];
		wire_put(&gone, number);
		n++;
	}
	pthread_mutex_unlock(&v->session->numbers.lock);
	wire_put(&v->answer, n);
	wire_append(&v->answer, &gone);
	wire_free(&gone);
}

int64_t serve_probes(struct served *v, struct ubp_err *err)
{
	(void)err;
	/* One that is just being added may be given up. */
	pthread_mutex_lock(&v->session->numbers.lock);
	for (unsigned i = 0; i < live_n_specs(v->session); i++) {
		const struct spec_probe *spec = live_spec(v->session, i);

		if (spec)
			(void)add_definition(v, i, spec);
	}
	pthread_mutex_unlock(&v->session->numbers.lock);
	put_definitions(v);
	put_gone(v);
	return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

/* To the memory that the host has, too: that is all that is copied. */
static int on_event(void *ctx, const struct ubp_event *event)
{
	struct served *v = ctx;
	const struct event_record *record = event->record;
	struct apart_event head = { .weight = event->weight,
				    .cookie = (uintptr_t)event->cookie,
				    .id = event->probe,
				    .is_stack = event->is_stack };

	if (event->is_made) {
		head.made = made_number(v, event->spec);
		head.trace = serve_traces_number(v, ubp_trigger_event_trace(event));
	} else if (record->kind == EVENT_HIT && event->spec &&
		   !add_definition(v, record->probe, event->spec)) {
		head.id = -1;
	}
	memcpy(v->events + v->n_bytes, &head, sizeof(head));
	memcpy(v->events + v->n_bytes + sizeof(head), record, record->size);
	v->n_bytes += sizeof(head) + record->size;
	return APART_EVENTS_BYTES - v->n_bytes < RECORD_MOST + serve_traces_begin_marks(v);
}

int64_t serve_pull(struct served *v, struct ubp_err *err)
{
	int64_t n;

	v->n_bytes = 0;
	(void)serve_traces_begin_marks(v);
	__atomic_store_n(&v->state->is_rung, 0, __ATOMIC_RELEASE);
	n = ubp_dispatch(v->session, on_event, v, err);
	wire_put(&v->answer, v->n_bytes);
	put_definitions(v);
	put_gone(v);
	return n;
}

/* --- names ------------------------------------------------------------------------------------ */

int64_t serve_names(struct served *v, struct ubp_err *err)
{
	const struct sink_resolver *resolver = stacks_resolver(v->session);
	struct sink_frame frames[SINK_FRAMES_MAX];
	size_t len, n;
	const struct event_record *record = wire_get_bytes(&v->in, &len);
	uint64_t i = wire_get(&v->in);
	json_t *names;
	char *text;

	if (!resolver || !record || len < sizeof(*record) || record->size != len ||
	    i >= record->n_stack ||
	    sizeof(*record) + ((size_t)record->data_len + 7) / 8 * 8 + 8ULL * record->n_stack >
		    len)
		return ubp_fail(err, EINVAL, "there is no such entry of a stack");
	n = resolver->resolve(resolver->ctx, record, i, frames);
	names = frames_to_json(record->maps, sink_stack_entry(record, i), i == 0, frames, n);
	text = names ? json_dumps(names, JSON_COMPACT) : NULL;
	wire_put_bytes(&v->answer, text, text ? strlen(text) : 0);
	free(text);
	json_decref(names);
	return 0;
}

void serve_events_free(struct served *v)
{
	json_decref(v->fresh);
	json_decref(v->fresh_made);
	map_free(&v->made);
	map_free(&v->known.numbers);
	free(v->known.list);
	serve_traces_free(v);
}
