/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Looks taken apart, and their records merged by time. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/event/ring_record.h"
#include "engine/recording/block.h"
#include "engine/recording/reader_priv.h"
#include "engine/spec/spec.h"

/* A clock may be off by so much from what its last two readings say, no more. */
#define FAR_NS 3600e9

static void put_look(struct recording_reader *r, struct reader_look *look)
{
	if (--look->n_users)
		return;
	r->waiting -= look->size;
	reader_bytes_give(&r->spare, look->bytes);
	free(look);
}

static void end_chunk(struct recording_reader *r, struct reader_source *source)
{
	struct reader_chunk *chunk = source->first;

	source->first = chunk->next;
	if (!source->first)
		source->last = &source->first;
	put_look(r, chunk->look);
	free(chunk);
}

/* --- time --------------------------------------------------------------------------------- */

static uint64_t ns_from(uint64_t ns, uint64_t ticks, uint64_t from, double rate)
{
	double off = (double)(int64_t)(ticks - from) * rate;

	if (!(off > -FAR_NS && off < FAR_NS))
		off = off > 0 ? FAR_NS : off < 0 ? -FAR_NS : 0;
	if (off < 0 && (double)ns < -off)
		return 0;
	return ns + (uint64_t)(int64_t)off;
}

/* Between the two readings by the line through them, outside by the rate that was known then. */
static uint64_t ns_of(const struct recording_look *look, uint64_t ticks)
{
	double span = (double)(int64_t)(look->ticks[1] - look->ticks[0]);
	double took = (double)(int64_t)(look->ns[1] - look->ns[0]);
	double expected = span * look->ns_per_tick;
	bool is_line = span > 0 && took >= 0 &&
		       !(look->ns_per_tick > 0 &&
			 (took > expected * 1.01 + 2000 || took < expected * 0.99 - 2000));

	if ((int64_t)(ticks - look->ticks[1]) >= 0 || !is_line)
		return ns_from(look->ns[1], ticks, look->ticks[1], look->ns_per_tick);
	if ((int64_t)(ticks - look->ticks[0]) < 0)
		return ns_from(look->ns[0], ticks, look->ticks[0], look->ns_per_tick);
	return ns_from(look->ns[0], ticks, look->ticks[0], took / span);
}

/* --- the record that a source is at --------------------------------------------------------- */

enum front { FRONT_RECORD, FRONT_SKIP, FRONT_NONSENSE };

static bool is_known(const struct recording_reader *r, uint64_t number, size_t data_len)
{
	return number < r->n_probes && r->probes[number] &&
	       data_len >= r->probes[number]->fixed_size;
}

static enum front read_ring(const struct recording_reader *r, struct reader_source *s)
{
	const struct reader_chunk *chunk = s->first;
	const uint8_t *bytes = chunk->bytes + chunk->at;
	uint32_t left = chunk->part.len - chunk->at;
	struct recording_look look;

	if (left < sizeof(s->ring))
		return FRONT_NONSENSE;
	memcpy(&s->ring, bytes, sizeof(s->ring));
	if (!ring_record_is_sane(&s->ring) || s->ring.size > left ||
	    s->ring.commit != ring_commit(chunk->part.position + chunk->at))
		return FRONT_NONSENSE;
	s->size = s->ring.size;
	if (s->ring.probe == RING_VOID)
		return FRONT_SKIP;
	s->n_stack = ring_record_stack(&s->ring, bytes);
	if (s->n_stack == UINT32_MAX || !is_known(r, s->ring.probe, ring_record_len(&s->ring)))
		return FRONT_NONSENSE;
	memcpy(&look, chunk->look->bytes.data, sizeof(look));
	s->ns = ns_of(&look, s->ring.time);
	return FRONT_RECORD;
}

static enum front read_stop(const struct recording_reader *r, struct reader_source *s)
{
	const struct reader_chunk *chunk = s->first;
	uint32_t left = chunk->part.len - chunk->at;
	struct event_record e;
	uint64_t needed;

	if (left < sizeof(e))
		return FRONT_NONSENSE;
	memcpy(&e, chunk->bytes + chunk->at, sizeof(e));
	needed = sizeof(e) + ring_record_stack_at(e.data_len) + 8ull * e.n_stack;
	if (e.data_len > EVENT_DATA_MAX || e.n_stack > EVENT_STACK_MAX || needed > e.size ||
	    e.size > EVENT_RECORD_ROOM || e.size > left)
		return FRONT_NONSENSE;
	s->size = e.size + (uint32_t)block_padding(e.size);
	if (s->size > left)
		s->size = left;
	s->n_stack = e.n_stack;
	if (e.kind != EVENT_LOST && (e.kind != EVENT_HIT || !is_known(r, e.probe, e.data_len)))
		return FRONT_NONSENSE;
	s->ns = e.kind == EVENT_LOST && !e.time ? s->last_ns : e.time;
	return FRONT_RECORD;
}

/* The next record of the source is at its front. False: it has none. */
static bool load_front(struct recording_reader *r, struct reader_source *s)
{
	while (s->first) {
		struct reader_chunk *chunk = s->first;
		enum front front = FRONT_NONSENSE;

		if (chunk->at == chunk->part.len) {
			end_chunk(r, s);
			continue;
		}
		s->size = 0;
		front = chunk->part.kind == RECORDING_RING ? read_ring(r, s) : read_stop(r, s);
		if (front == FRONT_RECORD) {
			if (s->ns < s->last_ns)
				s->ns = s->last_ns;
			return true;
		}
		r->damage.records += front == FRONT_NONSENSE;
		/* Where the next one would begin is known only if the size was right. */
		chunk->at = s->size ? chunk->at + s->size : chunk->part.len;
	}
	return false;
}

static void fill_record(struct recording_reader *r, const struct reader_source *s)
{
	const struct reader_chunk *chunk = s->first;
	const uint8_t *bytes = chunk->bytes + chunk->at;
	struct event_record *e = r->record;

	if (chunk->part.kind == RECORDING_RING) {
		ring_record_fill(e, &s->ring, s->n_stack, bytes);
		e->pid = chunk->part.pid;
		e->tid = chunk->part.tid;
		e->maps = chunk->part.maps;
		memcpy(e->comm, chunk->part.comm, sizeof(e->comm));
	} else {
		struct event_record head;

		memcpy(&head, bytes, sizeof(head));
		memcpy(e, bytes, head.size);
	}
	e->comm[sizeof(e->comm) - 1] = '\0';
	e->time = s->ns;
}

/* --- by time ----------------------------------------------------------------------------- */

bool reader_take_record(struct recording_reader *r)
{
	struct reader_source *s = r->heap.n ? r->heap.v[0].item : NULL;

	if (!s || (s->ns > r->known_until && r->waiting < READER_WAITING_MAX))
		return false;
	/* A file that says too early that all is known does not have time go back. */
	if (s->ns < r->last_ns)
		s->ns = r->last_ns;
	r->last_ns = s->ns;
	fill_record(r, s);
	s->last_ns = s->ns;
	s->first->at += s->size;
	if (load_front(r, s))
		heap_sink(&r->heap, s->ns);
	else
		heap_take(&r->heap);
	return true;
}

/* --- a look --------------------------------------------------------------------------------- */

static struct reader_source *find_source(struct recording_reader *r,
					 const struct recording_part *part)
{
	uint64_t key = part->kind == RECORDING_RING ? part->source + 1ull : 0;
	struct reader_source **place = (struct reader_source **)map_place(&r->sources, key);

	if (place && !*place) {
		*place = calloc(1, sizeof(**place));
		if (*place)
			(*place)->last = &(*place)->first;
	}
	return place ? *place : NULL;
}

static int add_chunk(struct recording_reader *r, struct reader_look *look,
		     const struct recording_part *part, const uint8_t *bytes)
{
	struct reader_source *s = find_source(r, part);
	struct reader_chunk *chunk = s ? malloc(sizeof(*chunk)) : NULL;
	bool was_empty;

	if (!chunk)
		return -ENOMEM;
	*chunk = (struct reader_chunk){ .look = look, .part = *part, .bytes = bytes };
	look->n_users++;
	was_empty = !s->first;
	*s->last = chunk;
	s->last = &chunk->next;
	if (was_empty && load_front(r, s) && !heap_add(&r->heap, s->ns, s))
		return -ENOMEM;
	return 0;
}

static int add_chunks(struct recording_reader *r, struct reader_look *look, uint32_t size)
{
	struct recording_look head;
	struct recording_part part;
	const uint8_t *data = look->bytes.data;
	uint32_t at = sizeof(head);

	memcpy(&head, data, sizeof(head));
	for (uint32_t i = 0; i < head.n_parts; i++) {
		if (size - at < sizeof(part))
			break;
		memcpy(&part, data + at, sizeof(part));
		at += sizeof(part);
		if (part.len > size - at)
			break;
		if (part.kind != RECORDING_RING && part.kind != RECORDING_STOP)
			r->damage.records++;
		else if (add_chunk(r, look, &part, data + at) < 0)
			return -ENOMEM;
		at += part.len;
		if (part.len % 8)
			break;
	}
	if (at != size)
		r->damage.records++;
	if (head.known_until > r->known_until && head.known_until != READER_ALL_KNOWN)
		r->known_until = head.known_until;
	return 0;
}

int reader_take_look(struct recording_reader *r, struct reader_bytes bytes, uint32_t size)
{
	struct reader_look *look = malloc(sizeof(*look));
	int rc;

	if (!look) {
		reader_bytes_give(&r->spare, bytes);
		return -ENOMEM;
	}
	*look = (struct reader_look){ .n_users = 1, .bytes = bytes, .size = size };
	r->waiting += size;
	if (size < sizeof(struct recording_look)) {
		r->damage.records++;
		put_look(r, look);
		return 0;
	}
	rc = add_chunks(r, look, size);
	put_look(r, look);
	return rc;
}

void reader_forget_looks(struct recording_reader *r)
{
	void *source;
	uint64_t key;
	size_t pos = 0;

	while (map_next(&r->sources, &pos, &key, &source)) {
		struct reader_source *s = source;

		while (s->first)
			end_chunk(r, s);
		free(s);
	}
	map_free(&r->sources);
	heap_free(&r->heap);
}
