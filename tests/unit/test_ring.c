/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings: a writer that follows the layout, as detours do, against the reader. Every
 * record carries a number and a pattern made from it.
 */

#include "engine/event/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "tests/unit/ring_target.h"

#define SMALL RING_BYTES_MIN
#define TP    0x7f0000001000ULL

/* Thread pointers as threads have them: pages apart. */
static uint64_t pointer(uint64_t i)
{
	return TP + i * 0x801000;
}

static void add(struct ring_target *t, pid_t tid, uint64_t thread_pointer)
{
	assert_int_equal(ring_space_add(t->space, getpid(), tid, thread_pointer, false), 0);
}

static const struct event_record *next(struct ring_target *t)
{
	return ring_set_next(t->set, UINT64_MAX);
}

static void take(struct ring_target *t, uint64_t serial)
{
	const struct event_record *r = next(t);

	assert_non_null(r);
	assert_true(target_is_intact(r));
	assert_int_equal(r->ip, serial);
}

static void take_nothing(struct ring_target *t)
{
	assert_null(next(t));
}

/* --- sets and spaces --------------------------------------------------------------- */

static void refuses_capacities_it_cannot_use(void **state)
{
	static const size_t bad[] = { 1, 4096, SMALL / 2, SMALL + 8, 100000, 1UL << 31 };
	struct ring_options options = { .ticks = ubp_host_ticks };
	struct ring_set *set = NULL;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		options.ring_bytes = bad[i];
		ubp_err_reset(&err);
		assert_int_equal(ring_set_new(&options, &set, &err), -EINVAL);
		assert_true(strlen(err.text) > 0);
	}
	assert_null(set);
	ring_set_free(NULL);
	options.ring_bytes = 1 << 30;
	assert_int_equal(ring_set_new(&options, &set, &err), 0);
	assert_false(ring_set_is_used(set));
	assert_true(ring_region_len(set) >= 1UL << 30);
	ring_set_free(set);
}

static void the_target_cannot_write_the_control_page(void **state)
{
	struct ring_target t;
	char byte = 0;

	(void)state;
	target_open(&t, SMALL);
	assert_int_equal(t.control->owner, gettid());
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t.control_fd, 0),
			 MAP_FAILED);
	assert_int_equal(mprotect((void *)t.control, 4096, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(pwrite(t.control_fd, &byte, 1, 0), -1);
	assert_int_equal(
		fallocate(t.control_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
		-1);
	target_close(&t);
}

static void the_target_cannot_take_memory_away(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	assert_int_equal(ftruncate(t.region_fd, 0), -1);
	assert_int_equal(ftruncate(t.region_fd, (off_t)(2 * t.region_len)), -1);
	assert_int_equal(ftruncate(t.control_fd, 0), -1);
	target_close(&t);
}

static int new_space(struct ring_set *set, int control_fd, int region_fd)
{
	struct ring_space *space = NULL;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = ring_space_new(set, control_fd, region_fd, 0x10000000, &space, &err);
	assert_true(rc < 0 && strlen(err.text) > 0);
	assert_null(space);
	return rc;
}

static void files_that_cannot_be_sealed_are_refused(void **state)
{
	int plain = memfd_create("plain", 0), good = memfd_create("good", MFD_ALLOW_SEALING);
	int null = open("/dev/null", O_RDWR), read_only = open("/proc/self/exe", O_RDONLY);
	struct ring_options options = { .ticks = ubp_host_ticks };
	struct ring_set *set;
	struct ubp_err err;

	(void)state;
	assert_true(plain >= 0 && good >= 0 && null >= 0 && read_only >= 0);
	assert_int_equal(ring_set_new(&options, &set, &err), 0);
	assert_int_equal(new_space(set, good, plain), -EPERM);
	assert_int_equal(new_space(set, plain, good), -EPERM);
	assert_int_equal(new_space(set, null, good), -EINVAL);
	assert_int_equal(new_space(set, read_only, good), -EINVAL);
	assert_int_equal(new_space(set, -1, good), -EINVAL);
	assert_int_equal(new_space(set, good, -1), -EINVAL);
	assert_false(ring_set_is_used(set));
	ring_set_free(set);
	close(plain);
	close(good);
	close(null);
	close(read_only);
}

static unsigned n_used;

static void count_used(void *ctx)
{
	assert_ptr_equal(ctx, &n_used);
	n_used++;
}

static void a_closed_space_is_read_to_its_end(void **state)
{
	struct ring_options options = {
		.ring_bytes = SMALL, .ticks = ubp_host_ticks, .used = count_used, .ctx = &n_used
	};
	struct ring_target a, b;
	struct ring_set *set;
	struct ubp_err err;

	(void)state;
	assert_int_equal(ring_set_new(&options, &set, &err), 0);
	ring_set_n_probes(set, TARGET_PROBES);
	target_open_in(&a, set);
	target_open_in(&b, set);
	assert_int_equal(n_used, 2);
	add(&a, gettid(), pointer(0));
	add(&b, gettid(), pointer(0));
	assert_true(target_write(&a, pointer(0), 1, 10, 8));
	assert_true(target_write(&b, pointer(0), 1, 11, 8));
	assert_true(target_write(&a, pointer(0), 1, 12, 8));
	target_head(&a)->dropped[7] = 5;
	target_head(&b)->dropped[7] = 6;
	ring_space_close(a.space);
	assert_int_equal(a.control->owner, RING_OWNER_DIED);
	assert_int_equal(b.control->owner, gettid());
	(void)ring_set_drain(set);
	take(&a, 10);
	take(&b, 11);
	take(&a, 12);
	take_nothing(&a);
	assert_int_equal(ring_set_dropped(set, 7), 11);
	(void)ring_set_drain(set);
	assert_true(ring_set_is_used(set));
	assert_int_equal(ring_set_dropped(set, 7), 11);
	ring_space_close(b.space);
	(void)ring_set_drain(set);
	assert_false(ring_set_is_used(set));
	assert_int_equal(ring_set_dropped(set, 7), 11);
	assert_int_equal(ring_set_take_lost(set), 0);
	target_unmap(&a);
	b.space = NULL;
	target_close(&b);
}

/* --- records -------------------------------------------------------------------------- */

static void a_record_says_where_and_when(void **state)
{
	uint64_t before = event_clock_now(CLOCK_KIND_MONO), after;
	const struct event_record *e;
	struct target_record r;
	struct ring_target t;
	char comm[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, comm), 0);
	target_open(&t, SMALL);
	add(&t, gettid(), pointer(3));
	assert_true(target_write(&t, pointer(3), 5, 0x1234, 100));
	assert_true(target_reserve(&t, target_find(&t, pointer(3)), 3, &r));
	target_fill(&r, 6, 0x5678, 3);
	r.record->ret = 0x9abc;
	r.record->cpu = 0xffff;
	target_commit(&r);
	after = event_clock_now(CLOCK_KIND_MONO);
	assert_true(ring_set_drain(t.set) <= 1);
	e = next(&t);
	assert_non_null(e);
	assert_true(target_is_intact(e));
	assert_int_equal(e->probe, 5);
	assert_int_equal(e->ip, 0x1234);
	assert_int_equal(e->pid, getpid());
	assert_int_equal(e->tid, gettid());
	assert_int_equal(e->data_len, 100);
	assert_int_equal(e->size % 8, 0);
	assert_true(e->size >= sizeof(*e) + 100);
	assert_int_equal(e->n_stack, 0);
	assert_string_equal(e->comm, comm);
	assert_true(e->time + 1000 > before && e->time < after + 1000);
	e = next(&t);
	assert_non_null(e);
	assert_int_equal(e->probe, 6);
	assert_int_equal(e->ip, 0x9abc);
	assert_int_equal(e->func, 0x5678);
	assert_int_equal(e->cpu, 0);
	take_nothing(&t);
	target_close(&t);
}

/* Random lengths, a ring that wraps often, and a reader that comes now and then. */
static void keeps_all_across_the_end(void **state)
{
	struct ring_target t;
	uint64_t wrote = 0, took = 0, seed = 1;

	(void)state;
	target_open(&t, SMALL);
	add(&t, gettid(), pointer(0));
	while (took < 100000) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		if (target_write(&t, pointer(0), 1, wrote, (seed >> 33) % (EVENT_DATA_MAX + 1)))
			wrote++;
		if ((seed >> 60) != 0)
			continue;
		(void)ring_set_drain(t.set);
		while (took < wrote)
			take(&t, took++);
		take_nothing(&t);
	}
	assert_int_equal(ring_set_take_lost(t.set), target_find(&t, pointer(0))->lost);
	target_close(&t);
}

static void a_full_ring_counts_and_goes_on(void **state)
{
	struct ring_target t;
	uint64_t n = 0, lost = 0;

	(void)state;
	target_open(&t, SMALL);
	add(&t, gettid(), pointer(0));
	for (int round = 0; round < 50; round++) {
		uint64_t first = n;

		while (target_write(&t, pointer(0), 1, n, (uint64_t)round * 80))
			n++;
		lost++;
		/* All that the layout promises, and nothing that was not read yet. */
		assert_true((n - first) * (sizeof(struct ring_record) + (size_t)round * 80) +
				    RING_RECORD_MAX >=
			    SMALL - RING_SLACK);
		assert_true(ring_set_drain(t.set) > 20);
		for (uint64_t i = first; i < n; i++)
			take(&t, i);
		take_nothing(&t);
	}
	assert_int_equal(ring_set_take_lost(t.set), lost);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

/* The limit moves while records are taken, not only at the end. */
static void room_comes_back_bit_by_bit(void **state)
{
	struct ring_target t;
	uint64_t n = 0;

	(void)state;
	target_open(&t, 1 << 20);
	add(&t, gettid(), pointer(0));
	while (target_write(&t, pointer(0), 1, n, 1000))
		n++;
	assert_true(ring_set_drain(t.set) > 90);
	for (uint64_t i = 0; i < n / 2; i++)
		take(&t, i);
	for (uint64_t i = 0; i < n / 4; i++)
		assert_true(target_write(&t, pointer(0), 1, n + i, 1000));
	(void)ring_set_drain(t.set);
	for (uint64_t i = n / 2; i < n + n / 4; i++)
		take(&t, i);
	take_nothing(&t);
	target_close(&t);
}

static void void_and_shortened_records_are_passed(void **state)
{
	struct target_record r, inner;
	struct ring_thread *thread;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	add(&t, gettid(), pointer(0));
	thread = target_find(&t, pointer(0));
	for (uint64_t i = 0; i < 1000; i += 4) {
		assert_true(target_reserve(&t, thread, 300, &r));
		target_fill(&r, 2, i, 300);
		assert_true(target_shorten(&r, 20));
		target_commit(&r);
		assert_true(target_reserve(&t, thread, 100, &r));
		target_fill(&r, RING_VOID, 0, 100);
		target_commit(&r);
		/* A handler's comes behind it: it can't be shortened any more. */
		assert_true(target_reserve(&t, thread, 100, &r));
		assert_true(target_write(&t, pointer(0), 3, i + 2, 40));
		target_fill(&r, 2, i + 1, 100);
		assert_false(target_shorten(&r, 20));
		target_commit(&r);
		/* It ends with its handler's outer one void. */
		assert_true(target_reserve(&t, thread, 2000, &r));
		assert_true(target_reserve(&t, thread, 50, &inner));
		target_fill(&inner, 3, i + 3, 50);
		target_commit(&inner);
		target_fill(&r, RING_VOID, 0, 2000);
		target_commit(&r);
		(void)ring_set_drain(t.set);
		for (uint64_t k = i; k < i + 4; k++)
			take(&t, k);
		take_nothing(&t);
	}
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

static void what_is_not_complete_is_waited_for(void **state)
{
	struct target_record r;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	add(&t, gettid(), pointer(0));
	assert_true(target_write(&t, pointer(0), 1, 0, 16));
	assert_true(target_reserve(&t, target_find(&t, pointer(0)), 16, &r));
	assert_true(target_write(&t, pointer(0), 1, 2, 16));
	(void)ring_set_drain(t.set);
	take(&t, 0);
	take_nothing(&t);
	(void)ring_set_drain(t.set);
	take_nothing(&t);
	target_fill(&r, 1, 1, 16);
	target_commit(&r);
	take_nothing(&t);
	(void)ring_set_drain(t.set);
	take(&t, 1);
	take(&t, 2);
	take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

/* A signal handler that jumps away leaves a record that nobody will complete. */
static void one_left_for_ever_does_not_block_a_full_ring(void **state)
{
	const struct event_record *e;
	struct target_record r;
	struct ring_target t;
	uint64_t n = 1;

	(void)state;
	target_open(&t, SMALL);
	add(&t, gettid(), pointer(0));
	assert_true(target_write(&t, pointer(0), 1, 0, 16));
	assert_true(target_reserve(&t, target_find(&t, pointer(0)), 16, &r));
	while (target_write(&t, pointer(0), 1, n, 16))
		n++;
	(void)ring_set_drain(t.set);
	take(&t, 0);
	take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 1); /* that found no room */
	do
		(void)ring_set_drain(t.set);
	while (!(e = next(&t)));
	assert_int_equal(e->ip, 1);
	for (uint64_t i = 2; i < n; i++)
		take(&t, i);
	take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 1);
	assert_true(target_write(&t, pointer(0), 1, n, 16));
	(void)ring_set_drain(t.set);
	take(&t, n);
	target_close(&t);
}

static void a_dropped_thread_loses_what_it_was_writing(void **state)
{
	struct target_record r;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	add(&t, 1000001, pointer(0));
	assert_true(target_write(&t, pointer(0), 1, 0, 16));
	assert_true(target_reserve(&t, target_find(&t, pointer(0)), 16, &r));
	target_fill(&r, 1, 99, 16);
	assert_true(target_write(&t, pointer(0), 1, 1, 16));
	ring_space_drop(t.space, 1000001);
	assert_null(target_find(&t, pointer(0)));
	assert_false(ring_space_has(t.space, 1000001));
	(void)ring_set_drain(t.set);
	take(&t, 0);
	take(&t, 1);
	take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 1);
	target_close(&t);
}

/* --- threads ------------------------------------------------------------------------------ */

static void records_of_threads_come_in_order_of_time(void **state)
{
	struct ring_target t;
	uint64_t last = 0;

	(void)state;
	target_open(&t, 8 * SMALL);
	for (int i = 0; i < 20; i++)
		add(&t, 1000000 + i, pointer((uint64_t)i));
	for (uint64_t i = 0; i < 3000; i++)
		assert_true(target_write(&t, pointer(i * i % 20), 1, i, 8));
	(void)ring_set_drain(t.set);
	for (uint64_t i = 0; i < 3000; i++) {
		const struct event_record *e = next(&t);

		assert_non_null(e);
		assert_int_equal(e->ip, i);
		assert_int_equal(e->tid, 1000000 + (int)(i * i % 20));
		assert_true(e->time >= last);
		last = e->time;
	}
	take_nothing(&t);
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
	add(&t, 1000001, pointer(1));
	add(&t, 1000002, pointer(2));
	assert_true(target_write(&t, pointer(1), 1, 0, 8));
	between = event_clock_now(CLOCK_KIND_MONO);
	while (event_clock_now(CLOCK_KIND_MONO) < between + 20000)
		;
	assert_true(target_write(&t, pointer(2), 1, 1, 8));
	(void)ring_set_drain(t.set);
	e = ring_set_next(t.set, between + 10000);
	assert_non_null(e);
	assert_int_equal(e->ip, 0);
	assert_null(ring_set_next(t.set, between + 10000));
	/* What is younger than a record in the making waits for it, unless it is the end. */
	assert_true(target_reserve(&t, target_find(&t, pointer(1)), 8, &r));
	assert_true(target_write(&t, pointer(2), 1, 3, 8));
	(void)ring_set_drain(t.set);
	assert_null(ring_set_next(t.set, UINT64_MAX - 1));
	target_fill(&r, 1, 2, 8);
	r.record->time -= 1;
	target_commit(&r);
	(void)ring_set_drain(t.set);
	take(&t, 1);
	take(&t, 3);
	take(&t, 2);
	take_nothing(&t);
	target_close(&t);
}

static void mute_threads_are_passed_over(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	add(&t, 1000001, pointer(1));
	assert_int_equal(ring_space_add(t.space, getpid(), 1000002, pointer(2), true), 0);
	for (uint64_t i = 0; i < 50; i += 2) {
		assert_true(target_write(&t, pointer(1), 1, i, 8));
		assert_true(target_write(&t, pointer(2), 1, i + 1, 8));
	}
	while (target_write(&t, pointer(2), 1, 1, 1000))
		;
	(void)ring_set_drain(t.set);
	for (uint64_t i = 0; i < 50; i += 2)
		take(&t, i);
	take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

static void a_thread_pointer_has_one_thread(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	add(&t, 1000001, pointer(1));
	add(&t, 1000001, pointer(1));
	assert_true(target_write(&t, pointer(1), 1, 0, 8));
	add(&t, 1000002, pointer(1));
	assert_false(ring_space_has(t.space, 1000001));
	assert_true(ring_space_has(t.space, 1000002));
	assert_true(target_write(&t, pointer(1), 1, 1, 8));
	add(&t, 1000002, pointer(2));
	assert_null(target_find(&t, pointer(1)));
	assert_true(target_write(&t, pointer(2), 1, 2, 8));
	(void)ring_set_drain(t.set);
	for (uint64_t i = 0; i < 3; i++)
		take(&t, i);
	take_nothing(&t);
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
		add(&t, (pid_t)(1000000 + i), pointer(i % 3000));
		if (i == 0)
			ring = target_find(&t, pointer(0))->ring;
		assert_int_equal(target_find(&t, pointer(i % 3000))->ring, ring);
		for (uint64_t k = 0; k < i % 5; k++)
			assert_true(target_write(&t, pointer(i % 3000), 1, serial++, 100 * k));
		ring_space_drop(t.space, (pid_t)(1000000 + i));
		assert_null(target_find(&t, pointer(i % 3000)));
		(void)ring_set_drain(t.set);
		while (expected < serial)
			take(&t, expected++);
		take_nothing(&t);
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
			has[who] = ring_space_add(t.space, 1, tid, pointer(who), false) == 0;
			n_refused += !has[who];
		} else if ((i >> 20) % 8 == 0) {
			ring_space_drop(t.space, tid);
			has[who] = false;
		} else {
			n_wrote += target_write(&t, pointer(who), 1, who, 32);
		}
		assert_int_equal(ring_space_has(t.space, tid), has[who]);
		assert_int_equal(target_find(&t, pointer(who)) != NULL, has[who]);
		if (step % 5000 == 0)
			for (who = 0; who < MANY; who++)
				assert_int_equal(target_find(&t, pointer(who)) != NULL,
						 has[who]);
		if (step % 1000)
			continue;
		(void)ring_set_drain(t.set);
		for (const struct event_record *e; (e = next(&t)); n_took++)
			assert_int_equal(e->tid, 1000000 + (int)e->ip);
	}
	assert_true(n_refused > 0);
	(void)ring_set_drain(t.set);
	while (next(&t))
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
	add(&t, gettid(), pointer(0));
	assert_memory_equal(t.region + RING_COMM_AT +
				    (size_t)(target_find(&t, pointer(0)) - target_table(&t)) *
					    16,
			    old, strlen(old) + 1);
	assert_int_equal(prctl(PR_SET_NAME, "another name"), 0);
	assert_true(target_write(&t, pointer(0), 1, 0, 0));
	(void)ring_set_drain(t.set);
	e = next(&t);
	assert_non_null(e);
	assert_string_equal(e->comm, "another name");
	assert_string_equal((char *)t.region + RING_COMM_AT +
				    (size_t)(target_find(&t, pointer(0)) - target_table(&t)) *
					    16,
			    "another name");
	assert_int_equal(prctl(PR_SET_NAME, old), 0);
	target_close(&t);
}

static void ranges_replace_ranges(void **state)
{
	uint64_t ranges[RING_RANGES];
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	for (uint64_t i = 0; i < RING_RANGES; i++)
		ranges[i] = RING_RANGE(RING_RANGES - i, 1 + i);
	ring_space_set_ranges(t.space, ranges, RING_RANGES);
	assert_int_equal(target_head(&t)->n_ranges, RING_RANGES);
	assert_memory_equal(target_head(&t)->ranges, ranges, sizeof(ranges));
	target_head(&t)->cells[0] = ranges[1];
	target_head(&t)->cells[RING_CELLS - 1] = ranges[2];
	ring_space_set_ranges(t.space, ranges, 2);
	assert_int_equal(target_head(&t)->n_ranges, 2);
	assert_int_equal(target_head(&t)->ranges[2], 0);
	assert_int_equal(target_head(&t)->cells[0], ranges[1]);
	assert_int_equal(target_head(&t)->cells[RING_CELLS - 1], 0);
	target_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_capacities_it_cannot_use),
		cmocka_unit_test(the_target_cannot_write_the_control_page),
		cmocka_unit_test(the_target_cannot_take_memory_away),
		cmocka_unit_test(files_that_cannot_be_sealed_are_refused),
		cmocka_unit_test(a_closed_space_is_read_to_its_end),
		cmocka_unit_test(a_record_says_where_and_when),
		cmocka_unit_test(keeps_all_across_the_end),
		cmocka_unit_test(a_full_ring_counts_and_goes_on),
		cmocka_unit_test(room_comes_back_bit_by_bit),
		cmocka_unit_test(void_and_shortened_records_are_passed),
		cmocka_unit_test(what_is_not_complete_is_waited_for),
		cmocka_unit_test(one_left_for_ever_does_not_block_a_full_ring),
		cmocka_unit_test(a_dropped_thread_loses_what_it_was_writing),
		cmocka_unit_test(records_of_threads_come_in_order_of_time),
		cmocka_unit_test(no_more_than_asked_for_is_handed_out),
		cmocka_unit_test(mute_threads_are_passed_over),
		cmocka_unit_test(a_thread_pointer_has_one_thread),
		cmocka_unit_test(rings_are_used_again_after_they_were_read),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(a_new_name_is_seen),
		cmocka_unit_test(ranges_replace_ranges),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
