/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * All ways through a detour: the gate's values, threads and rings it knows and does not
 * know, several probes, faults where memory was said to be, and a signal handler that
 * comes through the same detour, at each of its instructions.
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

#include "engine/base/err.h"

#define PATH       "a=" R0 ":s64 s=+0(" R1 "):string"
#define TEXT       (LAB_MEM + 0x100)
#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct run_regs before;
static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];

/* --- probes ------------------------------------------------------------------------ */

static int start(void **state)
{
	(void)state;
	lab_reset();
	lab_fill(1);
	strcpy((char *)TEXT, LAB_OUTER_TEXT);
	lab_random(7, &before);
	before.LAB_R0 = LAB_OUTER;
	before.LAB_R1 = TEXT;
	lab.gate = (uint64_t *)LAB_GATE;
	*lab.gate = (uint64_t)lab.head;
	lab.plan.lossless = false;
	lab.plan.count_dropped = false;
	lab_set_probe(0, false, PATH, NULL);
	return 0;
}

/* Run; all must be as before. Returns the number of the trap, or -1. */
static int go(const char *what)
{
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	lab_assert_kept(what, &before, stack, &end);
	return lab_trap(&end);
}

/* The record at @at of probe @i; its end. */
static uint64_t expect_record(uint64_t at, unsigned i)
{
	return lab_expect_record(at, i, &before);
}

/* --- is anybody there? -------------------------------------------------------------- */

static void asks_the_gate(void **state)
{
	static struct run_end off;
	uint64_t head = lab.thread->head;

	(void)state;
	for (int far = 0; far < 2; far++) {
		if (far)
			lab.gate = memset((void *)(LAB_HIGH + 0x1f00), 0,
					  sizeof(struct guard_gate));
		lab_build_set(1);
		*lab.gate = RING_GATE_OFF;
		assert_int_equal(go("off"), -1);
		lab_expect_nothing(head);
		off = end;
		*lab.gate = RING_GATE_TRAP;
		assert_int_equal(go("trap"), 0);
		lab_expect_nothing(head);
		*lab.gate = (uint64_t)lab.head;
		lab.control->owner |= RING_OWNER_DIED;
		assert_int_equal(go("died"), -1);
		lab_expect_nothing(head);
		lab.control->owner = LAB_TID;
		assert_int_equal(go("on"), -1);
		head = expect_record(head, 0);
		lab_expect_nothing(head);
		/* The same vectors as without a record. */
		assert_memory_equal(off.LAB_VECTORS, end.LAB_VECTORS, sizeof(end.LAB_VECTORS));
	}
}

/* Nobody traces it: what would take a trap is counted, and goes on. What needs none is recorded. */
static void takes_no_trap_alone(void **state)
{
	struct guard_gate *gate = (struct guard_gate *)lab.gate;
	uint64_t head = lab.thread->head;

	(void)state;
	if (!lab.arch->detour.alone)
		skip();
	lab_set_probe(1, false, "a=" R0 ":s64", NULL);
	lab_build_set(2);
	lab.head->missed = 0;
	gate->alone = 1;
	assert_int_equal(go("alone"), -1);
	head = expect_record(head, 0);
	head = expect_record(head, 1);
	lab.thread->key = RING_KEY_GONE;
	assert_int_equal(go("alone, not known"), -1);
	lab_expect_nothing(head);
	assert_int_equal(lab.head->missed, 1);
	*lab.gate = RING_GATE_TRAP;
	assert_int_equal(go("alone, no rings"), -1);
	assert_int_equal(lab.head->missed, 1);
	*lab.gate = (uint64_t)lab.head;
	gate->alone = 0;
	assert_int_equal(go("not known"), 0);
	lab_expect_nothing(head);
	lab.thread->key = lab.key;
}

/* Where threads are told their processor, and where they are not. */
static void needs_a_processor(uint64_t head)
{
	uint32_t *cpu = (uint32_t *)lab.cpu_vaddr, was;

	if (!cpu)
		return;
	was = *cpu;
	lab.thread->cpu_vaddr = 0;
	assert_int_equal(go("no processor"), 0);
	lab_expect_nothing(head);
	lab.thread->cpu_vaddr = lab.cpu_vaddr;
	*cpu = UINT32_MAX;
	assert_int_equal(go("no processor any more"), 0);
	lab_expect_nothing(head);
	*cpu = was;
}

static void knows_threads(void **state)
{
	uint64_t head = lab.thread->head, at = (uint64_t)(lab.thread - lab.table);

	(void)state;
	lab_build_set(1);
	lab.thread->key = RING_KEY_GONE;
	assert_int_equal(go("gone"), 0);
	lab.thread->key = RING_KEY_NONE;
	assert_int_equal(go("never seen"), 0);
	lab_expect_nothing(head);
	lab.thread->key = lab.key;
	needs_a_processor(head);
	/* The whole table but for one is full of others: found behind its end. */
	for (size_t i = 0; i < RING_THREADS; i++)
		lab.table[i].key = RING_KEY_GONE;
	lab.table[(at - 10) % RING_THREADS] = *lab.thread;
	lab.thread = &lab.table[(at - 10) % RING_THREADS];
	lab.thread->key = lab.key;
	assert_int_equal(go("far"), -1);
	expect_record(head, 0);
}

static void counts_what_has_no_room(void **state)
{
	uint64_t head = lab.thread->head;
	uint32_t max;

	(void)state;
	lab_build_set(1);
	lab.thread->limit = head + 1;
	assert_int_equal(go("full"), -1);
	lab_expect_nothing(head);
	assert_int_equal(lab.thread->lost, 1);
	lab.plan.lossless = true;
	lab_build_set(1);
	assert_int_equal(go("full, lossless"), 0);
	lab_expect_nothing(head);
	assert_int_equal(lab.thread->lost, 1);
	lab_set_probe(0, false, "a=" R0 ":s64", NULL);
	lab_build_set(1);
	max = (uint32_t)sizeof(struct ring_record) + 8;
	lab.thread->limit = head + max;
	assert_int_equal(go("just room"), -1);
	assert_int_equal(expect_record(head, 0), head + max);
}

/* As far as the ring goes: the record runs on into the slack, the next starts inside. */
static void wraps_around(void **state)
{
	uint64_t head = 5ull * LAB_CAPACITY - 48;

	(void)state;
	lab_build_set(1);
	lab.thread->head = head;
	lab.thread->limit = head + 40000;
	assert_int_equal(go("first"), -1);
	assert_int_equal(go("second"), -1);
	head = expect_record(head, 0);
	assert_true(head > 5ull * LAB_CAPACITY);
	lab_expect_nothing(expect_record(head, 0));
}

/* --- filters and several probes -------------------------------------------------------- */

static void counts_what_filters_drop(void **state)
{
	static const char *const drops[] = { "a == 78", "a == 78 && s == \"x\"", "s == \"x\"",
					     "a == 0x123456789ab" };
	uint64_t head = lab.thread->head;

	(void)state;
	lab.plan.count_dropped = true;
	for (unsigned i = 0; i < N_ELEMS(drops); i++) {
		lab_set_probe(0, false, PATH, drops[i]);
		lab_build_set(1);
		assert_int_equal(go(drops[i]), -1);
		lab_expect_nothing(head);
		assert_int_equal(lab.head->dropped[100], i + 1);
	}
	lab_set_probe(0, false, PATH, "a == 77 && s ~ \"fif*\"");
	lab_build_set(1);
	assert_int_equal(go("pass"), -1);
	lab_expect_nothing(expect_record(head, 0));
	assert_int_equal(lab.head->dropped[100], N_ELEMS(drops));
}

/* Names are known to the tracer alone; what needs no name is decided before. */
static void stops_for_names(void **state)
{
	static const struct {
		const char *args, *filter;
		int trap;
	} rows[] = {
		{ "a=" R0 ":s64 c=$comm", NULL, 0 },
		{ "a=" R0 ":s64", "comm == \"lab rat\"", 0 },
		{ "a=" R0 ":s64", "comm == \"another\"", 0 },
		{ "a=" R0 ":s64", "comm == \"lab rat\" && a == 77", 0 },
		{ "a=" R0 ":s64", "comm == \"lab rat\" && a == 78", -1 },
		{ "a=" R0 ":s64", "a == 78 && comm ~ \"*\"", -1 },
		{ "a=" R0 ":s64", "a == 78 || comm ~ \"*\"", 0 },
		{ "a=" R0 ":s64", "!(comm ~ \"lab*\" || a == 77)", -1 },
		{ "a=" R0 ":s64 c=$comm", "a > 77", -1 },
		{ "a=" R0 ":s64 c=$comm", "c == \"lab rat\" && a > 77", -1 },
	};
	uint64_t head = lab.thread->head;

	(void)state;
	lab.plan.count_dropped = true;
	for (unsigned i = 0; i < N_ELEMS(rows); i++) {
		uint64_t dropped = lab.head->dropped[100];

		lab_set_probe(0, false, rows[i].args, rows[i].filter);
		lab_build_set(1);
		assert_int_equal(go(rows[i].args), rows[i].trap);
		lab_expect_nothing(head);
		assert_int_equal(lab.head->dropped[100] - dropped, -rows[i].trap);
		assert_int_equal(lab.detour.filters_done, 0);
	}
	/* Those before it are recorded, it and those behind it are the tracer's. */
	lab_set_probe(0, false, PATH, NULL);
	lab_set_probe(1, false, "c=$comm", NULL);
	lab_set_probe(2, false, "d=" R2, NULL);
	lab_build_set(3);
	assert_int_equal(go("the second"), 1);
	lab_expect_nothing(expect_record(head, 0));
}

static void records_several_probes(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_set_probe(1, false, "b=" R1 " c=+0(" R1 "):u8[9]", "b == 1");
	lab_set_probe(2, false, "d=" R2 " e=" R3 "", NULL);
	lab_set_probe(3, false, "f=" R4 " g=+0(" R3 "):u64 h=" V0 ":f64 i=" R0 "+" R2 "*8-5",
		      NULL);
	before.LAB_R3 = TEXT;
	lab_build_set(4);
	assert_int_equal(go("all but one"), -1);
	lab_expect_nothing(expect_record(expect_record(expect_record(head, 0), 2), 3));
	/* The last can't be recorded: its trap, the others are there. */
	head = lab.thread->head;
	before.LAB_R3 = LAB_MEM + LAB_MEM_SIZE - 7;
	assert_int_equal(go("not the last"), 3);
	lab_expect_nothing(expect_record(expect_record(head, 0), 2));
	head = lab.thread->head;
	before.LAB_R1 = 8;
	assert_int_equal(go("not the first"), 0);
	lab_expect_nothing(head);
}

static void refuses_what_it_cannot(void **state)
{
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	lab_set_probe(0, false, "a=%" FLAGS, NULL);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, FLAGS));
	lab_set_probe(0, false, "a=" R0 "+%" FLAGS "*2", NULL);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, FLAGS));
	assert_int_equal(lab_build(0, &err), -EOPNOTSUPP);
}

/* --- faults ------------------------------------------------------------------------------ */

/* Do what the tracer does at a fault: go on at the fixup. */
static void fix_up(const char *what)
{
	const struct detour_load *loads = lab.detour.loads;
	struct run_regs regs = end.regs;

	if (!lab_faulted(&end))
		fail_msg("%s: signal %d", what, end.signo);
	for (size_t i = 0; i < lab.detour.n_loads; i++) {
		assert_true(i == 0 || loads[i - 1].at < loads[i].at);
		if (LAB_BLOCK + loads[i].at != lab_pc(&end))
			continue;
		lab_run_at(LAB_BLOCK + loads[i].fixup, &regs, &end);
		return;
	}
	fail_msg("%s: no load at + 0x%llx", what,
		 (unsigned long long)(lab_pc(&end) - LAB_BLOCK));
}

static void survives_lost_memory(void **state)
{
	static const char *const args[] = {
		"a=+0(" R1 "):u64",
		"a=+0(" R1 "):string",
		"a=" R0 " b=+0(+0(" R1 ")):u8",
		"a=+0(" R1 "):u8[64]",
		"a=+0(" R1 "):string[3]",
		"a=$stack b=+8(" R1 "):b3@2/16[5]",
		"a=+0(+0(" R3 ")):string",
		"a=+0(" R1 "):u32[3]",
		"a=+0(+16(" R3 ")):string[2]",
	};
	uint64_t hole = LAB_MEM + LAB_MEM_SIZE, head = lab.thread->head;

	(void)state;
	lab_range(hole, 0x1000);
	before.LAB_R1 = hole + 0x200;
	before.LAB_R3 = TEXT;
	memcpy((void *)TEXT, &before.LAB_R1, 8);
	memcpy((void *)(TEXT + 16), &before.LAB_R1, 8);
	for (unsigned i = 0; i < 2 * N_ELEMS(args); i++) {
		const char *what = args[i / 2];

		/* Once with a filter that looks at it before anything is reserved. */
		lab_set_probe(0, false, what, i % 2 && strstr(what, "u64") ? "a == 1" : NULL);
		lab_build_set(1);
		memcpy(stack, (void *)RUN_STACK, sizeof(stack));
		lab_run(&before, &end);
		fix_up(what);
		lab_assert_kept(what, &before, stack, &end);
		assert_int_equal(lab_trap(&end), 0);
		lab_expect_nothing(head);
	}
}

static void needs_a_stack(void **state)
{
	(void)state;
	lab_build_set(1);
	before.LAB_SP = LAB_HIGH + 208;
	lab_run(&before, &end);
	fix_up("no stack");
	lab_assert_kept("no stack", &before, NULL, &end);
	assert_int_equal(lab_trap(&end), 0);
	/* No rings, though the gate says so. */
	start(NULL);
	lab_build_set(1);
	*lab.gate = LAB_END + RING_CONTROL_LEN;
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	fix_up("no rings");
	lab_assert_kept("no rings", &before, stack, &end);
	assert_int_equal(lab_trap(&end), 0);
}

/* --- interrupted ---------------------------------------------------------------------------- */

static struct {
	const char *args;
	bool has_filter;
	int trap;
	uint64_t head;
	struct run_regs after;
} interrupted;

static void before_interruption(void *arg)
{
	(void)arg;
	lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
	interrupted.head = lab.thread->head;
}

/* In a signal handler: a function that is probed is called. */
static void call_function(void *arg, uint64_t vaddr)
{
	(void)arg;
	(void)vaddr;
	lab_call_nested();
}

static void check_interruption(void *arg, const struct run_end *now, bool was_interrupted)
{
	bool passes = interrupted.trap < 0;
	unsigned outer, nested;

	(void)arg;
	lab_assert_kept(interrupted.args, passes ? &interrupted.after : &before, NULL, now);
	assert_int_equal(lab_trap(now), interrupted.trap);
	assert_int_equal(lab_came_home(now), passes);
	lab_count_calls(interrupted.head, &outer, &nested);
	assert_int_equal(outer, passes && !interrupted.has_filter);
	assert_int_equal(nested, was_interrupted);
}

static void interrupt_everywhere(const char *args, const char *filter, int trap)
{
	const struct lab_interruptions what = { .regs = &before,
						.start = before_interruption,
						.each = call_function,
						.check = check_interruption };
	unsigned n;

	interrupted.args = args;
	interrupted.has_filter = filter;
	interrupted.trap = trap;
	lab_function_start(&before, &interrupted.after);
	lab_set_probe(0, false, args, filter);
	lab_function_build(1);
	/* The handler's text is not in RUN's memory. */
	lab_range((uint64_t)lab.nested_text & ~0xfffull, 0x1000);
	n = lab_interrupt(&what);
	print_message("%s: interrupted at %u instructions\n", args, n);
	assert_true(n > 60);
	assert_int_equal(lab.thread->lost, 0);
}

static void is_interrupted_anywhere(void **state)
{
	(void)state;
	interrupt_everywhere(PATH, NULL, -1);
	start(NULL);
	interrupt_everywhere(PATH, "s == \"handler\"", -1);
	start(NULL);
	/* The outer one's last arg can't be read: all it has done is undone. */
	before.LAB_R1 = LAB_END - 16;
	strcpy((char *)before.LAB_R1, LAB_OUTER_TEXT);
	interrupt_everywhere(PATH " c=+16(" R1 "):u8", NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(asks_the_gate, start),
		cmocka_unit_test_setup(takes_no_trap_alone, start),
		cmocka_unit_test_setup(knows_threads, start),
		cmocka_unit_test_setup(counts_what_has_no_room, start),
		cmocka_unit_test_setup(wraps_around, start),
		cmocka_unit_test_setup(counts_what_filters_drop, start),
		cmocka_unit_test_setup(stops_for_names, start),
		cmocka_unit_test_setup(records_several_probes, start),
		cmocka_unit_test_setup(refuses_what_it_cannot, start),
		cmocka_unit_test_setup(survives_lost_memory, start),
		cmocka_unit_test_setup(needs_a_stack, start),
		cmocka_unit_test_setup(is_interrupted_anywhere, start),
	};

	return cmocka_run_group_tests_name("detour_ways", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("there is no laboratory for this on this machine");
	return 77;
}
#endif
