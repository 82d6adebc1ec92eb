/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rings that threads of the target claim by themselves, while ubp gives out others, and with nonsense in it. */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/event/ring.h"
#include "tests/unit/ring_target.h"

#define SMALL RING_BYTES_MIN
#define TID   1000000 /* and what follows: of nobody */

static void offer(struct ring_target *t, uint32_t n)
{
	ring_space_offer(t->space, &(struct ring_offer){ .pid = getpid(), .n = n });
}

static void open_with(struct ring_target *t, uint32_t n_mapped, uint32_t n_offered)
{
	target_open(t, SMALL);
	ring_space_set_mapped(t->space, ring_region_part(t->set, t->ring_bytes, n_mapped));
	offer(t, n_offered);
}

static struct ring_thread *claim(struct ring_target *t, uint64_t i)
{
	return target_claim(t, target_pointer(i), TID + (uint32_t)i);
}

static void take_from(struct ring_target *t, uint64_t serial, pid_t tid)
{
	const struct event_record *e = target_next(t);

	assert_non_null(e);
	assert_true(target_is_intact(e));
	assert_int_equal(e->ip, serial);
	assert_int_equal(e->tid, tid);
	assert_int_equal(e->pid, getpid());
}

static void who_claims_is_known_at_the_next_look(void **state)
{
	const struct event_record *e;
	struct ring_target t;

	(void)state;
	open_with(&t, 4, 4);
	prctl(PR_SET_NAME, "claimant");
	assert_false(ring_space_has(t.space, gettid()));
	assert_non_null(target_claim(&t, target_pointer(1), (uint32_t)gettid()));
	assert_true(target_write(&t, target_pointer(1), 1, 7, 16));
	(void)ring_set_drain(t.set);
	e = target_next(&t);
	assert_non_null(e);
	assert_int_equal(e->ip, 7);
	assert_int_equal(e->tid, gettid());
	assert_string_equal(e->comm, "claimant");
	assert_true(ring_space_has(t.space, gettid()));
	/* By the tracing thread, too, which knows nothing of what was delivered. */
	assert_non_null(claim(&t, 2));
	assert_true(ring_space_has(t.space, TID + 2));
	target_add(&t, TID + 2, target_pointer(2));
	assert_true(target_write(&t, target_pointer(2), 1, 8, 16));
	(void)ring_set_drain(t.set);
	take_from(&t, 8, TID + 2);
	target_close(&t);
}

/* Where ids are those of another namespace; ours does as well. */
static void who_claims_below_is_found_or_nobody(void **state)
{
	const struct ring_offer below = { .pid = getpid(), .is_below = true, .n = 4 };
	struct ring_head *head;
	struct ring_target t;

	(void)state;
	open_with(&t, 4, 0);
	head = target_head(&t);
	assert_int_equal(head->claims_wait, 0);
	ring_space_offer(t.space, &below);
	assert_int_equal(head->claims_wait, 1);
	assert_false(ring_space_look_for_claims(t.space));
	assert_non_null(target_claim(&t, target_pointer(1), (uint32_t)gettid()));
	/* It was waited for in vain. */
	head->claims_wait = 0;
	assert_int_equal(target_claim_at(&t, 0)->known, 0);
	assert_true(ring_space_look_for_claims(t.space));
	assert_int_equal(target_claim_at(&t, 0)->known, 1);
	assert_int_equal(head->claims_wait, 1);
	assert_true(ring_space_has(t.space, gettid()));
	assert_true(target_write(&t, target_pointer(1), 1, 7, 16));
	/* Its lines are counted, and the ring is for others. */
	assert_non_null(claim(&t, 2));
	assert_true(target_write(&t, target_pointer(2), 1, 8, 16));
	assert_true(target_write(&t, target_pointer(2), 1, 9, 16));
	(void)ring_set_drain(t.set);
	assert_int_equal(target_claim_at(&t, 1)->known, 2);
	assert_null(target_find(&t, target_pointer(2)));
	take_from(&t, 7, gettid());
	target_take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 2);
	(void)ring_set_drain(t.set);
	for (uint64_t i = 3; i <= 5; i++)
		assert_non_null(claim(&t, i));
	target_close(&t);
}

static void nothing_is_claimed_before_it_is_offered(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	assert_null(claim(&t, 1));
	offer(&t, 1);
	assert_non_null(claim(&t, 1));
	assert_null(claim(&t, 2));
	assert_ptr_equal(claim(&t, 1), target_find(&t, target_pointer(1)));
	/* A look makes more. */
	(void)ring_set_drain(t.set);
	assert_non_null(claim(&t, 2));
	(void)ring_set_drain(t.set);
	ring_space_end_offers(t.space);
	assert_null(claim(&t, 3));
	(void)ring_set_drain(t.set);
	assert_null(claim(&t, 3));
	target_close(&t);
}

static void offers_are_taken_back_for_who_is_added(void **state)
{
	struct ring_target t;

	(void)state;
	open_with(&t, 3, 3);
	target_add(&t, TID + 1, target_pointer(1));
	target_add(&t, TID + 2, target_pointer(2));
	assert_false(ring_space_wants_more(t.space));
	assert_non_null(claim(&t, 3));
	assert_null(claim(&t, 4));
	assert_int_equal(ring_space_add(t.space, getpid(), TID + 5, target_pointer(5), false),
			 -ENOSPC);
	assert_true(ring_space_wants_more(t.space));
	for (uint64_t i = 1; i <= 3; i++)
		assert_true(target_write(&t, target_pointer(i), 1, i, 8));
	(void)ring_set_drain(t.set);
	for (uint64_t i = 1; i <= 3; i++)
		take_from(&t, i, TID + (pid_t)i);
	target_take_nothing(&t);
	target_close(&t);
}

/* Many more threads than rings, one after the other: each ring is used again, and so are places in the table. */
static void rings_are_claimed_again(void **state)
{
	struct ring_target t;
	unsigned n_taken = 0;

	(void)state;
	open_with(&t, 4, 4);
	for (uint64_t i = 1; i < 3 * RING_THREADS; i++) {
		struct ring_thread *thread = claim(&t, i);

		assert_non_null(thread);
		assert_true(target_write(&t, target_pointer(i), 1, i, 8));
		if (i % 2)
			(void)ring_set_drain(t.set);
		else
			ring_space_look_for_claims(t.space);
		ring_space_drop(t.space, TID + (pid_t)i);
		assert_int_equal(thread->key, RING_KEY_GONE);
		(void)ring_set_drain(t.set);
		take_from(&t, i, TID + (pid_t)i);
		(void)ring_set_drain(t.set);
	}
	for (uint64_t i = 0; i < RING_THREADS; i++)
		n_taken += target_table(&t)[i].key & 1;
	assert_int_equal(n_taken, 0);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

/* A handler that interrupts a claim at any step finds that it is being made. */
static void a_thread_makes_one_claim_at_a_time(void **state)
{
	struct ring_thread *thread;
	struct ring_target t;
	uint64_t number;

	(void)state;
	open_with(&t, 4, 4);
	thread = target_take_place(&t, target_pointer(1), TID + 1);
	assert_non_null(thread);
	assert_null(claim(&t, 1));
	number = target_take_offer(&t);
	assert_int_equal(number, 0);
	assert_null(claim(&t, 1));
	(void)ring_set_drain(t.set);
	assert_false(ring_space_has(t.space, TID + 1));
	target_fill_claim(&t, thread, number, TID + 1);
	assert_ptr_equal(claim(&t, 1), thread);
	assert_true(ring_space_has(t.space, TID + 1));
	target_close(&t);
}

/* The stack of a thread that has ended unseen is another's now, and so is its thread pointer. */
static void who_has_a_dead_threads_pointer_gets_another_ring(void **state)
{
	struct ring_thread *first, *second;
	struct ring_target t;

	(void)state;
	open_with(&t, 4, 4);
	first = target_claim(&t, target_pointer(1), TID + 1);
	assert_true(target_write(&t, target_pointer(1), 1, 1, 8));
	second = target_claim(&t, target_pointer(1), TID + 2);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	assert_int_equal(first->key, RING_KEY_GONE);
	assert_ptr_equal(target_find(&t, target_pointer(1)), second);
	assert_true(target_write(&t, target_pointer(1), 1, 2, 8));
	(void)ring_set_drain(t.set);
	take_from(&t, 1, TID + 1);
	take_from(&t, 2, TID + 2);
	(void)ring_set_drain(t.set);
	assert_false(ring_space_has(t.space, TID + 1));
	assert_true(ring_space_has(t.space, TID + 2));
	/* Nor does a ring stay with who has it where the tracer says whose the pointer is. */
	target_add(&t, TID + 3, target_pointer(1));
	assert_int_equal(second->key, RING_KEY_GONE);
	assert_int_equal(target_find(&t, target_pointer(1))->tid, TID + 3);
	target_close(&t);
}

/* --- those who have ended --------------------------------------------------------------- */

/* A child that waits for an end of the pipe to be closed. */
static pid_t start_child(int *ret_fd)
{
	int fds[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) != 0);
	}
	close(fds[0]);
	*ret_fd = fds[1];
	return child;
}

static void rings_of_those_who_have_ended_are_offered_where_nobody_tells(void **state)
{
	struct ring_target t;
	uint64_t begin;
	int fd;
	pid_t child = start_child(&fd);

	(void)state;
	assert_true(child > 0);
	open_with(&t, 2, 0);
	ring_space_offer(t.space, &(struct ring_offer){ .pid = child, .looks = true, .n = 2 });
	assert_non_null(target_claim(&t, target_pointer(1), (uint32_t)child));
	assert_non_null(claim(&t, 2)); /* of nobody: it has ended */
	assert_true(target_write(&t, target_pointer(2), 1, 5, 8));
	assert_null(claim(&t, 3));
	(void)ring_set_drain(t.set);
	assert_int_equal(target_next(&t)->ip, 5);
	begin = event_clock_now(CLOCK_KIND_MONO);
	do
		(void)ring_set_drain(t.set);
	while (!claim(&t, 3) && event_clock_now(CLOCK_KIND_MONO) - begin < 60000000000);
	assert_non_null(target_find(&t, target_pointer(3)));
	assert_null(target_find(&t, target_pointer(2)));
	assert_non_null(target_find(&t, target_pointer(1)));
	close(fd);
	assert_int_equal(waitpid(child, NULL, 0), child);
	target_close(&t);
}

/* Another thread with its pointer may come to have its id in there, and is another one here. */
static void who_has_ended_below_is_forgotten_with_rings_to_spare(void **state)
{
	struct ring_target t;
	uint64_t begin;
	int fd;
	pid_t child = start_child(&fd);

	(void)state;
	assert_true(child > 0);
	target_open(&t, SMALL);
	ring_space_offer(t.space, &(struct ring_offer){
					  .pid = child, .looks = true, .is_below = true, .n = 2 });
	assert_non_null(target_claim(&t, target_pointer(1), (uint32_t)child));
	(void)ring_set_drain(t.set);
	assert_true(ring_space_has(t.space, child));
	close(fd);
	assert_int_equal(waitpid(child, NULL, 0), child);
	begin = event_clock_now(CLOCK_KIND_MONO);
	do
		(void)ring_space_look_for_claims(t.space);
	while (ring_space_has(t.space, child) &&
	       event_clock_now(CLOCK_KIND_MONO) - begin < 60000000000);
	assert_false(ring_space_has(t.space, child));
	assert_null(target_find(&t, target_pointer(1)));
	target_close(&t);
}

/* --- nonsense ----------------------------------------------------------------------------- */

static void write_claim(struct ring_target *t, struct ring_claim claim)
{
	uint64_t offer = target_take_offer(t);
	struct ring_claim *there = target_claim_at(t, offer);

	assert_true(offer != UINT64_MAX);
	there->key = claim.key;
	there->tid = claim.tid;
	there->slot = claim.slot;
	__atomic_store_n(&there->done, (uint32_t)(offer + 1), __ATOMIC_RELEASE);
	(void)ring_set_drain(t->set);
	target_take_nothing(t);
}

static void claims_without_sense_are_not_believed(void **state)
{
	const uint64_t key = ring_key(target_pointer(9));
	struct ring_target t;
	uint32_t slot;

	(void)state;
	open_with(&t, 4, 4);
	target_add(&t, TID + 1, target_pointer(1));
	slot = (uint32_t)(target_find(&t, target_pointer(1)) - target_table(&t));
	write_claim(&t, (struct ring_claim){ .key = key, .tid = 5, .slot = slot });
	write_claim(&t, (struct ring_claim){ .key = key, .tid = 5, .slot = RING_THREADS });
	write_claim(&t, (struct ring_claim){ .key = key, .tid = 5, .slot = UINT32_MAX });
	write_claim(&t, (struct ring_claim){ .key = key, .tid = 0, .slot = 9 });
	write_claim(&t, (struct ring_claim){ .key = key, .tid = 1u << 31, .slot = 9 });
	write_claim(&t, (struct ring_claim){ .key = key + 1, .tid = 5, .slot = 9 });
	write_claim(&t, (struct ring_claim){ .key = 0, .tid = 5, .slot = 9 });
	assert_false(ring_space_has(t.space, 5));
	/* All that is theirs is there again for others. */
	for (uint64_t i = 2; i <= 4; i++)
		assert_non_null(claim(&t, i));
	assert_true(target_write(&t, target_pointer(1), 1, 1, 8));
	assert_true(target_write(&t, target_pointer(4), 1, 4, 8));
	(void)ring_set_drain(t.set);
	take_from(&t, 1, TID + 1);
	take_from(&t, 4, TID + 4);
	target_close(&t);
}

static void numbers_without_sense_end_the_offers(void **state)
{
	static const uint64_t numbers[] = { 5, UINT64_MAX, 1ull << 63, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct ring_target t;

		open_with(&t, 4, 4);
		assert_non_null(claim(&t, 1));
		(void)ring_set_drain(t.set);
		target_head(&t)->claims_next = numbers[i];
		for (int k = 0; k < 10; k++)
			(void)ring_set_drain(t.set);
		(void)ring_space_add(t.space, getpid(), TID + 2, target_pointer(2), false);
		assert_true(target_write(&t, target_pointer(1), 1, 1, 8));
		(void)ring_set_drain(t.set);
		take_from(&t, 1, TID + 1);
		ring_space_end_offers(t.space);
		target_close(&t);
	}
}

/* It was killed in the middle of it, or left it by a longjmp() from a handler. */
static void one_that_is_never_made_keeps_nobody_from_others(void **state)
{
	struct ring_target t;

	(void)state;
	open_with(&t, 4, 4);
	assert_non_null(target_take_place(&t, target_pointer(1), TID + 1));
	assert_int_equal(target_take_offer(&t), 0);
	for (uint64_t i = 2; i < 3 * RING_CLAIMS; i++) {
		assert_non_null(claim(&t, i));
		(void)ring_set_drain(t.set);
		ring_space_drop(t.space, TID + (pid_t)i);
		(void)ring_set_drain(t.set);
	}
	/* The tracer gives it one. */
	target_add(&t, TID + 1, target_pointer(1));
	assert_true(target_write(&t, target_pointer(1), 1, 1, 8));
	(void)ring_set_drain(t.set);
	take_from(&t, 1, TID + 1);
	target_close(&t);
}

/* --- all at once --------------------------------------------------------------------------- */

#define CLAIMANTS 4
#define LIVES     3000

static struct ring_target shared;
static atomic_int n_running, n_written;

/* One thread after the other, as the target has them. */
static void *claimant(void *arg)
{
	uint64_t lane = (uintptr_t)arg;

	for (uint64_t life = 0; life < LIVES; life++) {
		uint64_t who = life * CLAIMANTS + lane;

		/* Its pointer was another one's. */
		while (!target_claim(&shared, target_pointer(lane + CLAIMANTS * (life % 3)),
				     TID + (uint32_t)who))
			sched_yield();
		for (int i = 0; i < 3; i++)
			n_written += target_write(&shared,
						  target_pointer(lane + CLAIMANTS * (life % 3)),
						  1, who, 16);
	}
	n_running--;
	return NULL;
}

static int take_all(void)
{
	const struct event_record *e;
	int n = 0;

	(void)ring_set_drain(shared.set);
	while ((e = target_next(&shared))) {
		assert_true(target_is_intact(e));
		assert_int_equal(e->tid, TID + (pid_t)e->ip);
		n++;
	}
	return n;
}

static void *add_and_drop(void *arg)
{
	for (int i = 0; n_running; i++) {
		pid_t tid = 100000 + i % 7;

		(void)ring_space_add(shared.space, getpid(), tid,
				     target_pointer(1000 + (uint64_t)(i % 7)), false);
		if (i % 5 == 0)
			ring_space_drop(shared.space, tid);
		(void)ring_space_has(shared.space, tid);
	}
	return arg;
}

static void claims_are_made_while_rings_are_given_out_and_read(void **state)
{
	pthread_t threads[CLAIMANTS], tracer;
	int n_read = 0;

	(void)state;
	open_with(&shared, 40, 40);
	n_running = CLAIMANTS;
	for (uintptr_t i = 0; i < CLAIMANTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, claimant, (void *)i), 0);
	assert_int_equal(pthread_create(&tracer, NULL, add_and_drop, NULL), 0);
	while (n_running)
		n_read += take_all();
	for (uintptr_t i = 0; i < CLAIMANTS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(pthread_join(tracer, NULL), 0);
	n_read += take_all();
	n_read += take_all();
	assert_int_equal(n_read, n_written);
	assert_int_equal(n_read, 3 * CLAIMANTS * LIVES);
	assert_int_equal(ring_set_take_lost(shared.set), 0);
	target_close(&shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_claims_is_known_at_the_next_look),
		cmocka_unit_test(who_claims_below_is_found_or_nobody),
		cmocka_unit_test(nothing_is_claimed_before_it_is_offered),
		cmocka_unit_test(offers_are_taken_back_for_who_is_added),
		cmocka_unit_test(rings_are_claimed_again),
		cmocka_unit_test(a_thread_makes_one_claim_at_a_time),
		cmocka_unit_test(who_has_a_dead_threads_pointer_gets_another_ring),
		cmocka_unit_test(rings_of_those_who_have_ended_are_offered_where_nobody_tells),
		cmocka_unit_test(who_has_ended_below_is_forgotten_with_rings_to_spare),
		cmocka_unit_test(claims_without_sense_are_not_believed),
		cmocka_unit_test(numbers_without_sense_end_the_offers),
		cmocka_unit_test(one_that_is_never_made_keeps_nobody_from_others),
		cmocka_unit_test(claims_are_made_while_rings_are_given_out_and_read),
	};

	return cmocka_run_group_tests_name("ring_claims", tests, NULL, NULL);
}
