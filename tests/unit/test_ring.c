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
#include "engine/sink/value.h"
#include "tests/unit/ring_target.h"

#define SMALL RING_BYTES_MIN

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
	assert_true(ring_region_len(set, 1 << 30, UINT64_MAX) >= 1UL << 30);
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
	struct ring_region region = { 0x10000000, ring_region_len(set, SMALL, UINT64_MAX),
				      SMALL };
	struct ring_space *space = NULL;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = ring_space_new(set, control_fd, region_fd, &region, &space, &err);
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
	target_add(&a, gettid(), target_pointer(0));
	target_add(&b, gettid(), target_pointer(0));
	assert_true(target_write(&a, target_pointer(0), 1, 10, 8));
	assert_true(target_write(&b, target_pointer(0), 1, 11, 8));
	assert_true(target_write(&a, target_pointer(0), 1, 12, 8));
	target_head(&a)->dropped[7] = 5;
	target_head(&b)->dropped[7] = 6;
	ring_space_close(a.space);
	assert_int_equal(a.control->owner, RING_OWNER_DIED);
	assert_int_equal(b.control->owner, gettid());
	(void)ring_set_drain(set);
	target_take(&a, 10);
	target_take(&b, 11);
	target_take(&a, 12);
	target_take_nothing(&a);
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

static void switches_are_everywhere(void **state)
{
	struct ring_options options = { .ring_bytes = SMALL, .ticks = ubp_host_ticks };
	const size_t last = (RING_SWITCHES - 1) / 8;
	struct ring_target a, b;
	struct ring_set *set;
	struct ubp_err err;

	(void)state;
	assert_int_equal(ring_set_new(&options, &set, &err), 0);
	target_open_in(&a, set);
	ring_set_switch(set, 10, false);
	ring_set_switch(set, 15, false);
	ring_set_switch(set, RING_SWITCHES - 1, false);
	assert_int_equal(target_head(&a)->off[1], 0x84);
	assert_int_equal(target_head(&a)->off[last], 0x80);
	/* There are no detours that would look. */
	ring_set_switch(set, RING_SWITCHES, false);
	ring_set_switch(set, UINT32_MAX, false);
	/* One that comes later begins as the others are, whatever stands in them. */
	target_head(&a)->off[1] = 0xff;
	target_open_in(&b, set);
	assert_int_equal(target_head(&b)->off[0], 0);
	assert_int_equal(target_head(&b)->off[1], 0x84);
	assert_int_equal(target_head(&b)->off[last], 0x80);
	ring_set_switch(set, 10, true);
	assert_int_equal(target_head(&a)->off[1], 0x80);
	assert_int_equal(target_head(&b)->off[1], 0x80);
	target_unmap(&a);
	a.space = NULL;
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
	target_add(&t, gettid(), target_pointer(3));
	assert_true(target_write(&t, target_pointer(3), 5, 0x1234, 100));
	assert_true(target_reserve(&t, target_find(&t, target_pointer(3)), 3, &r));
	target_fill(&r, 6, 0x5678, 3);
	r.record->ret = 0x9abc;
	r.record->cpu = 0xffff;
	target_commit(&r);
	after = event_clock_now(CLOCK_KIND_MONO);
	assert_true(ring_set_drain(t.set) <= 1);
	e = target_next(&t);
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
	e = target_next(&t);
	assert_non_null(e);
	assert_int_equal(e->probe, 6);
	assert_int_equal(e->ip, 0x9abc);
	assert_int_equal(e->func, 0x5678);
	assert_int_equal(e->cpu, 0);
	target_take_nothing(&t);
	target_close(&t);
}

/* Random lengths, a ring that wraps often, and a reader that comes now and then. */
static void keeps_all_across_the_end(void **state)
{
	struct ring_target t;
	uint64_t wrote = 0, took = 0, seed = 1;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	while (took < 100000) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		if (target_write(&t, target_pointer(0), 1, wrote,
				 (seed >> 33) % (EVENT_DATA_MAX + 1)))
			wrote++;
		if ((seed >> 60) != 0)
			continue;
		(void)ring_set_drain(t.set);
		while (took < wrote)
			target_take(&t, took++);
		target_take_nothing(&t);
	}
	assert_int_equal(ring_set_take_lost(t.set), target_find(&t, target_pointer(0))->lost);
	target_close(&t);
}

static void a_full_ring_counts_and_goes_on(void **state)
{
	struct ring_target t;
	uint64_t n = 0, lost = 0;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	for (int round = 0; round < 50; round++) {
		uint64_t first = n;

		while (target_write(&t, target_pointer(0), 1, n, (uint64_t)round * 80))
			n++;
		lost++;
		/* All that the layout promises, and nothing that was not read yet. */
		assert_true((n - first) * (sizeof(struct ring_record) + (size_t)round * 80) +
				    RING_RECORD_MAX >=
			    SMALL - RING_SLACK);
		assert_true(ring_set_drain(t.set) > 20);
		for (uint64_t i = first; i < n; i++)
			target_take(&t, i);
		target_take_nothing(&t);
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
	target_add(&t, gettid(), target_pointer(0));
	while (target_write(&t, target_pointer(0), 1, n, 1000))
		n++;
	assert_true(ring_set_drain(t.set) > 90);
	for (uint64_t i = 0; i < n / 2; i++)
		target_take(&t, i);
	for (uint64_t i = 0; i < n / 4; i++)
		assert_true(target_write(&t, target_pointer(0), 1, n + i, 1000));
	(void)ring_set_drain(t.set);
	for (uint64_t i = n / 2; i < n + n / 4; i++)
		target_take(&t, i);
	target_take_nothing(&t);
	target_close(&t);
}

/* A record with @n entries behind its data, that says it has @says. */
static void write_stack(struct ring_target *t, uint64_t serial, size_t data_len, uint64_t n,
			uint64_t says)
{
	size_t at = (data_len + 7) / 8 * 8;
	struct target_record r;

	assert_true(target_reserve(t, target_find(t, target_pointer(0)), at + 8 + 8 * n, &r));
	target_fill(&r, 1, serial, data_len);
	r.record->data_len |= RING_STACK;
	memcpy((uint8_t *)(r.record + 1) + at, &says, sizeof(says));
	for (uint64_t i = 0; i < n; i++)
		memcpy((uint8_t *)(r.record + 1) + at + 8 + 8 * i, &(uint64_t){ serial * 1000 + i }, 8);
	target_commit(&r);
}

static void stacks_come_with_their_records(void **state)
{
	static const size_t lens[] = { 0, 1, 8, 13, EVENT_DATA_MAX };
	struct ring_target t;
	uint64_t serial = 0;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	ring_space_set_maps(t.space, 7);
	for (size_t i = 0; i < 5; i++)
		for (uint64_t n = 0; n <= RING_STACK_MAX; n += 127, serial++) {
			const struct event_record *e;

			write_stack(&t, serial, lens[i], n, n);
			(void)ring_set_drain(t.set);
			e = target_next(&t);
			assert_non_null(e);
			assert_true(target_is_intact(e));
			assert_int_equal(e->data_len, lens[i]);
			assert_int_equal(e->n_stack, n);
			assert_int_equal(e->maps, 7);
			for (uint64_t k = 0; k < n; k++)
				assert_int_equal(sink_stack_entry(e, k), serial * 1000 + k);
		}
	assert_int_equal(ring_set_take_lost(t.set), 0);
	target_close(&t);
}

static void stacks_that_are_none_are_lost(void **state)
{
	static const uint64_t says[] = { 4, 128, 1ull << 61, UINT64_MAX };
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	for (size_t i = 0; i < 4; i++) {
		write_stack(&t, 1, 8, 3, says[i]);
		assert_true(target_write(&t, target_pointer(0), 1, 2, 8));
		(void)ring_set_drain(t.set);
		target_take(&t, 2);
		assert_int_equal(ring_set_take_lost(t.set), 1);
	}
	target_close(&t);
}

static void void_and_shortened_records_are_passed(void **state)
{
	struct target_record r, inner;
	struct ring_thread *thread;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, gettid(), target_pointer(0));
	thread = target_find(&t, target_pointer(0));
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
		assert_true(target_write(&t, target_pointer(0), 3, i + 2, 40));
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
			target_take(&t, k);
		target_take_nothing(&t);
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
	target_add(&t, gettid(), target_pointer(0));
	assert_true(target_write(&t, target_pointer(0), 1, 0, 16));
	assert_true(target_reserve(&t, target_find(&t, target_pointer(0)), 16, &r));
	assert_true(target_write(&t, target_pointer(0), 1, 2, 16));
	(void)ring_set_drain(t.set);
	target_take(&t, 0);
	target_take_nothing(&t);
	(void)ring_set_drain(t.set);
	target_take_nothing(&t);
	target_fill(&r, 1, 1, 16);
	target_commit(&r);
	target_take_nothing(&t);
	(void)ring_set_drain(t.set);
	target_take(&t, 1);
	target_take(&t, 2);
	target_take_nothing(&t);
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
	target_add(&t, gettid(), target_pointer(0));
	assert_true(target_write(&t, target_pointer(0), 1, 0, 16));
	assert_true(target_reserve(&t, target_find(&t, target_pointer(0)), 16, &r));
	while (target_write(&t, target_pointer(0), 1, n, 16))
		n++;
	(void)ring_set_drain(t.set);
	target_take(&t, 0);
	target_take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 1); /* that found no room */
	do
		(void)ring_set_drain(t.set);
	while (!(e = target_next(&t)));
	assert_int_equal(e->ip, 1);
	for (uint64_t i = 2; i < n; i++)
		target_take(&t, i);
	target_take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 1);
	assert_true(target_write(&t, target_pointer(0), 1, n, 16));
	(void)ring_set_drain(t.set);
	target_take(&t, n);
	target_close(&t);
}

static void a_dropped_thread_loses_what_it_was_writing(void **state)
{
	struct target_record r;
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	target_add(&t, 1000001, target_pointer(0));
	assert_true(target_write(&t, target_pointer(0), 1, 0, 16));
	assert_true(target_reserve(&t, target_find(&t, target_pointer(0)), 16, &r));
	target_fill(&r, 1, 99, 16);
	assert_true(target_write(&t, target_pointer(0), 1, 1, 16));
	ring_space_drop(t.space, 1000001);
	assert_null(target_find(&t, target_pointer(0)));
	assert_false(ring_space_has(t.space, 1000001));
	(void)ring_set_drain(t.set);
	target_take(&t, 0);
	target_take(&t, 1);
	target_take_nothing(&t);
	assert_int_equal(ring_set_take_lost(t.set), 1);
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
	ring_set_use_cells(t.set, RING_CELLS);
	target_head(&t)->cells[0] = ranges[1];
	target_head(&t)->cells[RING_CELLS - 1] = ranges[2];
	ring_space_set_ranges(t.space, ranges, 2);
	assert_int_equal(target_head(&t)->n_ranges, 2);
	assert_int_equal(target_head(&t)->ranges[2], 0);
	assert_int_equal(target_head(&t)->cells[0], ranges[1]);
	assert_int_equal(target_head(&t)->cells[RING_CELLS - 1], 0);
	target_close(&t);
}

/* By the shorter way; 0: there is none. */
static uint64_t quick_of(const struct ring_target *t, uint64_t thread_pointer, uint32_t self)
{
	const struct ring_quick *quick =
		(const struct ring_quick *)(t->region + RING_QUICK_AT +
					    ring_quick_place(thread_pointer));

	return quick->thread_pointer == thread_pointer && quick->self == self ? quick->ring : 0;
}

/* How far from @thread_pointer is another one with its place? */
static uint64_t far_from(uint64_t thread_pointer)
{
	uint64_t more = 64;

	while (ring_quick_place(thread_pointer + more) != ring_quick_place(thread_pointer))
		more += 64;
	return more;
}

static void the_shorter_way_is_there_as_long_as_the_ring_is(void **state)
{
	const uint64_t one = 0x7f0000001740, two = 0x7f0000802740, far = far_from(one);
	struct ring_target t;

	(void)state;
	target_open(&t, 65536);
	/* Who has no thread pointer finds nothing. */
	assert_true(((const struct ring_quick *)(t.region + RING_QUICK_AT))->thread_pointer != 0);
	assert_int_equal(ring_quick_place(0), 0);
	assert_int_equal(ring_space_add(t.space, 1, 1000001, one, false), 0);
	assert_int_equal(ring_space_add(t.space, 1, 1000002, two, false), 0);
	assert_int_equal(quick_of(&t, one, 1000001), target_find(&t, one)->ring);
	assert_int_equal(quick_of(&t, two, 1000002), target_find(&t, two)->ring);
	/* Its id is another one to itself. */
	ring_space_set_self(t.space, 1000001, 7);
	assert_int_equal(quick_of(&t, one, 1000001), 0);
	assert_int_equal(quick_of(&t, one, 7), target_find(&t, one)->ring);
	/* Another thread has that place: it is left alone, and does without. */
	assert_int_equal(ring_space_add(t.space, 1, 1000003, one + far, false), 0);
	ring_space_set_self(t.space, 1000003, 7);
	assert_int_equal(quick_of(&t, one + far, 7), 0);
	assert_int_equal(quick_of(&t, one, 7), target_find(&t, one)->ring);
	ring_space_drop(t.space, 1000003);
	assert_int_equal(quick_of(&t, one, 7), target_find(&t, one)->ring);
	ring_space_drop(t.space, 1000001);
	assert_int_equal(quick_of(&t, one, 7), 0);
	/* The next one with the thread pointer. */
	assert_int_equal(ring_space_add(t.space, 1, 1000004, one, false), 0);
	assert_int_equal(quick_of(&t, one, 1000004), target_find(&t, one)->ring);
	ring_space_drop_others(t.space, 1000005, one);
	assert_int_equal(quick_of(&t, one, 1000004), 0);
	target_close(&t);
}

static void rings_are_given_out_where_they_are_mapped(void **state)
{
	struct ring_target t;

	(void)state;
	target_open(&t, SMALL);
	ring_space_set_mapped(t.space, ring_region_part(t.set, SMALL, 2));
	assert_int_equal(ring_space_add(t.space, 1, 1000001, 0x1000, false), 0);
	assert_int_equal(ring_space_add(t.space, 1, 1000002, 0x2000, false), 0);
	assert_false(ring_space_wants_more(t.space));
	assert_int_equal(ring_space_add(t.space, 1, 1000003, 0x3000, false), -ENOSPC);
	assert_true(ring_space_wants_more(t.space));
	ring_space_set_mapped(t.space, ring_region_part(t.set, SMALL, 3));
	assert_false(ring_space_wants_more(t.space));
	assert_int_equal(ring_space_add(t.space, 1, 1000003, 0x3000, false), 0);
	/* Not one, or less than none, and more than there are. */
	assert_int_equal(ring_space_add(t.space, 1, 1000004, 0x4000, false), -ENOSPC);
	ring_space_set_mapped(t.space, RING_RINGS_AT);
	assert_int_equal(ring_space_add(t.space, 1, 1000004, 0x4000, false), -ENOSPC);
	ring_space_set_mapped(t.space, 2 * t.region_len);
	assert_int_equal(ring_space_add(t.space, 1, 1000004, 0x4000, false), 0);
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
		cmocka_unit_test(switches_are_everywhere),
		cmocka_unit_test(a_record_says_where_and_when),
		cmocka_unit_test(keeps_all_across_the_end),
		cmocka_unit_test(a_full_ring_counts_and_goes_on),
		cmocka_unit_test(room_comes_back_bit_by_bit),
		cmocka_unit_test(stacks_come_with_their_records),
		cmocka_unit_test(stacks_that_are_none_are_lost),
		cmocka_unit_test(void_and_shortened_records_are_passed),
		cmocka_unit_test(what_is_not_complete_is_waited_for),
		cmocka_unit_test(one_left_for_ever_does_not_block_a_full_ring),
		cmocka_unit_test(a_dropped_thread_loses_what_it_was_writing),
		cmocka_unit_test(ranges_replace_ranges),
		cmocka_unit_test(the_shorter_way_is_there_as_long_as_the_ring_is),
		cmocka_unit_test(rings_are_given_out_where_they_are_mapped),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
