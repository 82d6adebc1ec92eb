/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * $duration in detours: calls that began just now, long ago, or (by a processor whose clock
 * is behind) in the future; for the record, for filters, for the tracer.
 */

#ifdef __x86_64__

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "arch/x86/x86.h"
#include "engine/base/err.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/x86_lab.h"

#define BODY        RUN_CODE
#define HOME        (RUN_BASE + 0x100)                   /* an exit, that is returned to */
#define RETURN_CODE (RUN_BLOCK + RUN_BLOCK_SIZE - 0x400) /* the common one */

#define ENTRIES 256
#define FACTOR  (5ull << (UBP_TICKS_SHIFT - 1)) /* 2.5 ns for a tick */

static struct lab lab;
static struct guard_hijack table[ENTRIES];
static struct run_regs before, after;
static struct run_end end;
static struct fetch_program *programs[UBP_DETOUR_PROBES];
static struct filter *filters[UBP_DETOUR_PROBES];

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("x86_64");
}

static void set_probe(unsigned i, bool is_return, const char *args, const char *filter)
{
	struct probe_make make;
	struct ubp_err err;

	free(programs[i]);
	filter_free(filters[i]);
	filters[i] = NULL;
	ubp_err_reset(&err);
	probe_make(&make, is_return, args);
	assert_int_equal(fetch_compile(&make.probe, &programs[i], &err), 0);
	if (filter)
		assert_int_equal(filter_parse(filter, &make.probe, &filters[i], &err), 0);
	lab.probes[i] = (struct detour_probe){ .number = 100 + i,
					       .is_return = is_return,
					       .program = programs[i],
					       .filter = filters[i],
					       .cell = 50 * i };
}

static void build(unsigned n)
{
	uint8_t jump[16];
	struct ubp_err err;

	ubp_err_reset(&err);
	if (lab_build(&lab, n, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(arch()->build_jump(&lab.window, LAB_SITE,
					    RUN_BLOCK + lab.detour.entry_at, jump, &err),
			 0);
	run_write(LAB_SITE, jump, lab.window.jump_len);
}

static int start(void **state)
{
	uint8_t code[UBP_RETURN_CODE_MAX];
	uint64_t home = HOME;
	struct ubp_err err;
	size_t len = 0;

	(void)state;
	lab_reset(&lab);
	lab_fill(1);
	memset(table, 0, sizeof(table));
	run_random(7, &before);
	before.gpr[SI] = LAB_MEM;
	lab.plan.count_dropped = false;
	lab.plan.hijacks = (uint64_t)table;
	lab.plan.hijacks_mask = ENTRIES - 1;
	lab.plan.return_vaddr = RETURN_CODE;
	lab.plan.ns_factor = FACTOR;
	lab.real = HOME;
	ubp_err_reset(&err);
	assert_int_equal(arch()->build_return_code((uint64_t)table, ENTRIES - 1, code,
						   sizeof(code), &len, &err),
			 0);
	run_write(RETURN_CODE, code, len);
	run_plant_exit(HOME, 0);
	run_write(BODY, "\xc3", 1);
	run_write(before.gpr[SP], &home, sizeof(home));
	after = before;
	after.gpr[SP] += 8;
	return 0;
}

static struct guard_hijack *entry(void)
{
	return &table[(before.gpr[SP] >> 3) % ENTRIES];
}

/* In the body: the ticks of the entry are looked at, and other ones put there. */
struct began {
	uint64_t noted, put;
	bool puts;
};

static void put_time(struct ubp_regs *regs, void *arg)
{
	struct began *began = arg;

	if (regs->r[X86_IP] != BODY)
		return;
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

	lab_run(&lab, &before, 7, put_time, began, &end);
	last = ubp_host_ticks();
	lab_assert_kept(&lab, "duration", &after, NULL, &end);
	trap = lab_trap(&lab, &end);
	if (trap < 0)
		assert_int_equal(end.exit, 0);
	assert_in_range(began->noted, first, last);
	assert_int_equal(entry()->word, before.gpr[SP]);
	assert_int_equal(entry()->real, 0);
	assert_true(entry()->time <= ns_of(last - began->put) || began->put > last);
	assert_true(entry()->time >= ns_of(began->noted - began->put) ||
		    began->put > began->noted);
	lab.duration_ns = entry()->time;
	return trap;
}

static uint64_t expect_record(uint64_t at, unsigned i)
{
	const struct ring_record *record = lab_record_at(&lab, at);

	assert_int_equal(lab_interpret(&lab, &lab.probes[i], &after), LAB_RECORD);
	lab_assert_record(&lab, "record", record);
	assert_int_equal(record->probe, lab.probes[i].number);
	return at + record->size;
}

/* --- tests -------------------------------------------------------------------------------- */

static void is_in_records(void **state)
{
	static const char *const args[] = {
		"d=$duration:u64",
		"d=$duration:u64 w=$duration:u32 h=$duration:x16 b=$duration:s8",
		"d=$duration:b54@10/64 e=$duration:b3@5/8 s=+0(%si):u64 w=$duration:x64",
		"c=$comm d=$duration:u64 a=+0(%si):u8[5]",
	};
	uint64_t head = lab.thread->head;

	(void)state;
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		struct began now = { 0 }, hour = { .puts = true }, boot = { .puts = true };

		set_probe(0, true, args[i], NULL);
		build(1);
		assert_int_equal(go(&now), -1);
		assert_true(lab.duration_ns > 0);
		head = expect_record(head, 0);
		hour.put = ubp_host_ticks() - 3600ull * 3000000000;
		assert_int_equal(go(&hour), -1);
		assert_true(lab.duration_ns >= 3600ull * 7500000000);
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
	set_probe(0, true, "d=$duration:u64", NULL);
	build(1);
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
		{ "d=$duration:u64 c=$comm", "d > 0 && c ~ \"*\"", true, false },
		{ "d=$duration:u64 c=$comm", "c ~ \"*\" && d == 0", false, true },
		{ "d=$duration:b8@56/64", "d < 1", true, true },
	};

	(void)state;
	lab.plan.count_dropped = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct began now = { 0 }, later = { .put = UINT64_MAX, .puts = true };
		uint64_t head = lab.thread->head, dropped = lab.head->dropped[100];

		set_probe(0, true, rows[i].args, rows[i].filter);
		build(1);
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
	set_probe(0, true, "v=$retval", NULL);
	set_probe(1, true, "d=$duration:u64", NULL);
	set_probe(2, true, "d=$duration:x64 v=$retval", NULL);
	build(3);
	assert_int_equal(go(&now), -1);
	head = expect_record(expect_record(expect_record(head, 0), 1), 2);
	assert_int_equal(lab.thread->head, head);
	/* The third can't be recorded: the tracer finds it in the entry. */
	set_probe(2, true, "d=$duration:x64 v=+0(%cx):u64", NULL);
	before.gpr[CX] = after.gpr[CX] = 8;
	build(3);
	assert_int_equal(go(&now), LAB_ON_RETURN + 2);
	head = expect_record(expect_record(head, 0), 1);
	assert_int_equal(lab.thread->head, head);
}

struct interruption {
	unsigned at, step;
	bool done;
};

/* In the handler of the single step: the same function, elsewhere on the stack. */
static void interrupt(struct ubp_regs *regs, void *arg)
{
	struct interruption *in = arg;

	(void)regs;
	if (in->step++ != in->at)
		return;
	in->done = true;
	((void (*)(void))LAB_SITE)();
}

/* A handler's call at each instruction: both durations are those of their own calls. */
static void is_of_its_own_call(void **state)
{
	unsigned n = 0;

	(void)state;
	set_probe(0, true, "d=$duration:u64", NULL);
	build(1);
	for (bool more = true; more; n++) {
		struct interruption in = { .at = n };
		uint64_t home = HOME, at = lab.thread->head, d[2], most;
		const struct ring_record *record;
		unsigned n_records = 0;

		run_write(before.gpr[SP], &home, sizeof(home));
		lab.thread->limit = at + LAB_CAPACITY - RING_SLACK;
		memset(table, 0, sizeof(table));
		most = ubp_host_ticks();
		lab_run(&lab, &before, 7, interrupt, &in, &end);
		most = ns_of(ubp_host_ticks() - most);
		assert_int_equal(end.exit, 0);
		for (; at < lab.thread->head; at += record->size) {
			record = lab_record_at(&lab, at);
			assert_non_null(record);
			if (record->probe == RING_VOID)
				continue;
			assert_true(n_records < 2);
			memcpy(&d[n_records], record->data, sizeof(d[0]));
			assert_in_range(d[n_records++], 1, most);
		}
		assert_int_equal(n_records, 1 + in.done);
		more = in.done;
	}
	assert_true(n > 50);
}

static void is_refused_where_it_can_not_be(void **state)
{
	struct ubp_err err;

	(void)state;
	set_probe(0, true, "d=$duration:u64", NULL);
	lab.plan.ns_factor = 0;
	ubp_err_reset(&err);
	assert_int_equal(lab_build(&lab, 1, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "the processor's rate is not known");
	lab.plan.ns_factor = FACTOR;
	lab.probes[0].is_return = false;
	ubp_err_reset(&err);
	assert_int_equal(lab_build(&lab, 1, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "$duration of what does not return");
}

/* --- all of it ------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	run_init(state);
	lab_make(&lab);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UBP_DETOUR_PROBES; i++) {
		free(programs[i]);
		filter_free(filters[i]);
	}
	lab_free(&lab);
	return 0;
}

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

	return cmocka_run_group_tests_name("x86_detour_time", tests, set_up, tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
