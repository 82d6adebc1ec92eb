/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A ring of bytes. head and tail count bytes since the start and never wrap
 * (2^64 bytes are out of reach); a position in the ring is the count modulo
 * the capacity.
 *
 *        head                    tail
 *   .....[record][record][record].........[skip]
 *
 * A record is never cut by the end of the ring: where it would be, the rest of
 * the ring becomes a marker that the consumer steps over. The largest record
 * is small enough that record, marker and an EVENT_LOST fit an empty ring.
 *
 * The producer fills memory behind tail and then releases tail; the consumer
 * acquires tail, reads, and releases head. Each keeps its last look at the
 * other's index, so that the cache line of the other is touched only when the
 * ring seems full or empty.
 *
 * Sleeping. The consumer arms with an exchange on .sleeping and then looks at
 * tail once more; the producer takes the flag with an exchange after it has
 * released tail. Exchanges on one object are ordered: if the producer's came
 * first, the consumer's reads from it and so sees the new tail; if it came
 * second, it finds the flag and writes the eventfd. Nothing is missed, and a
 * commit needs no more than a plain store.
 *
 * Waiting for room is the mirror image with a futex, except that the consumer
 * must look after every record: there the store of head, the look at
 * .waiting, and the producer's opposite pair are all sequentially consistent.
 */

#include "engine/event/queue.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"

/* A marker is a record's first eight bytes: size, this kind, nothing. */
#define KIND_SKIP 0xffff

#define LOST_SIZE  ((sizeof(struct event_record) + 7) & ~(size_t)7)
#define CACHE_LINE 64

_Static_assert(offsetof(struct event_record, n_stack) + sizeof(uint16_t) == 8,
	       "a marker fits the smallest rest of a ring");
_Static_assert(EVENT_QUEUE_MIN / 2 - LOST_SIZE >=
		       LOST_SIZE + EVENT_DATA_MAX + 8 * EVENT_STACK_MAX,
	       "the smallest queue takes the largest record");

struct event_queue {
	uint8_t *ring;
	uint64_t capacity; /* bytes, a power of two */
	int wake_fd;

	/* Written by the producer. */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail;
	_Atomic uint64_t untold;  /* losses not in the stream yet */
	_Atomic uint64_t since;   /* of the records that are being made; 0: none are */
	uint64_t seen_head;       /* head at the last look */
	uint64_t reserved_at;     /* where the reserved record starts */
	uint64_t reserved;        /* its bytes at most; 0: nothing reserved */
	_Atomic uint32_t waiting; /* futex: the producer waits for room */

	/* Written by the consumer. */
	_Alignas(CACHE_LINE) _Atomic uint64_t head;
	uint64_t seen_tail;
	uint64_t peeked;           /* bytes of the record handed out; 0: none */
	_Atomic uint32_t sleeping; /* the consumer wants its eventfd written */
	_Atomic bool closed;
	_Atomic bool awake; /* the consumer looks again soon, unasked */
};

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static struct event_record *record_at(const struct event_queue *queue, uint64_t at)
{
	return (struct event_record *)(queue->ring + (at & (queue->capacity - 1)));
}

int event_queue_new(size_t bytes, struct event_queue **ret_queue, struct ubp_err *err)
{
	struct event_queue *queue;

	if (bytes < EVENT_QUEUE_MIN || (bytes & (bytes - 1)) != 0)
		return ubp_fail(err, EINVAL,
				"queue of %zu bytes: must be a power of two, at least %d",
				bytes, EVENT_QUEUE_MIN);
	queue = aligned_alloc(CACHE_LINE, sizeof(*queue));
	if (!queue)
		return ubp_fail(err, ENOMEM, "queue: out of memory");
	memset(queue, 0, sizeof(*queue));
	queue->capacity = bytes;
	queue->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	queue->ring = calloc(1, bytes);
	if (queue->wake_fd < 0)
		ubp_fail_sys(err, "eventfd");
	else if (!queue->ring)
		ubp_fail(err, ENOMEM, "queue of %zu bytes: out of memory", bytes);
	if (queue->wake_fd < 0 || !queue->ring) {
		event_queue_free(queue);
		return -err->code;
	}
	*ret_queue = queue;
	return 0;
}

void event_queue_free(struct event_queue *queue)
{
	if (!queue)
		return;
	if (queue->wake_fd >= 0)
		close(queue->wake_fd);
	free(queue->ring);
	free(queue);
}

size_t event_queue_record_max(const struct event_queue *queue)
{
	return queue->capacity / 2 - LOST_SIZE;
}

/* --- producer ------------------------------------------------------------- */

/* Where @size bytes go that come at @at or later: not across the ring's end. */
static uint64_t place(const struct event_queue *queue, uint64_t at, uint64_t size)
{
	uint64_t rest = queue->capacity - (at & (queue->capacity - 1));

	return rest < size ? at + rest : at;
}

/* Is everything up to @end free, @head being the oldest byte in use? */
static bool is_free(const struct event_queue *queue, uint64_t head, uint64_t end)
{
	return end - head <= queue->capacity;
}

/* Mark the bytes from @at to @end as skipped, if there are any. */
static void put_skip(struct event_queue *queue, uint64_t at, uint64_t end)
{
	struct event_record *skip = record_at(queue, at);

	if (at == end)
		return;
	skip->size = (uint32_t)(end - at);
	skip->kind = KIND_SKIP;
}

static void put_lost(struct event_queue *queue, uint64_t at, uint64_t n)
{
	struct event_record *lost = record_at(queue, at);

	memset(lost, 0, LOST_SIZE);
	lost->size = LOST_SIZE;
	lost->kind = EVENT_LOST;
	lost->n_lost = n;
}

/*
 * Where a record of @size bytes would go and, in front of it, the EVENT_LOST
 * that is due (@lost: losses untold). *ret_lost_at is set only with @lost.
 */
static uint64_t plan(const struct event_queue *queue, uint64_t tail, uint64_t size,
		     uint64_t lost, uint64_t *ret_lost_at)
{
	if (lost) {
		*ret_lost_at = place(queue, tail, LOST_SIZE);
		tail = *ret_lost_at + LOST_SIZE;
	}
	return place(queue, tail, size);
}

struct event_record *event_queue_reserve(struct event_queue *queue, size_t size)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	uint64_t lost = atomic_load_explicit(&queue->untold, memory_order_relaxed);
	uint64_t lost_at = tail, at;

	queue->reserved = 0;
	if (size > event_queue_record_max(queue))
		return NULL;
	size = round_up(size);
	at = plan(queue, tail, size, lost, &lost_at);
	if (!is_free(queue, queue->seen_head, at + size)) {
		queue->seen_head = atomic_load_explicit(&queue->head, memory_order_acquire);
		if (!is_free(queue, queue->seen_head, at + size))
			return NULL;
	}
	if (lost) {
		put_skip(queue, tail, lost_at);
		put_lost(queue, lost_at, lost);
		atomic_store_explicit(&queue->untold, 0, memory_order_relaxed);
		tail = lost_at + LOST_SIZE;
		atomic_store_explicit(&queue->tail, tail, memory_order_release);
	}
	put_skip(queue, tail, at);
	queue->reserved_at = at;
	queue->reserved = size;
	return record_at(queue, at);
}

void event_queue_commit(struct event_queue *queue, size_t size)
{
	struct event_record *record = record_at(queue, queue->reserved_at);

	size = round_up(size);
	assert(size >= LOST_SIZE && size <= queue->reserved);
	record->size = (uint32_t)size;
	queue->reserved = 0;
	atomic_store_explicit(&queue->tail, queue->reserved_at + size, memory_order_release);
}

bool event_queue_is_awake(const struct event_queue *queue)
{
	/* The record's tail must be out before this is read. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&queue->awake, memory_order_relaxed);
}

/*
 * Either the consumer sees this, or it has read its clock before the producer reads the records'
 * time: each has a fence between the two.
 */
void event_queue_begin(struct event_queue *queue, uint64_t time)
{
	atomic_store_explicit(&queue->since, time, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void event_queue_end(struct event_queue *queue)
{
	atomic_store_explicit(&queue->since, 0, memory_order_release);
}

uint64_t event_queue_since(const struct event_queue *queue)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&queue->since, memory_order_acquire);
}

void event_queue_lost(struct event_queue *queue, uint64_t n)
{
	/* Only the producer writes it; others may read it meanwhile. */
	atomic_store_explicit(&queue->untold,
			      atomic_load_explicit(&queue->untold, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

uint64_t event_queue_take_untold(struct event_queue *queue)
{
	return atomic_exchange_explicit(&queue->untold, 0, memory_order_relaxed);
}

/* Tell losses although no record follows them, if there is room. */
static void tell_lost(struct event_queue *queue)
{
	uint64_t lost = atomic_load_explicit(&queue->untold, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	uint64_t at;

	if (!lost)
		return;
	at = place(queue, tail, LOST_SIZE);
	queue->seen_head = atomic_load_explicit(&queue->head, memory_order_acquire);
	if (!is_free(queue, queue->seen_head, at + LOST_SIZE))
		return;
	put_skip(queue, tail, at);
	put_lost(queue, at, lost);
	queue->reserved = 0;
	atomic_store_explicit(&queue->untold, 0, memory_order_relaxed);
	atomic_store_explicit(&queue->tail, at + LOST_SIZE, memory_order_release);
}

void event_queue_wake(struct event_queue *queue)
{
	const uint64_t one = 1;

	tell_lost(queue);
	if (!atomic_exchange(&queue->sleeping, 0))
		return;
	/* Would block only where the counter is at its limit: then it is readable anyway. */
	if (again_write(queue->wake_fd, &one, sizeof(one)) < 0)
		return;
}

bool event_queue_wait_room(struct event_queue *queue, size_t size)
{
	uint64_t tail, lost, lost_at, end;

	if (size > event_queue_record_max(queue))
		return false;
	event_queue_wake(queue);
	/* After the wake: it may have told losses. */
	tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	lost = atomic_load_explicit(&queue->untold, memory_order_relaxed);
	size = round_up(size);
	end = plan(queue, tail, size, lost, &lost_at) + size;
	for (;;) {
		if (atomic_load(&queue->closed))
			return false;
		atomic_store(&queue->waiting, 1);
		queue->seen_head = atomic_load(&queue->head);
		if (is_free(queue, queue->seen_head, end) || atomic_load(&queue->closed))
			break;
		syscall(SYS_futex, &queue->waiting, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	}
	atomic_store(&queue->waiting, 0);
	return is_free(queue, queue->seen_head, end);
}

struct event_record *event_queue_reserve_for(struct event_queue *queue, size_t size, bool waits)
{
	struct event_record *r = event_queue_reserve(queue, size);

	if (r || !waits)
		return r;
	(void)event_queue_wait_room(queue, size);
	return event_queue_reserve(queue, size);
}

bool event_queue_is_filling(const struct event_queue *queue)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);

	return tail - head > queue->capacity / 2;
}

/* --- consumer ------------------------------------------------------------- */

static void wake_producer(struct event_queue *queue)
{
	atomic_store(&queue->waiting, 0);
	syscall(SYS_futex, &queue->waiting, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void event_queue_close(struct event_queue *queue)
{
	atomic_store(&queue->closed, true);
	wake_producer(queue);
}

int event_queue_fd(const struct event_queue *queue)
{
	return queue->wake_fd;
}

/* What the producer wrote must lie between head and tail and inside the ring. */
static void check_record(const struct event_queue *queue, uint64_t head,
			 const struct event_record *record)
{
	uint64_t rest = queue->capacity - (head & (queue->capacity - 1));

	assert(queue->seen_tail - head <= queue->capacity);
	assert(record->size >= 8 && record->size % 8 == 0);
	assert(record->size <= queue->seen_tail - head && record->size <= rest);
	assert(record->kind == KIND_SKIP || record->size >= LOST_SIZE);
}

/* Give back everything before @head; see to a producer that waits for it. */
static void release_room(struct event_queue *queue, uint64_t head)
{
	atomic_store(&queue->head, head);
	if (!atomic_load(&queue->waiting))
		return;
	/* Not for every record: let it find enough room to work for a while. */
	if (queue->seen_tail - head > queue->capacity / 2)
		return;
	wake_producer(queue);
}

const struct event_record *event_queue_peek(struct event_queue *queue)
{
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	const struct event_record *record;

	for (;;) {
		if (head == queue->seen_tail) {
			queue->seen_tail =
				atomic_load_explicit(&queue->tail, memory_order_acquire);
			if (head == queue->seen_tail)
				return NULL;
		}
		record = record_at(queue, head);
		check_record(queue, head, record);
		if (record->kind != KIND_SKIP) {
			queue->peeked = record->size;
			return record;
		}
		head += record->size;
		release_room(queue, head);
	}
}

uint64_t event_queue_mark(const struct event_queue *queue)
{
	return atomic_load_explicit(&queue->tail, memory_order_acquire);
}

const struct event_record *event_queue_peek_until(struct event_queue *queue, uint64_t mark)
{
	return atomic_load_explicit(&queue->head, memory_order_relaxed) < mark
		       ? event_queue_peek(queue)
		       : NULL;
}

void event_queue_next(struct event_queue *queue)
{
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);

	if (!queue->peeked)
		return;
	head += queue->peeked;
	queue->peeked = 0;
	release_room(queue, head);
}

static void drain_wakes(const struct event_queue *queue)
{
	uint64_t count;

	while (read(queue->wake_fd, &count, sizeof(count)) > 0)
		;
}

void event_queue_doze(struct event_queue *queue)
{
	drain_wakes(queue);
	atomic_store(&queue->awake, true);
	(void)atomic_exchange(&queue->sleeping, 1);
}

bool event_queue_sleep(struct event_queue *queue)
{
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);

	drain_wakes(queue); /* what woke us is served */
	atomic_store(&queue->awake, false);
	(void)atomic_exchange(&queue->sleeping, 1);
	/* Against event_queue_is_awake(): one of the two sees the other. */
	queue->seen_tail = atomic_load(&queue->tail);
	if (queue->seen_tail == head)
		return true;
	(void)atomic_exchange_explicit(&queue->sleeping, 0, memory_order_acq_rel);
	return false;
}
