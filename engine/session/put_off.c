/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/put_off.h"

#include <stdlib.h>
#include <string.h>

#include "engine/event/record.h"
#include "engine/session/inside.h"

#define BYTES_FIRST 65536
#define BYTES_MAX   (64u << 20)

static size_t rounded(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

bool put_off_has(const struct ubp_session *s)
{
	return s->out.put_off.at < s->out.put_off.n || s->out.put_off.n_lost;
}

bool put_off_is_full(const struct ubp_session *s)
{
	return s->out.put_off.n >= BYTES_MAX;
}

static bool make_room(struct session_put_off *p, size_t size)
{
	size_t cap = p->cap ? p->cap : BYTES_FIRST;
	unsigned char *more;

	while (cap < p->n + size)
		cap *= 2;
	if (cap == p->cap)
		return true;
	more = realloc(p->v, cap);
	if (!more)
		return false;
	p->v = more;
	p->cap = cap;
	return true;
}

void put_off_record(struct rings_batch *batch, const struct event_record *record)
{
	struct session_put_off *p = &batch->session->out.put_off;
	size_t size = rounded(record->size);

	if (!make_room(p, size)) {
		p->n_lost += record->kind == EVENT_LOST ? record->n_lost : 1;
		return;
	}
	memcpy(p->v + p->n, record, record->size);
	p->n += size;
	batch->is_ended |= put_off_is_full(batch->session);
}

static bool hand_out_lost(struct session_put_off *p, struct rings_batch *batch)
{
	struct event_record record = { .size = sizeof(record), .kind = EVENT_LOST };

	record.n_lost = p->n_lost;
	p->n_lost = 0;
	if (!record.n_lost)
		return false;
	batch->deliver(batch, &record);
	return true;
}

int put_off_hand_out(struct ubp_session *s, struct rings_batch *batch)
{
	struct session_put_off *p = &s->out.put_off;
	int n = 0;

	while (p->at < p->n && !rings_batch_is_full(batch)) {
		const struct event_record *record =
			(const struct event_record *)(const void *)(p->v + p->at);

		p->at += rounded(record->size);
		batch->n++;
		batch->deliver(batch, record);
		n++;
	}
	if (p->at < p->n)
		return n;
	put_off_free(s);
	return n + (!batch->is_ended && hand_out_lost(p, batch));
}

void put_off_free(struct ubp_session *s)
{
	struct session_put_off *p = &s->out.put_off;

	free(p->v);
	*p = (struct session_put_off){ .n_lost = p->n_lost };
}
