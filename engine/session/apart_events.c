/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host's half of a session that is apart: events, what they are of, and names for their stacks. */

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/probe_json.h"
#include "engine/session/apart_priv.h"
#include "engine/session/calls.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/numbers.h"
#include "engine/sink/value.h"

/* So many names are kept; then they are asked for anew. */
#define NAMES_MAX 65536

/* --- what is known of probes ------------------------------------------------------------ */

struct apart_probe *apart_probe_place(struct apart *a, size_t number)
{
	if (number >= NUMBERS_MAX)
		return NULL;
	while (a->n_probes <= number) {
		if (VEC_ROOM(a->probes, &a->cap_probes, a->n_probes) < 0)
			return NULL;
		a->probes[a->n_probes++] = (struct apart_probe){ 0 };
	}
	return &a->probes[number];
}

/* NULL: it is none, or memory is short. */
static struct session_maker *take_definition(const json_t *json, unsigned *ret_number,
					     struct ubp_err *err)
{
	struct session_maker *maker = maker_new();

	if (!maker)
		ubp_fail(err, ENOMEM, "out of memory");
	else if (probe_of_json(json, ret_number, &maker->mirror, err) == 0)
		return maker;
	maker_put(maker);
	return NULL;
}

static int keep_probe(struct apart *a, const json_t *json, struct ubp_err *err)
{
	unsigned number;
	struct session_maker *maker = take_definition(json, &number, err);
	struct apart_probe *place;

	if (!maker)
		return -err->code;
	pthread_mutex_lock(&a->probes_lock);
	place = apart_probe_place(a, number);
	if (place) {
		struct session_maker *old = place->maker;

		place->maker = maker;
		maker = old;
	}
	pthread_mutex_unlock(&a->probes_lock);
	maker_put(maker);
	return place ? 0 : ubp_fail(err, ENOMEM, "out of memory");
}

static void drop_probe(struct apart *a, size_t number)
{
	struct session_maker *maker = NULL;

	pthread_mutex_lock(&a->probes_lock);
	if (number < a->n_probes) {
		maker = a->probes[number].maker;
		a->probes[number].maker = NULL;
	}
	pthread_mutex_unlock(&a->probes_lock);
	maker_put(maker);
}

/* A synthetic event. Whatever had its number is gone, and all hits of that were handed out. */
static int keep_made(struct apart *a, const json_t *json, struct ubp_err *err)
{
	unsigned number;
	struct session_maker *maker = take_definition(json, &number, err);

	if (!maker)
		return -err->code;
	maker->mirror->is_made = true;
	if (number > a->n_made ||
	    (number == a->n_made && VEC_ROOM(a->made, &a->cap_made, a->n_made) < 0)) {
		maker_put(maker);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	if (number == a->n_made)
		a->n_made++;
	else
		maker_put(a->made[number]);
	a->made[number] = maker;
	return 0;
}

static int keep_all(struct apart *a,
		    int (*keep)(struct apart *a, const json_t *json, struct ubp_err *err),
		    struct ubp_err *err)
{
	size_t len, i;
	const char *text = wire_get_bytes(&a->line.in, &len);
	json_t *list = text ? json_loadb(text, len, 0, NULL) : NULL, *one;
	int rc = 0;

	if (text && !list)
		return ubp_fail(err, ENOMEM, "out of memory");
	json_array_foreach(list, i, one) if (rc == 0) rc = keep(a, one, err);
	json_decref(list);
	return rc;
}

int apart_take_probes(struct apart *a, struct ubp_err *err)
{
	int rc = keep_all(a, keep_probe, err);

	if (rc == 0)
		rc = keep_all(a, keep_made, err);
	if (rc < 0)
		return rc;
	for (uint64_t n = wire_get(&a->line.in); n && !a->line.in.failed; n--)
		drop_probe(a, wire_get(&a->line.in));
	return rc;
}

void apart_probes_free(struct apart *a)
{
	size_t pos = 0;
	void *names;

	for (size_t i = 0; i < a->n_probes; i++)
		maker_put(a->probes[i].maker);
	free(a->probes);
	while (a->n_made)
		maker_put(a->made[--a->n_made]);
	free(a->made);
	while (map_next(&a->names, &pos, NULL, &names))
		json_decref(names);
	map_free(&a->names);
}

const struct spec_probe *apart_next_probe(void *ctx, unsigned *at)
{
	struct ubp_session *s = ctx;
	struct apart *a = s->tracing.apart;
	const struct spec_probe *spec = NULL;
	struct apart_request r;
	struct ubp_err err;

	if (*at == 0 && apart_begin(&r, s, APART_PROBES, &err) == 0) {
		if (apart_ask(&r, NULL, &err) >= 0)
			(void)apart_take_probes(a, &err);
		apart_end(&r);
	}
	pthread_mutex_lock(&a->probes_lock);
	for (; !spec && *at < a->n_probes; (*at)++)
		if (a->probes[*at].maker)
			spec = a->probes[*at].maker->mirror;
	pthread_mutex_unlock(&a->probes_lock);
	return spec;
}

/* --- names for stacks -------------------------------------------------------------------- */

static void forget_names(struct apart *a)
{
	size_t pos = 0;
	void *names;

	while (map_next(&a->names, &pos, NULL, &names))
		json_decref(names);
	map_free(&a->names);
}

static json_t *ask_names(struct ubp_session *s, const struct event_record *record, size_t i)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;
	json_t *names = NULL;
	struct ubp_err err;
	const char *text;
	size_t len;

	if (apart_begin(&r, s, APART_NAMES, &err) < 0)
		return NULL;
	wire_put_bytes(&a->line.out, record, record->size);
	wire_put(&a->line.out, i);
	if (apart_ask(&r, &s->until, &err) >= 0) {
		text = wire_get_bytes(&a->line.in, &len);
		names = text ? json_loadb(text, len, 0, NULL) : NULL;
	}
	apart_end(&r);
	return names;
}

static size_t resolve(void *ctx, const struct event_record *record, size_t i,
		      struct sink_frame frames[SINK_FRAMES_MAX])
{
	struct ubp_session *s = ctx;
	struct apart *a = s->tracing.apart;
	uint64_t vaddr = sink_stack_entry(record, i);
	uint64_t key = frame_key(record->maps, vaddr, i == 0);
	json_t *names = map_get(&a->names, key);

	if (!names) {
		if (a->names.n >= NAMES_MAX)
			forget_names(a);
		names = ask_names(s, record, i);
		if (names && map_put(&a->names, key, names) < 0) {
			json_decref(names);
			names = NULL;
		}
	}
	return frames_of_json(names, vaddr, frames);
}

const struct sink_resolver *apart_resolver(const struct ubp_session *s)
{
	if (s->opt.stack == UBP_STACK_NONE || s->opt.stack_raw)
		return NULL;
	s->tracing.apart->resolver = (struct sink_resolver){ resolve, (void *)s };
	return &s->tracing.apart->resolver;
}

/* --- events ---------------------------------------------------------------------------------- */

/* What the engine wrote is looked at before it is believed, and it may not change meanwhile: it writes when it is asked to. */
static bool is_sane(const struct event_record *record, size_t room)
{
	size_t stack_at = sizeof(*record) + ((size_t)record->data_len + 7) / 8 * 8;

	return room >= sizeof(*record) && record->size >= sizeof(*record) &&
	       record->size % 8 == 0 && record->size <= room &&
	       (record->kind == EVENT_LOST || record->kind == EVENT_PROCESS ||
		(record->kind == EVENT_HIT && record->data_len <= EVENT_DATA_MAX &&
		 record->n_stack <= EVENT_STACK_MAX &&
		 stack_at + 8ULL * record->n_stack <= record->size &&
		 memchr(record->comm, '\0', sizeof(record->comm))));
}

/* A hit's probe is told to be in a callback; false: it was removed. As calls_event_begin(). */
static bool begin_event(struct ubp_session *s, const struct apart_event *head,
			struct ubp_event *event)
{
	struct apart *a = s->tracing.apart;
	const struct apart_probe *probe = NULL, *first = NULL;
	bool is_told;

	event->probe = head->id;
	__atomic_store_n(&s->out.calls.now, (unsigned)head->id + 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&a->probes_lock);
	if (event->record->probe < a->n_probes)
		probe = &a->probes[event->record->probe];
	if (head->id >= 0 && (size_t)head->id < a->n_probes)
		first = &a->probes[head->id];
	is_told = probe && probe->maker && first && !first->is_removed &&
		  event->record->data_len >= probe->maker->mirror->fixed_size;
	if (is_told) {
		event->made_by = probe->maker;
		event->spec = probe->maker->mirror;
		event->cookie =
			first->has_cookie ? first->cookie : (void *)(uintptr_t)head->cookie;
	}
	pthread_mutex_unlock(&a->probes_lock);
	if (!is_told) {
		__atomic_add_fetch(&a->n_untold, 1, __ATOMIC_RELAXED);
		calls_event_end(s);
	}
	return is_told;
}

/* A trigger made it. False: it is not known, or of a trace that has ended. */
static bool begin_made(struct ubp_session *s, const struct apart_event *head,
		       struct ubp_event *event)
{
	struct apart *a = s->tracing.apart;
	const struct apart_trace *trace = apart_trace_find(&a->counts.traces, head->trace);
	struct session_maker *maker = head->made <= a->n_made ? a->made[head->made - 1] : NULL;

	if (!maker || !trace || event->record->data_len < maker->mirror->fixed_size)
		return false;
	event->trace = trace->name;
	event->made_by = maker;
	event->spec = maker->mirror;
	event->is_made = true;
	return true;
}

static void tell_snapshots(struct ubp_session *s, const struct apart_event *head)
{
	const struct apart_trace *trace =
		apart_trace_find(&s->tracing.apart->counts.traces, head->trace);

	for (uint64_t n = head->weight; n && trace && trace->on_snapshot; n--)
		trace->on_snapshot(trace->on_snapshot_ctx);
}

static void hand_out(struct ubp_session *s, const struct apart_event *head,
		     const struct event_record *record, ubp_event_fn *fn, void *ctx,
		     bool *is_ended)
{
	struct ubp_event event = {
		.texts = &s->out.texts,
		.record = record,
		.probe = -1,
		.weight = head->weight,
		.is_stack = head->is_stack,
	};

	if (head->made == APART_SNAPSHOT) {
		tell_snapshots(s, head);
	} else if (record->kind != EVENT_HIT || (head->made && begin_made(s, head, &event))) {
		*is_ended |= fn(ctx, &event) != 0;
	} else if (head->made) {
		__atomic_add_fetch(&s->tracing.apart->n_untold, 1, __ATOMIC_RELAXED);
	} else if (begin_event(s, head, &event)) {
		*is_ended |= fn(ctx, &event) != 0;
		calls_event_end(s);
	}
}

/* All of what was pulled is handed out, but what @fn does not want any more, which waits for the next call. */
static int hand_out_all(struct ubp_session *s, ubp_event_fn *fn, void *ctx, bool *is_ended)
{
	struct apart *a = s->tracing.apart;
	int n = 0;

	s->out.texts.escape = !s->opt.strict;
	s->out.texts.resolver = apart_resolver(s);
	while (a->events_at < a->events_len && !*is_ended) {
		const struct apart_event *head =
			(const struct apart_event *)(a->events + a->events_at);
		const struct event_record *record = (const struct event_record *)(head + 1);
		size_t room = a->events_len - a->events_at;

		if (room < sizeof(*head) || !is_sane(record, room - sizeof(*head))) {
			/* The next request says so. */
			__atomic_store_n(&a->is_dead, true, __ATOMIC_RELEASE);
			a->events_at = a->events_len;
			break;
		}
		a->events_at += sizeof(*head) + record->size;
		hand_out(s, head, record, fn, ctx, is_ended);
		n++;
	}
	return n;
}

static int64_t pull(struct ubp_session *s, struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;
	int64_t n = apart_begin(&r, s, APART_PULL, err), rc;

	if (n < 0)
		return n;
	a->counts.heap_is_known = false;
	n = apart_ask(&r, NULL, err);
	if (!__atomic_load_n(&a->is_dead, __ATOMIC_RELAXED)) {
		size_t len = wire_get(&a->line.in);

		a->events_len = len <= APART_EVENTS_BYTES ? len : 0;
		a->events_at = 0;
		rc = apart_take_probes(a, err);
		n = rc < 0 ? rc : n;
	}
	apart_end(&r);
	return n;
}

int apart_dispatch(struct ubp_session *s, ubp_event_fn *fn, void *ctx, bool *ret_is_ended,
		   struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	const uint64_t one = 1;
	bool asks = a->events_at == a->events_len;
	int64_t n = 0;
	uint64_t rung;
	int handed;

	(void)!read(a->bell, &rung, sizeof(rung));
	if (asks)
		n = pull(s, err);
	handed = hand_out_all(s, fn, ctx, ret_is_ended);
	/* Some are left. Or the engine has rung while some were, and waits to be asked: it does not ring again before that. */
	if (a->events_at < a->events_len ||
	    (!asks && __atomic_load_n(&a->state->is_rung, __ATOMIC_ACQUIRE)))
		(void)!write(a->bell, &one, sizeof(one));
	if (n < 0 || *ret_is_ended)
		return handed ? handed : (int)n;
	/* Hits that were counted, or went elsewhere, are some of those that were looked at. */
	return handed > n ? handed : (int)n;
}
