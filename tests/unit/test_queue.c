/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The queue: its rules alone, and under two threads with millions of records of
 * random sizes. Every record carries a number and a pattern made from it, so a
 * torn, moved or repeated record cannot pass.
 */

#include "engine/event/queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"

#define HEAD sizeof(struct event_record)

static struct event_queue *queue_of(size_t bytes)
{
	struct event_queue *queue = NULL;
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(event_queue_new(bytes, &queue, &err), 0);
	return queue;
}

/* xorshift64: the same sizes in every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static uint8_t pattern(uint64_t number, size_t i)
{
	return (uint8_t)(number * 31 + i);
}

/* Reserve room for @room bytes of data, use @len of them. False: no room. */
static bool put(struct event_queue *queue, uint64_t number, size_t room, size_t len)
{
	struct event_record *record = event_queue_reserve(queue, HEAD + room);

	if (!record)
		return false;
	memset(record, 0, HEAD);
	record->kind = EVENT_HIT;
	record->time = number;
	record->data_len = (uint32_t)len;
	for (size_t i = 0; i < len; i++)
		record->data[i] = pattern(number, i);
	event_queue_commit(queue, HEAD + len);
	return true;
}

/* Not by cmocka's asserts: they may only be used on the test's own thread. */
static bool is_intact(const struct event_record *record)
{
	if (record->kind != EVENT_HIT || record->size != ((HEAD + record->data_len + 7) & ~7UL))
		return false;
	for (size_t i = 0; i < record->data_len; i++)
		if (record->data[i] != pattern(record->time, i))
			return false;
	return true;
}

static void take(struct event_queue *queue, uint64_t number)
{
	const struct event_record *record = event_queue_peek(queue);

	assert_non_null(record);
	assert_true(is_intact(record));
	assert_int_equal(record->time, number);
	assert_ptr_equal(event_queue_peek(queue), record);
	event_queue_next(queue);
}

static void refuses_capacities_it_cannot_use(void **state)
{
	static const size_t bad[] = { 0,     1, 4096, EVENT_QUEUE_MIN / 2, EVENT_QUEUE_MIN + 8,
				      100000 };
	struct event_queue *queue = NULL;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ubp_err_reset(&err);
		assert_int_equal(event_queue_new(bad[i], &queue, &err), -EINVAL);
		assert_true(strlen(err.text) > 0);
		assert_null(queue);
	}
	event_queue_free(NULL);
}

static void keeps_order_across_the_end(void **state)
{
	struct event_queue *queue = queue_of(EVENT_QUEUE_MIN);
	uint64_t seed = 1, put_n = 0, took_n = 0;

	(void)state;
	assert_null(event_queue_peek(queue));
	event_queue_next(queue);
	while (took_n < 20000) {
		size_t len = next_random(&seed) % 3000;

		if (put(queue, put_n, len + next_random(&seed) % 64, len)) {
			put_n++;
			continue;
		}
		/* Full, with a few records in it: take a random number of them. */
		for (uint64_t n = 1 + next_random(&seed) % 4; n && took_n < put_n; n--)
			take(queue, took_n++);
	}
	while (took_n < put_n)
		take(queue, took_n++);
	assert_null(event_queue_peek(queue));
	event_queue_free(queue);
}

static void takes_the_largest_record_wherever_it_stands(void **state)
{
	struct event_queue *queue = queue_of(EVENT_QUEUE_MIN);
	size_t max = event_queue_record_max(queue) - HEAD;
	uint64_t number = 0;

	(void)state;
	assert_true(HEAD + max >= HEAD + EVENT_DATA_MAX + 8 * EVENT_STACK_MAX);
	assert_null(event_queue_reserve(queue, HEAD + max + 1));
	assert_false(event_queue_wait_room(queue, HEAD + max + 1));
	for (size_t shift = 0; shift < EVENT_QUEUE_MIN; shift += 8) {
		assert_true(put(queue, number, 8, 8));
		take(queue, number++);
		event_queue_lost(queue, 3); /* its record must find room too */
		assert_true(event_queue_wait_room(queue, HEAD + max));
		assert_true(put(queue, number, max, max));
		assert_int_equal(event_queue_peek(queue)->kind, EVENT_LOST);
		event_queue_next(queue);
		take(queue, number++);
		assert_null(event_queue_peek(queue));
	}
	event_queue_free(queue);
}

static void tells_losses_where_they_happened(void **state)
{
	struct event_queue *queue = queue_of(EVENT_QUEUE_MIN);
	const struct event_record *record;
	uint64_t kept = 0;

	(void)state;
	assert_false(event_queue_is_filling(queue));
	while (put(queue, kept, 1000, 1000))
		kept++;
	assert_true(event_queue_is_filling(queue));
	event_queue_lost(queue, 1);
	event_queue_lost(queue, 41);
	for (uint64_t i = 0; i < kept; i++)
		take(queue, i);
	assert_null(event_queue_peek(queue));
	assert_true(put(queue, kept, 10, 10));
	record = event_queue_peek(queue);
	assert_int_equal(record->kind, EVENT_LOST);
	assert_int_equal(record->n_lost, 42);
	event_queue_next(queue);
	take(queue, kept);

	/* No record follows: the wake tells it. */
	event_queue_lost(queue, 7);
	event_queue_wake(queue);
	record = event_queue_peek(queue);
	assert_int_equal(record->kind, EVENT_LOST);
	assert_int_equal(record->n_lost, 7);
	event_queue_next(queue);
	assert_null(event_queue_peek(queue));
	event_queue_free(queue);
}

static bool is_readable(const struct event_queue *queue)
{
	struct pollfd pfd = { .fd = event_queue_fd(queue), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void wakes_only_a_sleeper(void **state)
{
	struct event_queue *queue = queue_of(EVENT_QUEUE_MIN);

	(void)state;
	assert_true(put(queue, 0, 8, 8));
	event_queue_wake(queue);
	assert_false(is_readable(queue)); /* nobody asked */
	assert_false(event_queue_sleep(queue));
	take(queue, 0);
	assert_true(event_queue_sleep(queue));
	assert_true(put(queue, 1, 8, 8));
	assert_false(is_readable(queue)); /* a commit alone wakes nobody */
	event_queue_wake(queue);
	assert_true(is_readable(queue));
	take(queue, 1);
	assert_true(event_queue_sleep(queue));
	assert_false(is_readable(queue));
	event_queue_free(queue);
}

static void close_ends_waiting_for_room(void **state)
{
	struct event_queue *queue = queue_of(EVENT_QUEUE_MIN);

	(void)state;
	while (put(queue, 0, 1000, 1000))
		;
	event_queue_close(queue);
	assert_false(event_queue_wait_room(queue, HEAD + 1000));
	event_queue_free(queue);
}

/* --- two threads ----------------------------------------------------------- */

struct load {
	struct event_queue *queue;
	uint64_t produce; /* records to make */
	size_t max_len;
	bool lossless;
	_Atomic uint64_t refused; /* out, producer: records that found no room */
};

static void *producer(void *arg)
{
	struct load *load = arg;
	uint64_t seed = 88172645463325252ULL;

	for (uint64_t i = 0; i < load->produce; i++) {
		size_t len = next_random(&seed) % load->max_len;
		size_t room = len + next_random(&seed) % 32;

		if (!put(load->queue, i, room, len)) {
			if (load->lossless && event_queue_wait_room(load->queue, HEAD + room) &&
			    put(load->queue, i, room, len))
				continue;
			load->refused++;
			event_queue_lost(load->queue, 1);
		}
		if (next_random(&seed) % 256 == 0 || event_queue_is_filling(load->queue))
			event_queue_wake(load->queue);
	}
	/* The end of the stream: a record that must not be lost. */
	if (!event_queue_wait_room(load->queue, HEAD) || !put(load->queue, UINT64_MAX, 0, 0))
		load->refused = UINT64_MAX;
	event_queue_wake(load->queue);
	return NULL;
}

/* Read the stream to its end. Every gap must be as wide as the losses told there. */
static void consume(struct event_queue *queue, uint64_t *ret_received, uint64_t *ret_lost)
{
	const struct event_record *record;
	uint64_t received = 0, lost = 0;

	for (;;) {
		record = event_queue_peek(queue);
		if (!record) {
			struct pollfd pfd = { .fd = event_queue_fd(queue), .events = POLLIN };

			if (event_queue_sleep(queue))
				assert_int_equal(poll(&pfd, 1, 60000), 1);
			continue;
		}
		if (record->kind == EVENT_LOST) {
			lost += record->n_lost;
		} else if (record->time == UINT64_MAX) {
			event_queue_next(queue);
			break;
		} else {
			if (!is_intact(record) || record->time != received + lost)
				fail_msg("record %llu, after %llu received and %llu lost",
					 (unsigned long long)record->time,
					 (unsigned long long)received,
					 (unsigned long long)lost);
			received++;
		}
		event_queue_next(queue);
	}
	assert_null(event_queue_peek(queue));
	*ret_received = received;
	*ret_lost = lost;
}

static void run_load(struct load *load, size_t capacity)
{
	uint64_t received = 0, lost = 0;
	pthread_t thread;

	load->queue = queue_of(capacity);
	assert_int_equal(pthread_create(&thread, NULL, producer, load), 0);
	/* Come late, so that some are lost for certain. */
	while (!load->lossless && atomic_load(&load->refused) == 0)
		sched_yield();
	consume(load->queue, &received, &lost);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(event_queue_take_untold(load->queue), 0);
	assert_int_equal(lost, load->refused);
	assert_int_equal(received + lost, load->produce);
	event_queue_free(load->queue);
}

static void counts_every_record_when_it_drops(void **state)
{
	struct load load = { .produce = 2000000, .max_len = 200 };

	(void)state;
	run_load(&load, EVENT_QUEUE_MIN);
	assert_true(load.refused > 0 && load.refused < load.produce);
}

static void keeps_every_record_when_it_waits(void **state)
{
	struct load load = { .produce = 1000000, .max_len = 200, .lossless = true };

	(void)state;
	run_load(&load, EVENT_QUEUE_MIN);
	assert_int_equal(load.refused, 0);
}

static void keeps_large_records_when_it_waits(void **state)
{
	struct load load = { .produce = 50000, .max_len = EVENT_DATA_MAX, .lossless = true };

	(void)state;
	run_load(&load, EVENT_QUEUE_MIN);
	assert_int_equal(load.refused, 0);
}

static void *closer(void *arg)
{
	event_queue_close(arg);
	return NULL;
}

/* Whether the close comes before or in the middle of the wait, it ends it. */
static void close_from_another_thread_ends_waiting(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct event_queue *queue = queue_of(EVENT_QUEUE_MIN);
		pthread_t thread;

		while (put(queue, 0, 1000, 1000))
			;
		assert_int_equal(pthread_create(&thread, NULL, closer, queue), 0);
		assert_false(event_queue_wait_room(queue, HEAD + 1000));
		assert_int_equal(pthread_join(thread, NULL), 0);
		event_queue_free(queue);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_capacities_it_cannot_use),
		cmocka_unit_test(keeps_order_across_the_end),
		cmocka_unit_test(takes_the_largest_record_wherever_it_stands),
		cmocka_unit_test(tells_losses_where_they_happened),
		cmocka_unit_test(wakes_only_a_sleeper),
		cmocka_unit_test(close_ends_waiting_for_room),
		cmocka_unit_test(counts_every_record_when_it_drops),
		cmocka_unit_test(keeps_every_record_when_it_waits),
		cmocka_unit_test(keeps_large_records_when_it_waits),
		cmocka_unit_test(close_from_another_thread_ends_waiting),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
