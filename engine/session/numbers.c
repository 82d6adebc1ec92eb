/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/event/ring_sample.h"
#include "engine/session/maker.h"
#include "engine/session/state.h"
#include "engine/space/uprobe.h"

#define N_CHUNKS (NUMBERS_MAX / NUMBERS_IN_CHUNK)

/* Where all are gone, and no probe has one of them as its id, the chunk goes. */
struct number_chunk {
	unsigned n_kept;
	struct session_number v[NUMBERS_IN_CHUNK];
};

static struct number_chunk *chunk_of(const struct ubp_session *s, unsigned number)
{
	if (number >= NUMBERS_MAX || !s->numbers.chunks)
		return NULL;
	return __atomic_load_n(&s->numbers.chunks[number / NUMBERS_IN_CHUNK], __ATOMIC_ACQUIRE);
}

size_t numbers_n(const struct ubp_session *s)
{
	return __atomic_load_n(&s->numbers.n, __ATOMIC_ACQUIRE);
}

struct session_number *numbers_at(const struct ubp_session *s, unsigned number)
{
	struct number_chunk *chunk = number < numbers_n(s) ? chunk_of(s, number) : NULL;

	return chunk ? &chunk->v[number % NUMBERS_IN_CHUNK] : NULL;
}

struct session_number *numbers_known(const struct ubp_session *s, size_t number)
{
	struct session_number *entry =
		number < NUMBERS_MAX ? numbers_at(s, (unsigned)number) : NULL;

	return entry && entry->id == number ? entry : NULL;
}

const struct session_number *numbers_latest(const struct ubp_session *s, size_t number)
{
	const struct session_number *first = numbers_known(s, number);
	const struct session_number *entry = first ? numbers_at(s, first->latest) : NULL;

	return entry && __atomic_load_n(&entry->state, __ATOMIC_RELAXED) == NUMBER_LIVE ? entry
											: NULL;
}

const struct spec_probe **numbers_specs(const struct ubp_session *s, size_t *ret_n)
{
	const struct spec_probe **specs =
		calloc(s->numbers.n_there + 1, sizeof(const struct spec_probe *));
	size_t n = specs ? numbers_n(s) : 0;

	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct session_number *entry = numbers_latest(s, i);

		if (entry)
			specs[(*ret_n)++] = entry->spec;
	}
	return specs;
}

void numbers_keep_all(const struct ubp_session *s)
{
	for (size_t i = 0; i < numbers_n(s); i++) {
		const struct session_number *entry = numbers_at(s, (unsigned)i);

		if (entry)
			(void)maker_get(entry->made_by);
	}
}

/* The chunk of the next number, made if need be. NULL: memory is short. */
static struct number_chunk *next_chunk(struct ubp_session *s)
{
	struct session_numbers *n = &s->numbers;
	struct number_chunk **place;

	if (!n->chunks)
		/* A page of it has memory once it is written. */
		n->chunks = calloc(N_CHUNKS, sizeof(struct number_chunk *));
	if (!n->chunks)
		return NULL;
	place = &n->chunks[n->n / NUMBERS_IN_CHUNK];
	if (!*place)
		__atomic_store_n(place, calloc(1, sizeof(**place)), __ATOMIC_RELEASE);
	return *place;
}

/* All that there are may have to leave, when there may be no memory. */
static int make_leaving_room(struct session_numbers *n)
{
	size_t cap = n->cap_leaving ? 2 * n->cap_leaving : 16;
	unsigned *more;

	if (n->n_there < n->cap_leaving)
		return 0;
	more = realloc(n->leaving, cap * sizeof(*more));
	if (!more)
		return -ENOMEM;
	n->leaving = more;
	n->cap_leaving = cap;
	return 0;
}

int numbers_append(struct ubp_session *s, const struct session_number *entry,
		   unsigned has_place_of)
{
	struct session_numbers *n = &s->numbers;
	unsigned number = (unsigned)n->n;
	struct session_number *old = numbers_at(s, has_place_of), *place, *first;
	struct number_chunk *chunk;

	if (number >= NUMBERS_MAX)
		return -ENOSPC;
	chunk = next_chunk(s);
	if (!chunk || make_leaving_room(n) < 0)
		return -ENOMEM;
	first = old ? numbers_at(s, old->id) : NULL;
	if (first && !first->gone)
		first->gone = calloc(1, sizeof(*first->gone));
	if (first && !first->gone)
		return -ENOMEM;
	place = &chunk->v[number % NUMBERS_IN_CHUNK];
	*place = *entry;
	place->id = first ? old->id : number;
	place->older = old ? has_place_of : number;
	entry->uprobe->number = entry->uprobe->life.since = number;
	chunk->n_kept++;
	n->n_there++;
	__atomic_store_n(&n->n, n->n + 1, __ATOMIC_RELEASE);
	if (!first)
		first = place;
	first->latest = number;
	first->n_there++;
	return 0;
}

/* --- what is gone ------------------------------------------------------------------------- */

static void release(struct ubp_session *s, unsigned number)
{
	struct number_chunk **place = &s->numbers.chunks[number / NUMBERS_IN_CHUNK];

	/* The chunk of the next number stays. */
	if (--(*place)->n_kept || s->numbers.n / NUMBERS_IN_CHUNK == number / NUMBERS_IN_CHUNK)
		return;
	free(*place);
	__atomic_store_n(place, NULL, __ATOMIC_RELEASE);
}

/* The place is nobody's any more: nobody asks for what was counted there. */
static void release_first(struct ubp_session *s, unsigned id)
{
	struct session_number *first = numbers_at(s, id);

	free(first->gone);
	first->gone = NULL;
	release(s, id);
}

static void add_to(uint64_t *sum, const uint64_t *counter)
{
	*sum += __atomic_load_n(counter, __ATOMIC_RELAXED);
}

void numbers_add_handled(struct uprobe_handled *sum, const struct uprobe_handled *handled)
{
	uint64_t longest_ns = __atomic_load_n(&handled->longest_ns, __ATOMIC_RELAXED);

	add_to(&sum->n, &handled->n);
	add_to(&sum->dropped, &handled->dropped);
	add_to(&sum->changed, &handled->changed);
	add_to(&sum->skipped, &handled->skipped);
	add_to(&sum->refused, &handled->refused);
	add_to(&sum->total_ns, &handled->total_ns);
	sum->longest_ns = longest_ns > sum->longest_ns ? longest_ns : sum->longest_ns;
}

static void keep_counts(struct uprobe_stats *sum, const struct uprobe_stats *u)
{
	add_to(&sum->hits, &u->hits);
	add_to(&sum->passed, &u->passed);
	add_to(&sum->lost, &u->lost);
	add_to(&sum->too_big, &u->too_big);
	add_to(&sum->unanswered, &u->unanswered);
	add_to(&sum->left_out, &u->left_out);
	add_to(&sum->ring_left_out, &u->ring_left_out);
	add_to(&sum->ring_hits, &u->ring_hits);
	add_to(&sum->ring_passed, &u->ring_passed);
	add_to(&sum->ring_missed, &u->ring_missed);
	numbers_add_handled(&sum->handled, &u->handled);
	for (unsigned i = 0; i < MISSED_N; i++)
		add_to(&sum->missed[i], &u->missed[i]);
	for (unsigned i = 0; i < STOP_N; i++)
		add_to(&sum->stops[i], &u->stops[i]);
}

/* Of what detours left out: it is known by number. */
static void keep_ring_counts(struct ubp_session *s, unsigned number, struct uprobe_stats *sum)
{
	uint64_t left_out;

	if (!s->out.rings)
		return;
	left_out = ring_set_left_out(s->out.rings, number);
	sum->hits += ring_set_dropped(s->out.rings, number) + left_out;
	sum->ring_left_out += left_out;
}

/* Whose place @number had is whose place the one behind it had. */
static void leave_chain(struct ubp_session *s, unsigned latest, unsigned number, unsigned older)
{
	unsigned i = latest;

	for (struct session_number *e = numbers_at(s, i); e && e->older != i;
	     e = numbers_at(s, i)) {
		if (e->older == number) {
			e->older = older == number ? i : older;
			return;
		}
		i = e->older;
	}
}

void numbers_free_entry(struct ubp_session *s, unsigned number)
{
	struct session_number *entry = numbers_at(s, number), *first = numbers_at(s, entry->id);
	unsigned id = entry->id;

	s->numbers.n_there--;
	if (first->gone && number != first->latest) {
		keep_counts(first->gone, &entry->uprobe->stats);
		keep_ring_counts(s, number, first->gone);
		leave_chain(s, first->latest, number, entry->older);
	}
	uprobe_put(entry->uprobe);
	maker_put(entry->made_by);
	entry->uprobe = NULL;
	entry->spec = NULL;
	entry->made_by = NULL;
	__atomic_store_n(&entry->state, NUMBER_GONE, __ATOMIC_RELAXED);
	if (number != id)
		release(s, number);
	if (--first->n_there == 0)
		release_first(s, id);
}

void numbers_unlist(struct ubp_session *s, size_t i)
{
	struct session_numbers *n = &s->numbers;

	n->leaving[i] = n->leaving[n->n_leaving - 1];
	__atomic_store_n(&n->n_leaving, n->n_leaving - 1, __ATOMIC_RELAXED);
}

void numbers_free(struct ubp_session *s)
{
	struct session_numbers *n = &s->numbers;

	for (unsigned i = 0; i < n->n; i++) {
		struct session_number *entry = numbers_at(s, i);

		if (!entry)
			continue;
		uprobe_put(entry->uprobe);
		maker_put(entry->made_by);
		free(entry->gone);
	}
	for (size_t i = 0; n->chunks && i < N_CHUNKS; i++)
		free(n->chunks[i]);
	free(n->chunks);
	free(n->leaving);
	n->chunks = NULL;
	n->leaving = NULL;
	n->n = n->n_there = n->n_leaving = n->cap_leaving = n->n_asked = 0;
}
