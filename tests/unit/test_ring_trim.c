/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Memory of rings whose threads are quiet goes back, and no record goes with it. */

#include "engine/event/ring.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/ring_target.h"

#define RING    (16u << 20)
#define DATA    1000
#define MIB     (1ULL << 20)
#define WAIT_NS 20000000000ULL

/* What the target and we have of it together. */
static uint64_t memory_of(const struct ring_target *t)
{
	struct stat st;

	assert_int_equal(fstat(t->region_fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void pause_ns(long ns)
{
	struct timespec pause = { .tv_nsec = ns };

	(void)nanosleep(&pause, NULL);
}

static uint64_t take_all(struct ring_target *t, uint64_t expected)
{
	const struct event_record *e;

	(void)ring_set_drain(t->set);
	for (; (e = target_next(t)); expected++)
		assert_int_equal(e->ip, expected);
	return expected;
}

static uint64_t write_much(struct ring_target *t, uint64_t pointer, uint64_t from,
			   uint64_t bytes)
{
	uint64_t next = from;

	for (uint64_t at = 0; at < bytes; at += DATA, next++) {
		assert_true(target_write(t, pointer, 1, next, DATA));
		if (next % 1000 == 0)
			from = take_all(t, from);
	}
	from = take_all(t, from);
	assert_int_equal(from, next);
	return next;
}

static void a_quiet_thread_has_little_memory(void **state)
{
	uint64_t pointer = target_pointer(1), next, until;
	struct ring_target t;

	(void)state;
	target_open(&t, RING);
	target_add(&t, 1000001, pointer);
	next = write_much(&t, pointer, 0, 20 * MIB);
	assert_true(memory_of(&t) > 15 * MIB);
	/* A few go on to come. */
	until = event_clock_now(CLOCK_KIND_MONO) + WAIT_NS;
	while (memory_of(&t) > RING / 2 + MIB) {
		assert_true(event_clock_now(CLOCK_KIND_MONO) < until);
		next = write_much(&t, pointer, next, 3 * DATA);
		pause_ns(5000000);
	}
	(void)write_much(&t, pointer, next, 40 * MIB);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

static void a_thread_that_has_ended_has_none(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, RING);
	for (int i = 0; i < 20; i++) {
		target_add(&t, 1000001 + i, target_pointer(1));
		(void)write_much(&t, target_pointer(1), 0, 4 * MIB);
		ring_space_drop(t.space, 1000001 + i);
		(void)ring_set_drain(t.set);
		assert_true(memory_of(&t) < MIB);
	}
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

/* --- a thread that starts anew at any moment -------------------------------------------------- */

#define BURSTS 12
#define EACH   6000

struct burst {
	struct ring_target *t;
	_Atomic uint64_t n_read;
	atomic_bool is_over, has_failed;
};

static void *bursts(void *arg)
{
	struct burst *b = arg;
	uint64_t next = 0;

	for (int i = 0; i < BURSTS; i++) {
		pause_ns(240000000 + i * 4000000L);
		for (int k = 0; k < EACH; k++)
			if (!target_write(b->t, target_pointer(1), 1, next++, DATA))
				b->has_failed = true;
		while (b->n_read < next && !b->has_failed)
			pause_ns(100000);
	}
	b->is_over = true;
	return NULL;
}

static void no_record_is_lost_meanwhile(void **state)
{
	struct ring_target t;
	struct burst b = { .t = &t };
	pthread_t thread;

	(void)state;
	target_open(&t, RING);
	target_add(&t, 1000001, target_pointer(1));
	assert_int_equal(pthread_create(&thread, NULL, bursts, &b), 0);
	while (!b.is_over)
		b.n_read = take_all(&t, b.n_read);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(b.has_failed);
	assert_int_equal(b.n_read, BURSTS * EACH);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

static void rings_are_smaller_where_room_is_short(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, RING);
	assert_int_equal(ring_region_bytes(t.set, 10, UINT64_MAX), RING);
	assert_int_equal(ring_region_bytes(t.set, 10, 100 * MIB), RING / 2);
	assert_int_equal(ring_region_bytes(t.set, 10, MIB), RING_BYTES_DEFAULT);
	target_close(&t);
	target_open(&t, RING_BYTES_MIN);
	assert_int_equal(ring_region_bytes(t.set, 10, MIB), RING_BYTES_MIN);
	target_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_thread_has_little_memory),
		cmocka_unit_test(a_thread_that_has_ended_has_none),
		cmocka_unit_test(no_record_is_lost_meanwhile),
		cmocka_unit_test(rings_are_smaller_where_room_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
