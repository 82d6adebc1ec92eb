/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * $duration in detours: calls that began just now, long ago, or (by a processor whose clock
 * is behind) in the future; for the record, for filters, for the tracer.
 */

#include "tests/unit/host_lab.h"

#ifdef LAB_SITE

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/event/ring_record.h"
#include "engine/base/err.h"

#define FACTOR (5ull << (UBP_TICKS_SHIFT - 1)) /* 2.5 ns for a tick */

static struct run_regs before, after;
static struct run_end end;

static int start(void **state)
{
	(void)state;
	lab_reset();
	lab_fill(1);
	lab_random(7, &before);
	before.LAB_R1 = LAB_MEM;
	lab.plan.count_dropped = false;
	lab.plan.ns_factor = FACTOR;
	lab_function_start(&before, &after);
	return 0;
}

static struct guard_hijack *entry(void)
{
	return &lab.hijacks[UBP_HIJACK_INDEX(before.LAB_SP, RUN_WORD) % LAB_HIJACKS];
}

/* In the body: the ticks of the entry are looked at, and other ones put there. */
struct began {
	uint64_t noted, put;
	bool puts;
};

static void put_time(void *arg)
{
	struct began *began = arg;

	began->noted = entry()->time;
	if (began->puts)
		entry()->time = began->put;
	else
		began->put = began->noted;
}

static uint64_t ns_of(uint64_t ticks)
{
	return detour_ns(ticks, FACTOR);
}

/* One call. The entry must hold what it took. Returns the trap, or -1. */
static int go(struct began *began)
{
	uint64_t first = ubp_host_ticks(), last;
	int trap;

	lab_run_function(&before, put_time, began, &end);
	last = ubp_host_ticks();
	lab_assert_kept("duration", &after, NULL, &end);
	trap = lab_trap(&end);
	if (trap < 0)
		assert_true(lab_came_home(&end));
	assert_in_range(began->noted, first, last);
	assert_int_equal(entry()->word, before.LAB_SP);
	assert_int_equal(entry()->real, 0);
	assert_true(entry()->time <= ns_of(last - began->put) || began->put > last);
	assert_true(entry()->time >= ns_of(began->noted - began->put) ||
		    began->put > began->noted);
	lab.duration_ns = entry()->time;
	return trap;
}

/* The record at @at of probe @i; its end. */
static uint64_t expect_record(uint64_t at, unsigned i)
{
	return lab_expect_record(at, i, &after);
}

/* --- tests -------------------------------------------------------------------------------- */

static void is_in_records(void **state)
{
	static const char *const args[] = {
		"d=$duration:u64",
		"d=$duration:u64 w=$duration:u32 h=$duration:x16 b=$duration:s8",
		"d=$duration:b54@10/64 e=$duration:b3@5/8 s=+0(" R1 "):u64 w=$duration:x64",
		"d=$duration:u64 a=+0(" R1 "):u8[5]",
	};
	uint64_t head = lab.thread->head;

	(void)state;
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		struct began now = { 0 }, long_ago = { .puts = true }, boot = { .puts = true };

		lab_set_probe(0, true, args[i], NULL);
		lab_function_build(1);
		assert_int_equal(go(&now), -1);
		assert_true(lab.duration_ns > 0);
		head = expect_record(head, 0);
		long_ago.put = ubp_host_ticks() / 2;
		assert_int_equal(go(&long_ago), -1);
		assert_true(lab.duration_ns >= ns_of(long_ago.put) - 10);
		head = expect_record(head, 0);
		/* More than 64 bits on the way. */
		assert_int_equal(go(&boot), -1);
		assert_true(lab.duration_ns > 0);
		head = expect_record(head, 0);
	}
	assert_int_equal(lab.thread->head, head);
}

static void is_never_negative(void **state)
{
	struct began later = { .put = UINT64_MAX, .puts = true };
	uint64_t head = lab.thread->head;

	(void)state;
	lab_set_probe(0, true, "d=$duration:u64", NULL);
	lab_function_build(1);
	assert_int_equal(go(&later), -1);
	assert_int_equal(lab.duration_ns, 0);
	assert_int_equal(lab.thread->head, expect_record(head, 0));
}

/* Early filters, and late ones: those that look at the record. */
static void is_known_to_filters(void **state)
{
	static const struct {
		const char *args, *filter;
		bool passes, passes_later;
	} rows[] = {
		{ "d=$duration:u64", "d > 0", true, false },
		{ "d=$duration:u64", "d == 0", false, true },
		{ "d=$duration:u64", "d > 20000000000000000", false, false },
		{ "d=$duration:u64 c=+0(" R1 "):string", "d > 0 && c ~ \"*\"", true, false },
		{ "d=$duration:u64 c=+0(" R1 "):string", "c ~ \"*\" && d == 0", false, true },
		{ "d=$duration:b8@56/64", "d < 1", true, true },
	};

	(void)state;
	lab.plan.count_dropped = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct began now = { 0 }, later = { .put = UINT64_MAX, .puts = true };
		uint64_t head = lab.thread->head, dropped = lab.head->dropped[100];

		lab_set_probe(0, true, rows[i].args, rows[i].filter);
		lab_function_build(1);
		assert_int_equal(lab.detour.filters_done, 1);
		assert_int_equal(go(&now), -1);
		if (rows[i].passes)
			head = expect_record(head, 0);
		assert_int_equal(lab.thread->head, head);
		assert_int_equal(go(&later), -1);
		if (rows[i].passes_later)
			head = expect_record(head, 0);
		assert_int_equal(lab.thread->head, head);
		assert_int_equal(lab.head->dropped[100] - dropped,
				 !rows[i].passes + !rows[i].passes_later);
	}
}

/* Several probes have one and the same; those that do not ask have what they had. */
static void is_the_same_for_all(void **state)
{
	uint64_t head = lab.thread->head;
	struct began now = { 0 };

	(void)state;
	lab_set_probe(0, true, "v=$retval", NULL);
	lab_set_probe(1, true, "d=$duration:u64", NULL);
	lab_set_probe(2, true, "d=$duration:x64 v=$retval", NULL);
	lab_function_build(3);
	assert_int_equal(go(&now), -1);
	head = expect_record(expect_record(expect_record(head, 0), 1), 2);
	assert_int_equal(lab.thread->head, head);
	/* The third can't be recorded: the tracer finds it in the entry. */
	lab_set_probe(2, true, "d=$duration:x64 v=+0(" R2 "):u64", NULL);
	before.LAB_R2 = after.LAB_R2 = 8;
	lab_function_build(3);
	assert_int_equal(go(&now), LAB_ON_RETURN + 2);
	head = expect_record(expect_record(head, 0), 1);
	assert_int_equal(lab.thread->head, head);
}

static uint64_t first_at, first_ticks;

static void before_interruption(void *arg)
{
	(void)arg;
	first_at = lab.thread->head;
	lab.thread->limit = first_at + LAB_CAPACITY - RING_SLACK;
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	first_ticks = ubp_host_ticks();
}

/* In a signal handler: the same function, elsewhere on the stack. */
static void call_function(void *arg, uint64_t vaddr)
{
	(void)arg;
	(void)vaddr;
	lab_call_nested();
}

static void check_interruption(void *arg, const struct run_end *now, bool was_interrupted)
{
	uint64_t d, most = ns_of(ubp_host_ticks() - first_ticks);
	const struct ring_record *record;
	unsigned n_records = 0;

	(void)arg;
	assert_true(lab_came_home(now));
	for (uint64_t at = first_at; at < lab.thread->head; at += record->size) {
		record = lab_record_at(at);
		assert_non_null(record);
		if (record->probe == RING_VOID)
			continue;
		n_records++;
		memcpy(&d, ring_record_data(record), sizeof(d));
		assert_in_range(d, LAB_SHORTEST_NS, most);
	}
	assert_int_equal(n_records, 1 + was_interrupted);
}

/* A handler's call at each instruction: both durations are those of their own calls. */
static void is_of_its_own_call(void **state)
{
	const struct lab_interruptions what = { .regs = &before,
						.returns = true,
						.start = before_interruption,
						.each = call_function,
						.check = check_interruption };

	(void)state;
	lab_set_probe(0, true, "d=$duration:u64", NULL);
	lab_function_build(1);
	assert_true(lab_interrupt(&what) > 50);
}

static void is_refused_where_it_can_not_be(void **state)
{
	struct ubp_err err;

	(void)state;
	lab_set_probe(0, true, "d=$duration:u64", NULL);
	lab.plan.ns_factor = 0;
	ubp_err_reset(&err);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "the processor's rate is not known");
	lab.plan.ns_factor = FACTOR;
	lab.probes[0].kind = PROBE_ENTRY;
	ubp_err_reset(&err);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "$duration of what does not return");
}

/* --- all of it ------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(is_in_records, start),
		cmocka_unit_test_setup(is_never_negative, start),
		cmocka_unit_test_setup(is_known_to_filters, start),
		cmocka_unit_test_setup(is_the_same_for_all, start),
		cmocka_unit_test_setup(is_of_its_own_call, start),
		cmocka_unit_test_setup(is_refused_where_it_can_not_be, start),
	};

	return cmocka_run_group_tests_name("detour_time", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("there is no laboratory for this on this machine");
	return 77;
}
#endif
