/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The memory of rings. A ring may be large, so that a busy thread loses nothing where its reader comes late. Positions go round
 * the whole ring however little is recorded, so without a look at it each thread would keep all of its ring in time. So
 * what a quiet thread has written is given back: the next writer of a page gets a new one, filled with zeros, which
 * look like no record.
 *
 * A page must not go while its thread writes there. Threads write at positions from .tail to .limit, so the limit
 * is lowered for that moment, by no more than a half, since the reader may get no processor just then. So what lies in front of a
 * thread that was busy stays, and goes when it is behind it. Who looks at the limit from then on stays below. Who had looked
 * before, and was interrupted before it took its bytes, takes them behind .head as that is then, which is below the
 * lowered limit, too, but for that one record: MARGIN.
 */

#include <sys/mman.h>

#include "engine/event/ring_priv.h"

#define LOOK_NS 250000000
/* Who writes more in that time is busy, and keeps its memory: new pages cost time, some 0.5 us each. */
#define QUIET_BYTES (1ULL << 20)
/* Less than that is not worth it. */
#define LEAST (512ULL << 10)
/* What is given back at a time, so that it does not last; a thread that has written so much meanwhile is busy. */
#define CHUNK  (1ULL << 20)
#define BUSY   (128ULL << 10)
#define MARGIN (64ULL << 10)
#define PAGE   4096ULL

static uint64_t *limit_of(const struct ring *ring)
{
	return &ring_threads(ring->space)[ring->slot].limit;
}

/* Pages at positions from @from to @to, which nobody writes; it may be where the ring begins again. */
static void give_back(const struct ring *ring, uint64_t from, uint64_t to)
{
	uint64_t mask = ring->space->ring_bytes - 1;

	while (from < to) {
		uint64_t n = mask + 1 - (from & mask);

		n = n < to - from ? n : to - from;
		(void)madvise(ring->bytes + (from & mask), n, MADV_REMOVE);
		from += n;
	}
}

/* False: the thread is not quiet any more. */
static bool trim_chunk(struct ring *ring, uint64_t from, uint64_t to)
{
	const uint64_t *head = &ring_threads(ring->space)[ring->slot].head;
	uint64_t low = from - MARGIN, now;

	__atomic_store_n(limit_of(ring), low, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	now = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	if (now - ring->end <= BUSY)
		give_back(ring, from, to);
	__atomic_store_n(limit_of(ring), ring->limit, __ATOMIC_RELEASE);
	return now - ring->end <= BUSY;
}

static void trim(struct ring *ring)
{
	uint64_t from =
		(ring->end + ring->space->ring_bytes / 2 + MARGIN + PAGE - 1) / PAGE * PAGE;
	uint64_t to = (ring->tail + ring->space->ring_bytes) / PAGE * PAGE;
	bool is_quiet = true;

	for (; is_quiet && from < to; from += CHUNK)
		is_quiet = trim_chunk(ring, from, from + CHUNK < to ? from + CHUNK : to);
}

void ring_trim(struct ring *ring, uint64_t now)
{
	struct ring_trim *trimmed = &ring->trim;
	uint64_t n = ring->end - trimmed->end;

	if (ring->space->ring_bytes <= RING_BYTES_DEFAULT || now - trimmed->ns < LOOK_NS)
		return;
	trimmed->ns = now;
	trimmed->end = ring->end;
	trimmed->used += n;
	if (n > QUIET_BYTES || trimmed->used < LEAST)
		return;
	trim(ring);
	trimmed->used = 0;
}

void ring_trim_end(struct ring *ring)
{
	if (ring->trim.used + (ring->end - ring->trim.end) > RING_BYTES_DEFAULT)
		(void)madvise(ring->bytes, ring->space->ring_bytes, MADV_REMOVE);
}
