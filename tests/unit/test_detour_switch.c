/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes that are switched off and on (ring_head.off) while their detours stay as they are: each by itself, before anything is
 * looked at for it; and return probes, on entry and while the function runs.
 */

#include "tests/unit/return_lab.h"

#ifdef LAB_SITE

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/guard.h"
#include "engine/base/err.h"

static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];

/* lab.probes[@i]. */
static void turn(unsigned i, bool on)
{
	uint32_t number = lab.probes[i].number;
	uint8_t bit = (uint8_t)(1u << number % 8), *byte = &lab.head->off[number / 8];

	*byte = (uint8_t)(on ? *byte & ~bit : *byte | bit);
}

/* All of @on, bit by index. */
static void turn_all(unsigned n, unsigned on)
{
	for (unsigned i = 0; i < n; i++)
		turn(i, on >> i & 1);
}

/* The site as it is; a function stands there once one of the tests of returns has begun. */
static int start_entry(void **state)
{
	(void)state;
	lab_reset();
	lab_fill(1);
	lab_random(7, &before);
	before.LAB_R1 = LAB_MEM;
	lab.plan.lossless = false;
	lab.plan.count_dropped = false;
	memset(lab.head->off, 0, sizeof(lab.head->off));
	return 0;
}

static int start_return(void **state)
{
	start(state);
	memset(lab.head->off, 0, sizeof(lab.head->off));
	return 0;
}

/* --- entry --------------------------------------------------------------------------- */

/* The site alone, as it is for probes on entry; all must be as before. The trap, or -1. */
static int go(const char *what)
{
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	lab_assert_kept(what, &before, stack, &end);
	return lab_trap(&end);
}

/* Numbers in the middle of a byte, at its ends, and the last that there is. */
static const uint32_t numbers[] = { 0, 7, 8, 100, 4095, RING_SWITCHES - 1 };

static void one_is_off_and_on(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_set_probe(0, false, "a=" R0 ":s64", NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		lab.probes[0].number = numbers[i];
		lab_build_set(1);
		assert_int_equal(go("on"), -1);
		head = expect_record(head, 0);
		turn(0, false);
		assert_int_equal(go("off"), -1);
		/* Those beside it have nothing to do with it. */
		lab_expect_nothing(head);
		turn(0, true);
		lab.head->off[numbers[i] / 8] = (uint8_t) ~(1u << numbers[i] % 8);
		assert_int_equal(go("the others off"), -1);
		head = expect_record(head, 0);
		lab_expect_nothing(head);
		lab.head->off[numbers[i] / 8] = 0;
	}
}

static void too_many_are_refused(void **state)
{
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	lab_set_probe(0, false, "a=" R0 ":s64", NULL);
	lab.probes[0].number = RING_SWITCHES;
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
}

static void each_by_itself(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_set_probe(0, false, "a=" R0 ":s64", NULL);
	lab_set_probe(1, false, "b=" R1 " c=+0(" R1 "):u8[9]", NULL);
	lab_set_probe(2, false, "d=" R2 " s=+0(" R1 "):string", "d != 1");
	strcpy((char *)LAB_MEM, "text");
	lab_build_set(3);
	for (unsigned on = 0; on < 8; on++) {
		turn_all(3, on);
		assert_int_equal(go("some"), -1);
		for (unsigned i = 0; i < 3; i++)
			head = on >> i & 1 ? expect_record(head, i) : head;
		lab_expect_nothing(head);
	}
}

/* Off: neither the filter, nor what only a stop tells, nor a full ring, nor a thread without one matters. */
static void nothing_is_looked_at(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab.plan.count_dropped = true;
	lab_set_probe(0, false, "a=" R0 ":s64", "a == 78");
	lab_build_set(1);
	assert_int_equal(go("filtered"), -1);
	assert_int_equal(lab.head->dropped[100], 1);
	turn(0, false);
	assert_int_equal(go("filtered, off"), -1);
	assert_int_equal(lab.head->dropped[100], 1);
	lab_set_probe(0, false, "a=" R0 ":s64 c=$comm", NULL);
	lab_build_set(1);
	assert_int_equal(go("a name, off"), -1);
	turn(0, true);
	assert_int_equal(go("a name"), 0);
	turn(0, false);
	lab_set_probe(0, false, "a=+0(" R1 "):u64", NULL);
	before.LAB_R1 = 8;
	lab.plan.lossless = true;
	lab_build_set(1);
	lab.thread->limit = head;
	assert_int_equal(go("full, not to be read, off"), -1);
	lab.thread->limit = head + 10000;
	assert_int_equal(go("not to be read, off"), -1);
	lab.thread->key = RING_KEY_GONE;
	assert_int_equal(go("no ring, off"), -1);
	turn(0, true);
	assert_int_equal(go("no ring"), 0);
	lab.thread->key = lab.key;
	assert_int_equal(go("not to be read"), 0);
	lab_expect_nothing(head);
	assert_int_equal(lab.thread->lost, 0);
}

/* --- return ---------------------------------------------------------------------------- */

struct turned {
	unsigned n, on;
};

static void turn_in_body(void *arg)
{
	const struct turned *t = arg;

	turn_all(t->n, t->on);
}

/* The function, at whose body probes are turned: the first @n, to @on. The trap, or -1. */
static int call(const char *what, unsigned n, unsigned on)
{
	struct turned turned = { n, on };
	int trap;

	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run_function(&before, turn_in_body, &turned, &end);
	trap = lab_trap(&end);
	assert_int_equal(lab_link(&before, &end), LAB_HOME);
	lab_assert_kept(what, &after, after.LAB_SP == before.LAB_SP ? stack : NULL, &end);
	assert_int_equal(lab_came_home(&end), trap < 0);
	return trap;
}

static void no_return_address_is_replaced(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_function_build(1);
	turn(0, false);
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	assert_int_equal(call("off", 1, 0), -1);
	assert_null(lab_hijack_of(before.LAB_SP));
	/* Switched on while the function runs: nobody awaits its return. */
	assert_int_equal(call("on meanwhile", 1, 1), -1);
	assert_null(lab_hijack_of(before.LAB_SP));
	lab_expect_nothing(head);
	assert_int_equal(call("on", 1, 1), -1);
	lab_expect_nothing(expect_record(head, 0));
}

static void what_was_replaced_comes_home(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_function_build(1);
	assert_int_equal(call("off meanwhile", 1, 0), -1);
	lab_assert_over(before.LAB_SP);
	lab_expect_nothing(head);
	assert_int_equal(call("still off", 1, 0), -1);
	lab_assert_over(before.LAB_SP);
	turn(0, true);
	assert_int_equal(call("on again", 1, 1), -1);
	lab_assert_over(before.LAB_SP);
	lab_expect_nothing(expect_record(head, 0));
}

/* Of all that stand at one place, each on entry and on return. */
static void some_of_both_kinds(void **state)
{
	static const bool is_return[] = { true, false, true, false };
	static const unsigned order[] = { 1, 3, 0, 2 };
	uint64_t head = lab.thread->head;

	(void)state;
	lab_set_probe(1, false, "b=" R0 " c=+0(" R1 "):u8[9]", NULL);
	lab_set_probe(2, true, "d=" R2 " e=" R3, NULL);
	lab_set_probe(3, false, "f=" R4 " g=" R0, NULL);
	lab_function_build(4);
	for (unsigned in = 0; in < 16; in++) {
		unsigned out = in * 7 % 16;

		memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
		turn_all(4, in);
		assert_int_equal(call("some", 4, out), -1);
		for (unsigned k = 0; k < 4; k++) {
			unsigned i = order[k];
			/* As the kernel's: a return is told by all that are on then, if one was on entry. */
			bool told = is_return[i] ? in & 5 && out >> i & 1 : in >> i & 1;

			head = told ? expect_record(head, i) : head;
		}
		lab_expect_nothing(head);
		if (in & 5)
			lab_assert_over(before.LAB_SP);
		else
			assert_null(lab_hijack_of(before.LAB_SP));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_is_off_and_on, start_entry),
		cmocka_unit_test_setup(too_many_are_refused, start_entry),
		cmocka_unit_test_setup(each_by_itself, start_entry),
		cmocka_unit_test_setup(nothing_is_looked_at, start_entry),
		cmocka_unit_test_setup(no_return_address_is_replaced, start_return),
		cmocka_unit_test_setup(what_was_replaced_comes_home, start_return),
		cmocka_unit_test_setup(some_of_both_kinds, start_return),
	};

	return cmocka_run_group_tests_name("detour_switch", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("there is no laboratory for this on this machine");
	return 77;
}
#endif
