/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The bounded queue between the tracing thread and the thread that writes
 * records out. One producer, one consumer, no locks. What does not fit is
 * counted, and the count is put into the stream where the gap is.
 */

#ifndef UBP_EVENT_QUEUE_H
#define UBP_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/event/record.h"

struct ubp_err;
struct event_queue;

/* @bytes: capacity, a power of two. Returns 0 or -ENOMEM/-errno. */
int event_queue_new(size_t bytes, struct event_queue **ret_queue, struct ubp_err *err);
void event_queue_free(struct event_queue *queue);

/*
 * Producer: room for a record of up to @size bytes, to be filled in place, or
 * NULL when the queue is full. Commit with the size really used (rounded up to
 * 8 by the callee, which sets record->size).
 */
struct event_record *event_queue_reserve(struct event_queue *queue, size_t size);
void event_queue_commit(struct event_queue *queue, size_t size);

/*
 * Producer: @n records could not be kept. Put into the stream as an EVENT_LOST
 * record as soon as there is room.
 */
void event_queue_lost(struct event_queue *queue, uint64_t n);

/*
 * Producer: wake the consumer if it sleeps. Not called for each record: the
 * tracing thread calls it before it blocks, when enough has gathered, and
 * when the oldest unread record gets old.
 */
void event_queue_wake(struct event_queue *queue);

/* Producer, lossless mode: block until at least @size bytes are free. */
void event_queue_wait_room(struct event_queue *queue, size_t size);

/* True when more than half of the queue is taken. */
bool event_queue_is_filling(const struct event_queue *queue);

/* Consumer: descriptor that polls readable when records wait (an eventfd). */
int event_queue_fd(const struct event_queue *queue);

/*
 * Consumer: the next record or NULL. It stays valid until event_queue_next() is
 * called. event_queue_next() frees its room.
 */
const struct event_record *event_queue_peek(struct event_queue *queue);
void event_queue_next(struct event_queue *queue);

/* Consumer: nothing left; arm the descriptor. False if something came meanwhile. */
bool event_queue_sleep(struct event_queue *queue);

#endif
