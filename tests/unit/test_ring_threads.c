/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rings of many threads: order among them, entries in the table, rings used again. */

#include "engine/event/ring.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/ring_target.h"

#define SMALL RING_BYTES_MIN

static void records_of_threads_come_in_order_of_time(void **state)
{
	struct ring_target t;
	uint64_t last = 0;

	(void)state;
	target_open(&t, 8 * SMALL);
	for (int i = 0; i < 20; i++)
		target_add(&t, 1000000 + i, target_pointer((uint64_t)i));
	for (uint64_t i = 0; i < 3000; i++)
		assert_true(target_write(&t, target_pointer(i * i % 20), 1, i, 8));
	(void)ring_set_drain(t.set);
	for (uint64_t i = 0; i < 3000; i++) {
		const struct event_record *e = target_next(&t);

		assert_non_null(e);
		assert_int_equal(e->ip, i);
		assert_int_equal(e->tid, 1000000 + (int)(i * i % 20));
		assert_true(e->time >= last);
		last = e->time;
	}
	target_take_nothing(&t);
	target_close(&t);
}

static void no_more_than_asked_for_is_handed_out(void **state)
{
	const struct event_record *e;
	struct target_record r;
	struct ring_target t;
	uint64_t between;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, 1000001, target_pointer(1));
	target_add(&t, 1000002, target_pointer(2));
	assert_true(target_write(&t, target_pointer(1), 1, 0, 8));
	between = event_clock_now(CLOCK_KIND_MONO);
	while (event_clock_now(CLOCK_KIND_MONO) < between + 20000)
		;
	assert_true(target_write(&t, target_pointer(2), 1, 1, 8));
	(void)ring_set_drain(t.set);
	e = ring_set_next(t.set, between + 10000);
	assert_non_null(e);
	assert_int_equal(e->ip, 0);
	assert_null(ring_set_next(t.set, between + 10000));
	/* What is younger than a record in the making waits for it, unless it is the end. */
	assert_true(target_reserve(&t, target_find(&t, target_pointer(1)), 8, &r));
	assert_true(target_write(&t, target_pointer(2), 1, 3, 8));
	(void)ring_set_drain(t.set);
	assert_null(ring_set_next(t.set, UINT64_MAX - 1));
	target_fill(&r, 1, 2, 8);
	r.record->time -= 1;
	target_commit(&r);
	(void)ring_set_drain(t.set);
	target_take(&t, 1);
	target_take(&t, 3);
	target_take(&t, 2);
	target_take_nothing(&t);
	target_close(&t);
}

static void mute_threads_are_passed_over(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, 1000001, target_pointer(1));
	assert_int_equal(ring_space_add(t.space, getpid(), 1000002, target_pointer(2), true),
			 0);
	for (uint64_t i = 0; i < 50; i += 2) {
		assert_true(target_write(&t, target_pointer(1), 1, i, 8));
		assert_true(target_write(&t, target_pointer(2), 1, i + 1, 8));
	}
	while (target_write(&t, target_pointer(2), 1, 1, 1000))
		;
	(void)ring_set_drain(t.set);
	for (uint64_t i = 0; i < 50; i += 2)
		target_take(&t, i);
	target_take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

static void a_thread_pointer_has_one_thread(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, 1000001, target_pointer(1));
	target_add(&t, 1000001, target_pointer(1));
	assert_true(target_write(&t, target_pointer(1), 1, 0, 8));
	target_add(&t, 1000002, target_pointer(1));
	assert_false(ring_space_has(t.space, 1000001));
	assert_true(ring_space_has(t.space, 1000002));
	assert_true(target_write(&t, target_pointer(1), 1, 1, 8));
	target_add(&t, 1000002, target_pointer(2));
	assert_null(target_find(&t, target_pointer(1)));
	assert_true(target_write(&t, target_pointer(2), 1, 2, 8));
	(void)ring_set_drain(t.set);
	for (uint64_t i = 0; i < 3; i++)
		target_take(&t, i);
	target_take_nothing(&t);
	target_close(&t);
}

static void rings_are_used_again_after_they_were_read(void **state)
{
	uint64_t serial = 0, expected = 0, n_keys = 0;
	uint64_t ring = 0;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	for (uint64_t i = 0; i < 20000; i++) {
		target_add(&t, (pid_t)(1000000 + i), target_pointer(i % 3000));
		if (i == 0)
			ring = target_find(&t, target_pointer(0))->ring;
		assert_int_equal(target_find(&t, target_pointer(i % 3000))->ring, ring);
		for (uint64_t k = 0; k < i % 5; k++)
			assert_true(target_write(&t, target_pointer(i % 3000), 1, serial++,
						 100 * k));
		ring_space_drop(t.space, (pid_t)(1000000 + i));
		assert_null(target_find(&t, target_pointer(i % 3000)));
		(void)ring_set_drain(t.set);
		while (expected < serial)
			target_take(&t, expected++);
		target_take_nothing(&t);
	}
	/* What is gone is cleared away, so that searches stay short. */
	for (uint64_t i = 0; i < RING_THREADS; i++)
		n_keys += target_table(&t)[i].key != RING_KEY_NONE;
	assert_true(n_keys <= 1);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

/* A thousand at a time, each living for a while; more than there are rings for. */
static void threads_come_and_go(void **state)
{
	enum { MANY = 1500 };
	uint64_t seed = 7, n_wrote = 0, n_took = 0, n_refused = 0;
	bool has[MANY] = { false };
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	for (int step = 0; step < 200000; step++) {
		uint64_t i = (seed = seed * 6364136223846793005ULL + 1) >> 33;
		uint64_t who = i % MANY;
		pid_t tid = (pid_t)(1000000 + who);

		if (!has[who]) {
			has[who] = ring_space_add(t.space, 1, tid, target_pointer(who),
						  false) == 0;
			n_refused += !has[who];
		} else if ((i >> 20) % 8 == 0) {
			ring_space_drop(t.space, tid);
			has[who] = false;
		} else {
			n_wrote += target_write(&t, target_pointer(who), 1, who, 32);
		}
		assert_int_equal(ring_space_has(t.space, tid), has[who]);
		assert_int_equal(target_find(&t, target_pointer(who)) != NULL, has[who]);
		if (step % 5000 == 0)
			for (who = 0; who < MANY; who++)
				assert_int_equal(target_find(&t, target_pointer(who)) != NULL,
						 has[who]);
		if (step % 1000)
			continue;
		(void)ring_set_drain(t.set);
		for (const struct event_record *e; (e = target_next(&t)); n_took++)
			assert_int_equal(e->tid, 1000000 + (int)e->ip);
	}
	assert_true(n_refused > 0);
	(void)ring_set_drain(t.set);
	while (target_next(&t))
		n_took++;
	assert_int_equal(n_took, n_wrote);
	target_close(&t);
}

static void a_new_name_is_seen(void **state)
{
	const struct event_record *e;
	struct ring_target t;
	char old[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, old), 0);
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	assert_int_equal(prctl(PR_SET_NAME, "another name"), 0);
	assert_true(target_write(&t, target_pointer(0), 1, 0, 0));
	(void)ring_set_drain(t.set);
	e = target_next(&t);
	assert_non_null(e);
	assert_string_equal(e->comm, "another name");
	assert_int_equal(prctl(PR_SET_NAME, old), 0);
	target_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_threads_come_in_order_of_time),
		cmocka_unit_test(no_more_than_asked_for_is_handed_out),
		cmocka_unit_test(mute_threads_are_passed_over),
		cmocka_unit_test(a_thread_pointer_has_one_thread),
		cmocka_unit_test(rings_are_used_again_after_they_were_read),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(a_new_name_is_seen),
	};

	return cmocka_run_group_tests_name("ring_threads", tests, NULL, NULL);
}
