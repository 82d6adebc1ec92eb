/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings of a target that writes what it likes, while they are read: the reader comes to an end, and
 * nobody else's records wait for it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/ring_target.h"

#define SMALL RING_BYTES_MIN

/* A reader that goes on for ever ends the test. */
#define LONG_ENOUGH 60

static uint64_t now(void)
{
	return event_clock_now(CLOCK_KIND_MONO);
}

/* The reader knows how fast ticks go after a while only. */
static void let_learn(const struct ring_target *t)
{
	uint64_t begin = now();

	while (now() - begin < 2000000)
		(void)ring_set_drain(t->set);
}

/* The reader has looked at a record that is to come later; by then the target has given it up. */
static void a_head_that_goes_back_behind_a_record(void **state)
{
	const struct event_record *e;
	struct ring_thread *thread;
	struct target_record r;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	thread = target_find(&t, target_pointer(0));
	let_learn(&t);
	assert_true(target_reserve(&t, thread, 200, &r));
	target_fill(&r, 1, 7, 200);
	r.record->time += 1 << 30;
	target_commit(&r);
	(void)ring_set_drain(t.set);
	assert_null(ring_set_next(t.set, now()));
	assert_true(ring_set_has_more(t.set));
	/* What is behind it is complete, and makes no sense. */
	*(struct ring_record *)((uint8_t *)r.record + r.record->size) = (struct ring_record){
		.commit = ring_commit(r.at + r.record->size),
	};
	thread->head = r.at + 8;
	(void)ring_set_drain(t.set);
	while ((e = ring_set_next(t.set, UINT64_MAX)))
		assert_true(target_is_intact(e));
	assert_int_equal(ring_set_take_lost(t.set), 1);
	/* It is a ring like others from there on. */
	assert_true(target_write(&t, target_pointer(0), 1, 8, 16));
	(void)ring_set_drain(t.set);
	target_take(&t, 8);
	target_take_nothing(&t);
	target_close(&t);
}

/* Always one record in writing, and those that are complete are of long ago. */
static void one_who_always_writes_does_not_hold_up_others(void **state)
{
	const struct event_record *e = NULL;
	struct target_record r = { 0 };
	struct ring_thread *thread;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	target_add(&t, getpid() + 1000000, target_pointer(1));
	thread = target_find(&t, target_pointer(0));
	assert_true(target_write(&t, target_pointer(1), 2, 1, 16));
	while (!e || e->probe != 2) {
		struct target_record before = r;

		assert_true(target_reserve(&t, thread, 16, &r));
		target_fill(&r, 1, 0, 16);
		r.record->time = 0;
		if (before.record)
			target_commit(&before);
		(void)ring_set_drain(t.set);
		do
			e = ring_set_next(t.set, now());
		while (e && e->probe != 2);
	}
	target_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_that_goes_back_behind_a_record),
		cmocka_unit_test(one_who_always_writes_does_not_hold_up_others),
	};

	alarm(LONG_ENOUGH);
	return cmocka_run_group_tests_name("ring_hostile", tests, NULL, NULL);
}
