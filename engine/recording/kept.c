/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "engine/base/map.h"
#include "engine/recording/block.h"

/* What goes at once, when a thread has too much. */
#define PART_BYTES  (64u << 10)
#define FIRST_BYTES 256u

struct part {
	TAILQ_ENTRY(part) of_look, of_thread;
	struct look *look;
	const void *source; /* of a ring's records */
	struct recording_part head;
	uint32_t n_records;
	uint32_t room; /* of .bytes */
	uint8_t *bytes;
};

TAILQ_HEAD(parts, part);

struct look {
	TAILQ_ENTRY(look) of_all;
	struct parts parts;
	struct recording_look head;
};

/* What comes of no thread, as a gap, is thread 0's. */
struct thread {
	TAILQ_ENTRY(thread) by_age;
	struct parts parts;
	pid_t tid;
	uint64_t bytes;
};

TAILQ_HEAD(threads, thread);
TAILQ_HEAD(looks, look);

struct recording_kept {
	uint64_t per_thread, bytes, n_records;
	struct map threads;
	struct threads by_age; /* whose newest record is the oldest comes first */
	struct looks looks;
	struct look *look;     /* the one that is on */
	struct part *part;     /* which grows, the last of its thread; NULL: the next one is new */
	struct thread *thread; /* whose it is */
};

struct recording_kept *kept_new(uint64_t per_thread)
{
	struct recording_kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->per_thread = per_thread;
	TAILQ_INIT(&k->by_age);
	TAILQ_INIT(&k->looks);
	return k;
}

/* --- what goes ----------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct part *part)
{
	return sizeof(*part) + part->room;
}

static void count_bytes(struct recording_kept *k, struct thread *t, uint64_t more)
{
	t->bytes += more;
	k->bytes += more;
}

/* One that has nothing any more goes; the one that is on stays. */
static void forget_look(struct recording_kept *k, struct look *look)
{
	if (!TAILQ_EMPTY(&look->parts) || look == k->look)
		return;
	TAILQ_REMOVE(&k->looks, look, of_all);
	k->bytes -= sizeof(*look);
	free(look);
}

static void forget_thread(struct recording_kept *k, struct thread *t)
{
	if (!TAILQ_EMPTY(&t->parts))
		return;
	(void)map_remove(&k->threads, (uint64_t)t->tid);
	TAILQ_REMOVE(&k->by_age, t, by_age);
	free(t);
}

static void forget_oldest(struct recording_kept *k, struct thread *t)
{
	struct part *part = TAILQ_FIRST(&t->parts);

	TAILQ_REMOVE(&t->parts, part, of_thread);
	TAILQ_REMOVE(&part->look->parts, part, of_look);
	count_bytes(k, t, -bytes_of(part));
	k->n_records -= part->n_records;
	forget_look(k, part->look);
	forget_thread(k, t);
	free(part->bytes);
	free(part);
}

/* The part that grows stays. */
static void forget_too_much(struct recording_kept *k)
{
	struct thread *t = k->thread;

	while (t->bytes > k->per_thread && TAILQ_FIRST(&t->parts) != k->part)
		forget_oldest(k, t);
	while (k->bytes > KEPT_THREADS * k->per_thread) {
		t = TAILQ_FIRST(&k->by_age);
		if (TAILQ_FIRST(&t->parts) == k->part)
			break;
		forget_oldest(k, t);
	}
}

void kept_free(struct recording_kept *k)
{
	struct thread *t;

	if (!k)
		return;
	k->look = NULL;
	while ((t = TAILQ_FIRST(&k->by_age)))
		forget_oldest(k, t);
	map_free(&k->threads);
	free(k);
}

/* --- what comes ---------------------------------------------------------------------------- */

static struct thread *thread_of(struct recording_kept *k, pid_t tid)
{
	struct thread **place = (struct thread **)map_place(&k->threads, (uint64_t)tid);

	if (!place)
		return NULL;
	if (*place) {
		TAILQ_REMOVE(&k->by_age, *place, by_age);
	} else {
		*place = calloc(1, sizeof(**place));
		if (!*place) {
			(void)map_remove(&k->threads, (uint64_t)tid);
			return NULL;
		}
		(*place)->tid = tid;
		TAILQ_INIT(&(*place)->parts);
	}
	TAILQ_INSERT_TAIL(&k->by_age, *place, by_age);
	return *place;
}

static bool begin_part(struct recording_kept *k, const struct recording_part *head, pid_t tid,
		       const void *source)
{
	struct part *part = calloc(1, sizeof(*part));
	struct thread *t = part ? thread_of(k, tid) : NULL;

	k->part = NULL;
	if (!t) {
		free(part);
		return false;
	}
	part->head = *head;
	part->source = source;
	part->look = k->look;
	TAILQ_INSERT_TAIL(&k->look->parts, part, of_look);
	TAILQ_INSERT_TAIL(&t->parts, part, of_thread);
	count_bytes(k, t, bytes_of(part));
	k->part = part;
	k->thread = t;
	return true;
}

static bool make_room(struct recording_kept *k, uint32_t len)
{
	struct part *part = k->part;
	uint32_t room = part->room ? part->room : FIRST_BYTES;
	uint8_t *bytes;

	if (part->bytes && len <= part->room - part->head.len)
		return true;
	while (room - part->head.len < len)
		room *= 2;
	bytes = realloc(part->bytes, room);
	if (!bytes)
		return false;
	count_bytes(k, k->thread, room - part->room);
	part->bytes = bytes;
	part->room = room;
	return true;
}

/* Up to a multiple of 8, which is where the next record begins. */
static bool add(struct recording_kept *k, const void *bytes, uint32_t size, uint32_t n_records)
{
	struct part *part = k->part;
	uint32_t pad = (uint32_t)block_padding(size);

	if (!make_room(k, size + pad)) {
		k->part = NULL;
		return false;
	}
	memcpy(part->bytes + part->head.len, bytes, size);
	memset(part->bytes + part->head.len + size, 0, pad);
	part->head.len += size + pad;
	part->n_records += n_records;
	k->n_records += n_records;
	forget_too_much(k);
	return true;
}

bool kept_look_begin(struct recording_kept *k, const struct recording_look *head)
{
	struct look *look = malloc(sizeof(*look));

	k->part = NULL;
	k->look = look;
	if (!look)
		return false;
	look->head = *head;
	TAILQ_INIT(&look->parts);
	TAILQ_INSERT_TAIL(&k->looks, look, of_all);
	k->bytes += sizeof(*look);
	return true;
}

/* The one that grows may get that many bytes more. */
static bool has_room(const struct recording_kept *k, uint32_t len)
{
	return k->part && k->part->head.len + len <= PART_BYTES;
}

bool kept_take(struct recording_kept *k, const struct ring_taken *taken, uint32_t source)
{
	struct recording_part head = { .kind = RECORDING_RING,
				       .pid = taken->pid,
				       .tid = taken->tid,
				       .maps = taken->maps,
				       .source = source,
				       .position = taken->position };
	const struct part *part = k->part;
	uint32_t n = 0;

	if (!k->look)
		return false;
	memcpy(head.comm, taken->comm, sizeof(head.comm));
	if (!has_room(k, taken->size) || part->source != taken->source ||
	    part->head.tid != taken->tid || part->head.maps != taken->maps ||
	    part->head.position + part->head.len != taken->position)
		if (!begin_part(k, &head, taken->tid, taken->source))
			return false;
	for (unsigned i = 0; i < taken->n_counts; i++)
		n += taken->counts[i].n;
	return add(k, taken->bytes, taken->size, n);
}

bool kept_add_stop(struct recording_kept *k, const struct event_record *record)
{
	const struct recording_part head = { .kind = RECORDING_STOP };

	if (!k->look)
		return false;
	if (!has_room(k, record->size) || k->part->source || k->thread->tid != record->tid)
		if (!begin_part(k, &head, record->tid, NULL))
			return false;
	return add(k, record, record->size, record->kind == EVENT_HIT);
}

void kept_look_end(struct recording_kept *k, uint64_t known_until)
{
	struct look *look = k->look;

	k->part = NULL;
	k->look = NULL;
	if (!look)
		return;
	look->head.known_until = known_until;
	forget_look(k, look);
}

/* --- what is there ------------------------------------------------------------------------- */

int kept_each(const struct recording_kept *k, int (*fn)(void *ctx, const struct kept_told *told),
	      void *ctx)
{
	const struct look *look;
	const struct part *part;
	int rc;

	TAILQ_FOREACH (look, &k->looks, of_all) {
		TAILQ_FOREACH (part, &look->parts, of_look) {
			struct kept_told told = { &look->head, &part->head, part->bytes,
						  !TAILQ_NEXT(part, of_look) };

			rc = fn(ctx, &told);
			if (rc)
				return rc;
		}
	}
	return 0;
}

uint64_t kept_n_records(const struct recording_kept *k)
{
	return k->n_records;
}

uint64_t kept_bytes(const struct recording_kept *k)
{
	return k->bytes;
}
