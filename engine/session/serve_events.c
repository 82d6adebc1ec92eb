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
	if (map_get(&v->known, number))
		return true;
	if (VEC_ROOM(v->known_list, &v->cap_known, v->n_known) < 0 ||
	    map_put(&v->known, number, v) < 0)
		return false;
	if (!v->fresh)
		v->fresh = json_array();
	if (!v->fresh || json_array_append_new(v->fresh, probe_to_json(number, spec)) < 0) {
		(void)map_remove(&v->known, number);
		return false;
	}
	v->known_list[v->n_known++] = number;
	return true;
}

static void put_definitions(struct served *v)
{
	char *text = v->fresh ? json_dumps(v->fresh, JSON_COMPACT) : NULL;

	v->answer.failed |= v->fresh && !text;
	wire_put_bytes(&v->answer, text, text ? strlen(text) : 0);
	free(text);
	json_decref(v->fresh);
	v->fresh = NULL;
}

/* Numbers that are gone: no event can be of them any more. */
static void put_gone(struct served *v)
{
	struct wire gone = { 0 };
	size_t n = 0;

	for (unsigned i = 0; i < LOOKS && v->n_known; i++) {
		size_t at = v->next_known++ % v->n_known;
		unsigned number = v->known_list[at];

		if (live_spec(v->session, number))
			continue;
		(void)map_remove(&v->known, number);
		v->known_list[at] = v->known_list[--v->n_known];
		wire_put(&gone, number);
		n++;
	}
	wire_put(&v->answer, n);
	wire_append(&v->answer, &gone);
	wire_free(&gone);
}

int64_t serve_probes(struct served *v, struct ubp_err *err)
{
	size_t n = numbers_n(v->session);

	(void)err;
	for (unsigned i = 0; i < n; i++) {
		const struct spec_probe *spec = live_spec(v->session, i);

		if (spec)
			(void)add_definition(v, i, spec);
	}
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
	struct apart_event head = { .weight = event->weight, .id = event->probe };

	if (record->kind == EVENT_HIT && event->spec &&
	    !add_definition(v, record->probe, event->spec))
		head.id = -1;
	memcpy(v->events + v->n_bytes, &head, sizeof(head));
	memcpy(v->events + v->n_bytes + sizeof(head), record, record->size);
	v->n_bytes += sizeof(head) + record->size;
	return APART_EVENTS_BYTES - v->n_bytes < RECORD_MOST;
}

int64_t serve_pull(struct served *v, struct ubp_err *err)
{
	int64_t n;

	v->n_bytes = 0;
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
	map_free(&v->known);
	free(v->known_list);
}
