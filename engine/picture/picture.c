/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/base/probe_kind.h"
#include "engine/base/vec.h"
#include "engine/calls/calls.h"
#include "engine/event/record.h"
#include "engine/picture/keys.h"
#include "engine/picture/picture_priv.h"
#include "engine/spec/spec.h"

/* --- threads ---------------------------------------------------------------------------------- */

/* What a thread is called: "HOST name" where there are several. */
static uint32_t thread_name(struct picture *p, const struct event_record *record)
{
	char buf[ESCAPE_BYTE_MAX * (SPEC_NAME_MAX + 1 + sizeof(record->comm))], *end = buf;

	if (p->host) {
		end = escape_put(end, p->host, strnlen(p->host, SPEC_NAME_MAX));
		*end++ = ' ';
	}
	end = escape_put(end, record->comm, strnlen(record->comm, sizeof(record->comm)));
	return names_find(&p->names, buf, (size_t)(end - buf));
}

static uint16_t thread_of(struct picture *p, const struct event_record *record)
{
	uint64_t id = (uint64_t)(uint32_t)record->pid << 32 | (uint32_t)record->tid;
	uintptr_t at;

	if (p->host)
		id ^= hash_text(1, p->host);
	at = (uintptr_t)map_get(&p->threads.by_id, id);
	if (!at) {
		at = p->threads.n;
		if (at >= PICTURE_THREADS_MAX ||
		    VEC_ROOM(p->threads.v, &p->threads.cap, at) < 0 ||
		    map_put(&p->threads.by_id, id, (void *)at) < 0)
			return 0;
		p->threads.v[p->threads.n++] =
			(struct picture_thread){ .pid = record->pid, .tid = record->tid };
	}
	p->threads.v[at].name = thread_name(p, record);
	return (uint16_t)at;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* The node of a path of calls. Parents have lower numbers, and are known already. */
static uint32_t node_of(struct picture *p, uint32_t path)
{
	for (uint32_t n = calls_n_paths(p->pairs); p->n_nodes <= n; p->n_nodes++) {
		uint32_t at = (uint32_t)p->n_nodes;

		if (VEC_ROOM(p->nodes, &p->cap_nodes, p->n_nodes) < 0)
			return 0;
		p->nodes[at] = 0;
		if (at) {
			const char *name = calls_path_function(p->pairs, at)->name;

			p->nodes[at] = tree_child(&p->calls.tree,
						  p->nodes[calls_path_parent(p->pairs, at)],
						  keys_name(&p->names, name));
		}
	}
	return path < p->n_nodes ? p->nodes[path] : 0;
}

static uint32_t stack_of(struct picture *p, const struct event_record *record)
{
	size_t len, n;
	const char *text = p->ops.stack(p->ops.ctx, record, &len), *end = text + len;
	uint32_t node = 0;

	for (; text < end; text += n + 1) {
		const char *next = memchr(text, ';', (size_t)(end - text));

		n = (size_t)((next ? next : end) - text);
		node = tree_child(&p->stacks.tree, node, names_find(&p->names, text, n));
	}
	return node;
}

/* --- calls ------------------------------------------------------------------------------------ */

static uint64_t since_first(const struct picture *p, uint64_t time)
{
	return time > p->first_ns ? time - p->first_ns : 0;
}

static uint16_t key_of_call(struct picture *p, const struct call *call)
{
	const struct spec_probe *probe =
		call->entry_probe ? call->entry_probe : call->return_probe;

	return probe ? keys_find(&p->keys, &p->names, probe) : 0;
}

static void on_call(void *ctx, const struct call *call)
{
	struct picture *p = ctx;
	const struct event_record *record = call->ret ? call->ret : call->entry;
	uint32_t node = node_of(p, call->path);
	uint64_t ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
	bool is_now = call->ret && call->ret == p->now.record;

	if (is_now)
		p->now = (struct picture_call){ .record = call->ret,
						.is_told = true,
						.has_start = call->has_start,
						.ns = ns,
						.self_ns = call->self_ns,
						.node = node };
	if (!call->has_start || !record)
		return;
	kept_calls_add(
		&p->kept_calls,
		&(struct kept_call){
			.start = call->start_ns >= p->first_ns
					 ? (double)(call->start_ns - p->first_ns)
					 : -(double)(p->first_ns - call->start_ns),
			.dur = (double)ns,
			.path = node,
			.key = key_of_call(p, call),
			.thread = thread_of(p, record),
			.depth = (uint8_t)(call->depth > UINT8_MAX ? UINT8_MAX : call->depth),
		});
}

/* --- records ---------------------------------------------------------------------------------- */

static void count(struct picture *p, struct kept_event *event,
		  const struct event_record *record, uint64_t weight)
{
	double n = weight ? (double)weight : 1;
	bool has_ns = p->now.is_told && p->now.has_start;
	struct cube_cell cell = {
		.at = { .key = event->key,
			.thread = event->thread,
			.lat = has_ns ? cube_lat(p->now.ns) : 0 },
		.count = n,
		.ns = has_ns ? n * (double)p->now.ns : 0,
		.self = has_ns ? n * (double)p->now.self_ns : 0,
	};

	cube_add(&p->cube, event->time, &cell);
	if (p->now.is_told) {
		event->path = cell.at.path = p->now.node;
		cube_add(&p->calls.cube, event->time, &cell);
	}
	if (record->n_stack) {
		event->stack = cell.at.path = stack_of(p, record);
		cube_add(&p->stacks.cube, event->time, &cell);
	}
	event->ns = has_ns ? p->now.ns : 0;
}

static int keep(struct picture *p, struct kept_event *event, const struct spec_probe *probe,
		const struct event_record *record)
{
	size_t len;
	const char *text = p->ops.args(p->ops.ctx, probe, record, &len);

	if (len > KEPT_TEXT_MAX) {
		len = KEPT_TEXT_MAX;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	event->text = len ? strndup(text, len) : NULL;
	return kept_events_add(&p->events, event);
}

int picture_add(struct picture *p, const struct spec_probe *probe,
		const struct event_record *record, uint64_t weight)
{
	struct kept_event event;
	int what;

	if (record->kind == EVENT_LOST)
		p->n_lost += record->n_lost;
	if (record->kind == EVENT_LOST || !probe)
		return calls_add(p->pairs, probe, record) < 0 ? -ENOMEM : 0;
	if (!p->is_begun)
		p->first_ns = p->last_ns = record->time;
	p->is_begun = true;
	p->last_ns = record->time > p->last_ns ? record->time : p->last_ns;
	p->is_weighted |= weight != 0;
	p->now = (struct picture_call){ .record = record };
	what = calls_add(p->pairs, probe, record);
	if (what < 0)
		return what;
	event = (struct kept_event){
		.time = since_first(p, record->time),
		.cpu = record->cpu,
		.key = keys_find(&p->keys, &p->names, probe),
		.thread = thread_of(p, record),
		.is_return = probe->kind == PROBE_RETURN,
		.is_paired = what != CALLS_OTHER,
	};
	p->n_events++;
	count(p, &event, record, weight);
	return kept_events_wants(&p->events) ? keep(p, &event, probe, record) : 0;
}

void picture_host(struct picture *p, const char *host)
{
	p->host = host;
	calls_set_host(p->pairs, host);
}

void picture_lost(struct picture *p, uint64_t n)
{
	p->n_lost += n;
}

int picture_add_probe(struct picture *p, const struct spec_probe *probe)
{
	(void)keys_find(&p->keys, &p->names, probe);
	return calls_add_probe(p->pairs, probe);
}

void picture_end(struct picture *p)
{
	p->now = (struct picture_call){ 0 };
	calls_end(p->pairs);
	kept_calls_end(&p->kept_calls);
}

uint64_t picture_span(const struct picture *p)
{
	return p->last_ns > p->first_ns ? p->last_ns - p->first_ns + 1 : 1;
}

/* --- life -------------------------------------------------------------------------------------- */

struct picture *picture_new(const struct picture_ops *ops, const struct picture_about *about)
{
	struct picture *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->ops = *ops;
	if (about)
		p->about = *about;
	p->cube = p->calls.cube = p->stacks.cube = (struct cube){ .width = 1, .step = 1 };
	p->pairs = calls_new(on_call, p);
	if (!p->pairs || keys_begin(&p->keys) < 0 ||
	    VEC_ROOM(p->threads.v, &p->threads.cap, 0) < 0) {
		picture_free(p);
		return NULL;
	}
	p->threads.v[p->threads.n++] = (struct picture_thread){ .name = NAMES_OTHER };
	return p;
}

void picture_free(struct picture *p)
{
	if (!p)
		return;
	calls_free(p->pairs);
	names_free(&p->names);
	keys_free(&p->keys);
	free(p->threads.v);
	map_free(&p->threads.by_id);
	cube_free(&p->cube);
	tree_free(&p->calls.tree);
	cube_free(&p->calls.cube);
	tree_free(&p->stacks.tree);
	cube_free(&p->stacks.cube);
	kept_events_free(&p->events);
	kept_calls_free(&p->kept_calls);
	free(p->nodes);
	free(p);
}
