/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the delivering thread does with rings: looks how far each has got, and takes
 * records out, the oldest of all first. Each ring's next record is kept in .front, a
 * private copy of its head; nothing in a region is read twice to be both checked and used.
 */

#include <string.h>

#include "engine/base/proc.h"
#include "engine/event/ring_claims.h"
#include "engine/event/ring_priv.h"
#include "engine/event/ring_record.h"
#include "engine/event/ring_take.h"

#define COMM_FRESH_NS 10000000   /* a name is read again after that */
#define HOLD_NS       50000000   /* others wait so long at most for a record to be completed */
#define GIVE_UP_NS    1000000000 /* one that blocks a full ring is given up then */
#define FUTURE_TICKS  (1LL << 32)
#define STRETCH_MAX                                                                            \
	16384 /* bytes of records that are taken at once, and perhaps one more record */

enum front { FRONT_COMPLETE, FRONT_VOID, FRONT_INCOMPLETE, FRONT_NONSENSE };

static uint64_t capacity_of(const struct ring *ring)
{
	return ring->space->ring_bytes;
}

static uint8_t *place_of(const struct ring *ring, uint64_t position)
{
	return ring->bytes + (position & (capacity_of(ring) - 1));
}

static bool is_committed(const struct ring *ring, uint64_t position)
{
	const struct ring_record *r = (const struct ring_record *)place_of(ring, position);

	return __atomic_load_n(&r->commit, __ATOMIC_ACQUIRE) == ring_commit(position);
}

static void count_lost(struct ring *ring, uint64_t n)
{
	if (!atomic_load_explicit(&ring->mute, memory_order_relaxed))
		ring->space->set->lost += n;
}

/* --- one record -------------------------------------------------------------------------- */

/* In a ring, time goes forwards; and nothing comes from the future. */
static uint64_t sane_ticks(const struct ring *ring, uint64_t ticks)
{
	uint64_t now = ring_time_last(&ring->space->set->time);

	if ((int64_t)(ticks - now) > FUTURE_TICKS)
		ticks = now;
	return ticks < ring->last_ticks ? ring->last_ticks : ticks;
}

static enum front read_front(struct ring *ring)
{
	struct ring_record r;
	uint32_t n_stack;

	if (!is_committed(ring, ring->tail))
		return FRONT_INCOMPLETE;
	memcpy(&r, place_of(ring, ring->tail), sizeof(r));
	if (!ring_record_is_sane(&r))
		return FRONT_NONSENSE;
	/* The one before was shortened after the look: another look will tell. */
	if (r.size > ring->end - ring->tail)
		return FRONT_INCOMPLETE;
	n_stack = r.probe == RING_VOID ? 0 : ring_record_stack(&r, place_of(ring, ring->tail));
	if (n_stack == UINT32_MAX)
		return FRONT_NONSENSE;
	ring->front = (struct ring_front){ .record = r, .n_stack = n_stack };
	ring->front.record.time = sane_ticks(ring, r.time);
	if (r.probe == RING_VOID)
		return FRONT_VOID;
	if (r.probe >= ring->space->set->n_probes)
		return FRONT_NONSENSE;
	return FRONT_COMPLETE;
}

/* Go on at the next record that is complete, or where there is none any more. */
static void skip_ahead(struct ring *ring)
{
	count_lost(ring, 1);
	for (ring->tail += 8; ring->tail != ring->end; ring->tail += 8)
		if (is_committed(ring, ring->tail))
			return;
}

/* Room for the target: not for every record, the line is busy. */
static void tell_limit(struct ring *ring)
{
	uint64_t limit = ring_limit(ring->space, ring->tail);

	if (limit == ring->limit ||
	    (ring->tail != ring->end && limit - ring->limit < capacity_of(ring) / 8))
		return;
	ring->limit = limit;
	__atomic_store_n(&ring_threads(ring->space)[ring->slot].limit, limit, __ATOMIC_RELEASE);
}

/*
 * Its thread is amid writing, or was killed there, or left it from a signal handler for ever: what
 * is in the way of new records then goes after a while.
 */
static bool must_give_up(const struct ring *ring)
{
	return ring->is_gone ||
	       (ring->stuck_ns && ring->seen_ns - ring->stuck_ns > GIVE_UP_NS &&
		ring->end - ring->tail + RING_RECORD_MAX > capacity_of(ring) - RING_SLACK);
}

/*
 * What is younger than the record in writing waits a moment for it. Not what is older than that
 * moment, whatever times this ring has told: its thread may be in the middle of a record for ever.
 */
static void wait_for_front(struct ring *ring)
{
	struct ring_set *set = ring->space->set;
	uint64_t from = ring->since_ns > set->hold_from_ns ? ring->since_ns : set->hold_from_ns;

	if (!ring->stuck_ns)
		ring->stuck_ns = ring->seen_ns;
	if (ring->seen_ns - ring->stuck_ns < HOLD_NS && from < set->hold_ns)
		set->hold_ns = from;
}

/* Find the record to come next. False: there is none yet. */
static bool load_front(struct ring *ring)
{
	while (ring->tail != ring->end) {
		switch (read_front(ring)) {
		case FRONT_COMPLETE:
			ring->stuck_ns = 0;
			tell_limit(ring);
			return true;
		case FRONT_VOID:
			ring->tail += ring->front.record.size;
			ring->stuck_ns = 0;
			break;
		case FRONT_INCOMPLETE:
			if (!must_give_up(ring)) {
				wait_for_front(ring);
				tell_limit(ring);
				return false;
			}
			/* fall through */
		case FRONT_NONSENSE:
			ring->stuck_ns = 0;
			skip_ahead(ring);
			break;
		}
	}
	ring->stuck_ns = 0;
	if (ring->is_gone) {
		ring_tally_end(ring);
		ring_sample_end(ring);
		ring_trim_end(ring);
		atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
	} else {
		tell_limit(ring);
	}
	return false;
}

/* --- a look at all ------------------------------------------------------------------------- */

void ring_look_at_comm(struct ring *ring, uint64_t now)
{
	char comm[16];

	if (ring->is_gone || (ring->comm_ns && now - ring->comm_ns < COMM_FRESH_NS))
		return;
	ring->comm_ns = now;
	if (proc_read_thread_comm(ring->pid, ring->tid, comm))
		memcpy(ring->comm, comm, sizeof(comm));
}

/* The target's word for its head makes no sense: go on from there. */
static void follow_head(struct ring *ring, uint64_t head)
{
	if (ring->is_ready)
		heap_remove(&ring->space->set->heap, ring);
	ring->is_ready = false;
	if (head != ring->tail)
		count_lost(ring, 1);
	ring->tail = ring->end = head;
}

static void look_at_losses(struct ring *ring)
{
	uint64_t lost =
		__atomic_load_n(&ring_threads(ring->space)[ring->slot].lost, __ATOMIC_RELAXED);

	if (lost > ring->lost)
		count_lost(ring, lost - ring->lost);
	ring->lost = lost;
}

/* Returns how full it is, in percent. */
static unsigned look_at(struct ring *ring, uint64_t now)
{
	uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
	uint64_t head;
	unsigned fill;

	if (state == RING_FREE || state == RING_OFFERED)
		return 0;
	ring->is_gone = state == RING_GONE;
	ring->seen_ns = now;
	look_at_losses(ring);
	head = __atomic_load_n(&ring_threads(ring->space)[ring->slot].head, __ATOMIC_ACQUIRE);
	if (head - ring->tail > capacity_of(ring) + RING_SLACK ||
	    (ring->is_ready && head - ring->tail < ring->front.record.size) ||
	    ((head | ring->tail) & 7) != 0)
		follow_head(ring, head);
	ring->end = head;
	if (head == ring->tail)
		ring->since_ns = now;
	if (head != ring->tail || ring->space->set->tally.slot)
		ring_look_at_comm(ring, now);
	if (ring->is_ready)
		return ring_fill(ring);
	fill = ring_fill(ring);
	if (!ring->is_gone)
		ring_trim(ring, now);
	/* Not touched any more where it has become FREE. */
	if (load_front(ring) &&
	    heap_add(&ring->space->set->heap, ring->front.record.time, ring))
		ring->is_ready = true;
	return fill;
}

/* Returns how full the fullest ring is; *ret_done: nothing is left, and nothing will come. */
static unsigned look_at_space(struct ring_space *space, uint64_t now, bool *ret_done)
{
	bool closed = atomic_load_explicit(&space->closed, memory_order_acquire);
	unsigned fullest = 0;
	uint32_t n_used;

	ring_claims_tend(space);
	n_used = atomic_load_explicit(&space->n_used, memory_order_acquire);
	*ret_done = closed;
	for (uint32_t i = 0; i < n_used; i++) {
		struct ring *ring = &space->rings[i];
		unsigned fill = look_at(ring, now);

		if (fill > fullest)
			fullest = fill;
		if (atomic_load_explicit(&ring->state, memory_order_relaxed) != RING_FREE)
			*ret_done = false;
	}
	return fullest;
}

/* Its counts stay. */
static void end_space(struct ring_set *set, struct ring_space *space)
{
	struct ring_space **at;
	unsigned n_probes = set->n_probes;
	unsigned n = n_probes < RING_COUNTS ? n_probes : RING_COUNTS;

	pthread_mutex_lock(&set->lock);
	for (at = &set->spaces; *at != space; at = &(*at)->next)
		;
	*at = space->next;
	set->left += __atomic_load_n(&ring_head_of(space)->left, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&set->lock);
	for (unsigned i = 0; i < n; i++) {
		set->dropped[i] +=
			__atomic_load_n(&ring_head_of(space)->dropped[i], __ATOMIC_RELAXED);
		if (set->opt.sample)
			set->left_out[i] += __atomic_load_n(&ring_head_of(space)->left_out[i],
							    __ATOMIC_RELAXED);
	}
	set->lost += ring_take_missed(space);
	ring_space_free(space);
	atomic_fetch_sub(&set->n_spaces, 1);
}

unsigned ring_set_drain(struct ring_set *set)
{
	struct ring_space *space, *next;
	unsigned fullest = 0;
	uint64_t now;

	if (!ring_set_is_used(set))
		return 0;
	/* A record whose writing has begun since the last look is no older than that. */
	set->hold_from_ns = set->looked_ns > HOLD_NS ? set->looked_ns - HOLD_NS : 0;
	now = ring_time_look(&set->time);
	set->hold_ns = set->looked_ns = now;
	pthread_mutex_lock(&set->lock);
	space = set->spaces;
	pthread_mutex_unlock(&set->lock);
	for (; space; space = next) {
		bool done;
		unsigned fill = look_at_space(space, now, &done);

		if (fill > fullest)
			fullest = fill;
		/* New ones come in front of it: only we change this. */
		next = space->next;
		if (done)
			end_space(set, space);
	}
	return fullest;
}

/* --- taking out ---------------------------------------------------------------------------- */

static uint64_t time_of(struct ring_set *set, const struct ring *ring)
{
	uint64_t ns = ring_time_ns(&set->time, ring->front.record.time);

	/* The readings get better meanwhile: by nanoseconds. */
	return ns < ring->last_ns && ring->last_ns - ns < 10000 ? ring->last_ns : ns;
}

static void fill_record(struct ring_set *set, const struct ring *ring, uint64_t ns)
{
	struct event_record *e = set->record;

	ring_record_fill(e, &ring->front.record, ring->front.n_stack,
			 place_of(ring, ring->tail));
	e->maps = atomic_load_explicit(&ring->space->maps, memory_order_acquire);
	e->pid = ring->pid;
	e->tid = ring->tid;
	e->time = ns;
	memcpy(e->comm, ring->comm, sizeof(e->comm));
}

static void pass_front(struct ring_set *set, struct ring *ring, uint64_t ns)
{
	ring->last_ticks = ring->front.record.time;
	ring->last_ns = ns;
	if (ns > ring->since_ns)
		ring->since_ns = ns;
	ring->tail += ring->front.record.size;
	ring->is_ready = false;
	if (!load_front(ring)) {
		heap_take(&set->heap); /* not touched any more: it may be FREE */
		return;
	}
	ring->is_ready = true;
	heap_sink(&set->heap, ring->front.record.time);
}

/* --- taking out as it is --------------------------------------------------------------------- */

const struct event_record *ring_taken_record(const struct ring_taken *taken)
{
	fill_record(taken->set, taken->ring, time_of(taken->set, taken->ring));
	return taken->set->record;
}

/* Where hits are sampled, and its thread has not seen to that. */
static bool is_left_out(struct ring_set *set, struct ring *ring, const struct ring_taken *taken)
{
	return set->opt.sample && !(ring->front.record.cpu & RING_SAMPLED) &&
	       !set->opt.sample(set->opt.ctx, ring_taken_record(taken), ring);
}

/* False: there is no place for one more probe. */
static bool count_taken(struct ring_taken *taken, uint32_t probe)
{
	unsigned i = 0;

	while (i < taken->n_counts && taken->counts[i].probe != probe)
		i++;
	if (i == RING_TAKEN_PROBES)
		return false;
	if (i == taken->n_counts)
		taken->counts[taken->n_counts++] = (struct ring_taken_count){ probe, 0 };
	taken->counts[i].n++;
	return true;
}

/* May the record at @position be taken as it is? *ret: a copy of its head. */
static bool is_like_it(const struct ring *ring, uint64_t position, struct ring_record *ret)
{
	if (!is_committed(ring, position))
		return false;
	memcpy(ret, place_of(ring, position), sizeof(*ret));
	return ring_record_is_sane(ret) && ret->size <= ring->end - position &&
	       !(ret->data_len & RING_STACK) && ret->probe < ring->space->set->n_probes;
}

/* Records that lie right behind the first, of probes that are plain. */
static void take_more(struct ring *ring, struct ring_taken *taken, ring_plain_fn *is_plain,
		      void *ctx)
{
	uint32_t last_plain = taken->probe;
	struct ring_record r;

	while (taken->size < STRETCH_MAX && ring->tail + taken->size != ring->end &&
	       place_of(ring, ring->tail + taken->size) ==
		       (const uint8_t *)taken->bytes + taken->size &&
	       is_like_it(ring, ring->tail + taken->size, &r)) {
		if (r.probe != last_plain && !is_plain(ctx, r.probe))
			return;
		if (!count_taken(taken, r.probe))
			return;
		last_plain = r.probe;
		ring->front.record.time = r.time;
		taken->size += r.size;
	}
}

static bool take_front(struct ring_set *set, struct ring *ring, ring_plain_fn *is_plain,
		       ring_take_fn *fn, void *ctx)
{
	struct ring_taken taken;
	uint64_t time = ring->front.record.time;

	/* Not all of it is made zero: this is done for each record, where they are not plain. */
	taken.pid = ring->pid;
	taken.tid = ring->tid;
	taken.comm = ring->comm;
	taken.maps = atomic_load_explicit(&ring->space->maps, memory_order_acquire);
	taken.probe = ring->front.record.probe;
	taken.size = ring->front.record.size;
	taken.counts[0] = (struct ring_taken_count){ taken.probe, 1 };
	taken.n_counts = 1;
	taken.n_stack = ring->front.n_stack;
	taken.position = ring->tail;
	taken.bytes = place_of(ring, ring->tail);
	taken.source = ring;
	taken.set = set;
	taken.ring = ring;
	if (!ring->tid) {
		count_lost(ring, 1);
	} else if (!atomic_load_explicit(&ring->mute, memory_order_relaxed) &&
		   !is_left_out(set, ring, &taken)) {
		if (!taken.n_stack && is_plain(ctx, taken.probe))
			take_more(ring, &taken, is_plain, ctx);
		if (!fn(ctx, &taken)) {
			ring->front.record.time = time;
			return false;
		}
	}
	ring->last_ticks = sane_ticks(ring, ring->front.record.time);
	ring->tail += taken.size;
	return true;
}

/* What is to come from this ring is younger than the record that was taken last. */
static void note_since(struct ring_set *set, struct ring *ring)
{
	uint64_t ns;

	if (ring->tail != ring->end && is_committed(ring, ring->tail))
		return; /* there is more: that will tell */
	ns = ring_time_ns(&set->time, ring->last_ticks);
	if (ns > ring->since_ns)
		ring->since_ns = ns;
}

/* Of the first ring in the heap. False: @fn has no room. */
static bool take_ring(struct ring_set *set, ring_plain_fn *is_plain, ring_take_fn *fn,
		      void *ctx)
{
	struct ring *ring = set->heap.v[0].item;

	for (;;) {
		if (!take_front(set, ring, is_plain, fn, ctx)) {
			heap_sink(&set->heap, ring->front.record.time);
			return false;
		}
		note_since(set, ring);
		ring->is_ready = false;
		if (!load_front(ring))
			break;
		ring->is_ready = true;
	}
	heap_take(&set->heap); /* not touched any more: it may be FREE */
	return true;
}

void ring_set_take(struct ring_set *set, ring_plain_fn *is_plain, ring_take_fn *fn, void *ctx)
{
	while (set->heap.n && take_ring(set, is_plain, fn, ctx))
		;
}

double ring_set_readings(const struct ring_set *set, struct ring_time_sample readings[2])
{
	const struct ring_time *time = &set->time;

	readings[1] = time->samples[time->n - 1];
	readings[0] = time->samples[time->n > 1 ? time->n - 2 : 0];
	return time->ns_per_tick;
}

const struct event_record *ring_set_next(struct ring_set *set, uint64_t until)
{
	while (set->heap.n) {
		struct ring *ring = set->heap.v[0].item;
		bool mute =
			!ring->tid || atomic_load_explicit(&ring->mute, memory_order_relaxed);
		uint64_t ns = time_of(set, ring);

		if (until != UINT64_MAX && (ns > until || ns > set->hold_ns))
			return NULL;
		if (!ring->tid)
			count_lost(ring, 1);
		if (!mute) {
			fill_record(set, ring, ns);
			mute = set->opt.sample && !(ring->front.record.cpu & RING_SAMPLED) &&
			       !set->opt.sample(set->opt.ctx, set->record, ring);
		}
		if (ring->front.record.cpu & RING_NO_ENTRY)
			ring_tally_grow(ring);
		pass_front(set, ring, ns);
		if (!mute)
			return set->record;
	}
	return NULL;
}
