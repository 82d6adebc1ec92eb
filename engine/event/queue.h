/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The bounded queue between the tracing thread and the thread that writes
 * records out. One producer, one consumer, no locks. What does not fit is
 * counted, and the count is put into the stream where the gap is.
 *
 * Functions marked "producer" may be called by one thread at a time, those
 * marked "consumer" by one other thread at a time.
 */

#ifndef UBP_EVENT_QUEUE_H
#define UBP_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event/record.h"

struct ubp_err;
struct event_queue;

/* The smallest queue: room for two of the largest records, and a power of two. */
#define EVENT_QUEUE_MIN 16384

/*
 * @bytes: capacity, a power of two, at least EVENT_QUEUE_MIN. Returns 0,
 * -EINVAL for another capacity, or -ENOMEM/-errno.
 */
int event_queue_new(size_t bytes, struct event_queue **ret_queue, struct ubp_err *err);

/* Both threads are done with it. NULL is fine. */
void event_queue_free(struct event_queue *queue);

/* The largest record that a queue of this capacity takes: a little under its half. */
size_t event_queue_record_max(const struct event_queue *queue);

/*
 * Producer: room for a record of up to @size bytes, to be filled in place, or
 * NULL when the queue is full or @size is more than event_queue_record_max().
 * Commit with the size really used (rounded up to 8 by the callee, which sets
 * record->size). A reservation is void after any other producer call but commit.
 */
struct event_record *event_queue_reserve(struct event_queue *queue, size_t size);
void event_queue_commit(struct event_queue *queue, size_t size);

/*
 * Producer: records are about to come that are not older than @time, which must have been read
 * before this call, and their own time after it; that is over once all are committed. Whoever
 * sorts records by time need not guess how long they take from one to the other.
 */
void event_queue_begin(struct event_queue *queue, uint64_t time);
void event_queue_end(struct event_queue *queue);

/*
 * Consumer: the time that the producer began with, 0 outside of that. Then what comes behind an
 * event_queue_mark() made after this call has a time that is not before this call.
 */
uint64_t event_queue_since(const struct event_queue *queue);

/*
 * Producer: @n records could not be kept. Put into the stream as an EVENT_LOST
 * record in front of the next record that is kept, or by event_queue_wake() if
 * there is room then. An EVENT_LOST record has no time, pid or probe.
 */
void event_queue_lost(struct event_queue *queue, uint64_t n);

/*
 * Consumer, once the producer has ended and everything was taken: losses that are not in the stream, to be added to what that
 * told. They count as told from then on.
 */
uint64_t event_queue_take_untold(struct event_queue *queue);

/*
 * Producer: wake the consumer if it sleeps. Not called for each record: the
 * tracing thread calls it before it blocks, when enough has gathered, and
 * when the oldest unread record gets old. Costs no system call when the
 * consumer is awake.
 */
void event_queue_wake(struct event_queue *queue);

/*
 * Producer, lossless mode: wake the consumer and block until a record of @size
 * bytes can be reserved. False when it never can: the queue was closed, or
 * @size is more than event_queue_record_max().
 */
bool event_queue_wait_room(struct event_queue *queue, size_t size);

/* Producer: event_queue_reserve(), which with @waits blocks for room as event_queue_wait_room() does. */
struct event_record *event_queue_reserve_for(struct event_queue *queue, size_t size,
					     bool waits);

/*
 * Any thread: the consumer takes no more. A producer blocked in
 * event_queue_wait_room() returns, and later calls do not block.
 */
void event_queue_close(struct event_queue *queue);

/* Producer: true when more than half of the queue is taken. */
bool event_queue_is_filling(const struct event_queue *queue);

/*
 * Consumer: descriptor that polls readable when records wait (an eventfd).
 * Valid once event_queue_sleep() has returned true; never read it.
 */
int event_queue_fd(const struct event_queue *queue);

/*
 * Consumer: the next record or NULL. It stays valid until event_queue_next() is
 * called. event_queue_next() frees its room; without a record it does nothing.
 */
const struct event_record *event_queue_peek(struct event_queue *queue);
void event_queue_next(struct event_queue *queue);

/*
 * Consumer: a mark behind all that is in the queue now, and the next record in
 * front of it: NULL when all these are taken, however fast new ones come.
 */
uint64_t event_queue_mark(const struct event_queue *queue);
const struct event_record *event_queue_peek_until(struct event_queue *queue, uint64_t mark);

/* Consumer: nothing left; arm the descriptor. False if something came meanwhile. */
bool event_queue_sleep(struct event_queue *queue);

/*
 * Consumer: arm the descriptor, but promise to look again soon without being
 * asked (by a timer, say): then the producer needs not wake it for each record.
 * event_queue_sleep() ends that.
 */
void event_queue_doze(struct event_queue *queue);

/* Producer, after a commit: has the consumer promised to look? If not, wake it. */
bool event_queue_is_awake(const struct event_queue *queue);

#endif
