/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes in detours: what is recorded, while somebody is there; a function that is left by
 * a longjmp(); a table that is full.
 * How functions of a machine come and go is in its own test, such as test_x86_detour_return.c.
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

#include "arch/guard_hijack.h"
#include "engine/base/err.h"

#define LOOKS 64

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];

/* --- probes and functions -------------------------------------------------------------- */

/* Run it; in its body, @in_body is called. The trap, or -1. */
static int run(const char *what, void (*in_body)(void *arg), void *arg)
{
	uint64_t from = before.LAB_SP - RUN_STACK;
	const struct run_regs *want;
	int trap;

	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	if (in_body)
		lab_run_function(&before, in_body, arg, &end);
	else
		lab_run_at(LAB_SITE, &before, &end);
	trap = lab_trap(&end);
	/* Nothing is replaced yet, or any more. */
	assert_int_equal(lab_link(&before, &end), LAB_HOME);
	want = trap >= 0 && trap < LAB_ON_RETURN ? &before : &after;
	/* If returning pops a word, the frame of the entry reaches further down. */
	lab_assert_kept(what, want, want->LAB_SP == before.LAB_SP ? stack : NULL, &end);
	assert_memory_equal(end.stack + from, stack + from, RUN_STACK_SIZE - from);
	assert_int_equal(lab_came_home(&end), trap < 0);
	return trap;
}

static int go(const char *what)
{
	return run(what, NULL, NULL);
}

/* --- one call ------------------------------------------------------------------------------ */

static void returns(void **state)
{
	static const char *const args[] = {
		"",
		"v=$retval",
		"a=" R0 " v=" R4 " i=" PC " sp=%sp c=" R2 " d=" R3 " s=" R1,
		"s=$stack0 ",
		"c=+0(" R1 "):u8[3] " OTHERS,
		"a=+0(" R1 "):u64 t=$stack1 u=+8(%sp):u64",
	};
	uint64_t head = lab.thread->head, entry;
	static struct run_end off;

	(void)state;
	for (unsigned i = 0; i < N_ELEMS(args); i++) {
		lab_set_probe(0, true, args[i], NULL);
		lab_function_build(1);
		lab.control->owner |= RING_OWNER_DIED;
		assert_int_equal(go("died"), -1);
		assert_null(i ? NULL : lab_hijack_of(before.LAB_SP));
		lab_expect_nothing(head);
		off = end;
		lab.control->owner = LAB_TID;
		assert_int_equal(go(args[i]), -1);
		head = expect_record(head, 0);
		lab_expect_nothing(head);
		lab_assert_over(before.LAB_SP);
		/* The same vectors as without a record. */
		assert_memory_equal(off.LAB_VECTORS, end.LAB_VECTORS, sizeof(end.LAB_VECTORS));
	}
	entry = UBP_HIJACK_INDEX(before.LAB_SP, RUN_WORD) % LAB_HIJACKS;
	assert_int_equal(lab.hijacks[entry].word, before.LAB_SP);
}

static void records_both_ways(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	/* Return probes come last, whatever the order of definition is. */
	lab_set_probe(1, false, "b=" R0 " c=+0(" R1 "):u8[9]", NULL);
	lab_set_probe(2, true, "d=" R2 " e=" R3 "", NULL);
	lab_set_probe(3, false, "f=" R4 " g=" R0, "g == 1");
	lab_set_probe(4, true, "h=" R4 " i=" R0, "i == 1");
	lab_function_build(5);
	assert_int_equal(go("both"), -1);
	lab_expect_nothing(expect_record(expect_record(expect_record(head, 1), 0), 2));
	lab_assert_over(before.LAB_SP);
	/* What can't be recorded on return is the tracer's from there on. */
	head = lab.thread->head;
	lab_set_probe(2, true, "d=+0(" R2 "):u64", NULL);
	before.LAB_R2 = after.LAB_R2 = 8;
	lab_function_build(5);
	assert_int_equal(go("not the second"), LAB_ON_RETURN + 2);
	lab_expect_nothing(expect_record(expect_record(head, 1), 0));
	lab_assert_over(before.LAB_SP);
	/* On entry: nothing has been replaced yet. */
	head = lab.thread->head;
	lab_set_probe(1, false, "b=+0(" R2 "):u64", NULL);
	lab_function_build(5);
	assert_int_equal(go("not the first"), 1);
	lab_expect_nothing(head);
	lab_assert_over(before.LAB_SP);
}

static void counts_and_filters(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab.plan.count_dropped = true;
	lab_set_probe(0, true, "a=" R0 " s=+0(" R1 "):string", "a == 1");
	lab_function_build(1);
	assert_int_equal(go("early"), -1);
	strcpy((char *)LAB_MEM, "text");
	lab_set_probe(0, true, "a=" R0 " s=+0(" R1 "):string", "s == \"other\"");
	lab_function_build(1);
	assert_int_equal(go("late"), -1);
	lab_expect_nothing(head);
	assert_int_equal(lab.head->dropped[100], 2);
	lab_set_probe(0, true, "a=" R0 " s=+0(" R1 "):string", "s == \"text\"");
	lab_function_build(1);
	lab.thread->limit = head;
	assert_int_equal(go("full"), -1);
	assert_int_equal(lab.thread->lost, 1);
	lab.plan.lossless = true;
	lab_function_build(1);
	assert_int_equal(go("full, lossless"), LAB_ON_RETURN);
	lab.thread->limit = head + 10000;
	assert_int_equal(go("pass"), -1);
	lab_expect_nothing(expect_record(head, 0));
}

static void is_left_by_longjmp(void **state)
{
	uint64_t head = lab.thread->head;
	struct run_regs left = before;

	(void)state;
	lab_end_at_body(); /* it never returns */
	lab_function_build(1);
	lab_run_at(LAB_SITE, &before, &end);
	assert_int_equal(lab_trap(&end), -1);
	assert_true(lab_is_ours(before.LAB_SP, lab_link(&before, &end)));
	lab_return_to(lab_link(&before, &end), &left);
	lab_assert_kept("skipped", &left, NULL, &end);
	lab_return_to(LAB_HOME, &before);
	assert_int_equal(go("next"), 0);
	if (lab.arch->detour.alone) {
		struct guard_hijack was = *lab_hijack_of(before.LAB_SP);
		struct guard_gate *gate = (struct guard_gate *)lab.gate;

		lab_body_returns();
		lab.head->left = 0;
		gate->alone = 1;
		assert_int_equal(go("next, alone"), -1);
		head = expect_record(head, 0);
		lab_expect_nothing(head);
		assert_int_equal(lab.head->left, 1);
		lab_assert_over(before.LAB_SP);
		gate->alone = 0;
		*lab_hijack_of(before.LAB_SP) = was;
		assert_int_equal(go("left again"), 0);
	}
	/* The tracer has looked at it. */
	lab_hijack_of(before.LAB_SP)->real = 0;
	lab_body_returns();
	assert_int_equal(go("over"), -1);
	lab_expect_nothing(expect_record(head, 0));
}

/* --- is anybody there? ---------------------------------------------------------------------- */

struct change {
	uint64_t *word, value;
};

static void change(void *arg)
{
	const struct change *c = arg;

	*c->word = c->value;
}

static void asks_again_on_return(void **state)
{
	struct change c = { .word = lab.gate };
	uint64_t head = lab.thread->head, owner = LAB_TID | RING_OWNER_DIED;

	(void)state;
	lab_function_build(1);
	c.value = RING_GATE_OFF;
	assert_int_equal(run("off", change, &c), -1);
	lab_assert_over(before.LAB_SP);
	*lab.gate = (uint64_t)lab.head;
	c.value = RING_GATE_TRAP;
	assert_int_equal(run("trap", change, &c), LAB_ON_RETURN);
	lab_assert_over(before.LAB_SP);
	*lab.gate = (uint64_t)lab.head;
	c = (struct change){ (uint64_t *)lab.control, owner };
	assert_int_equal(run("died", change, &c), -1);
	lab_assert_over(before.LAB_SP);
	lab_expect_nothing(head);
	/* On entry: nothing is replaced at all. */
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	lab.control->owner = LAB_TID;
	*lab.gate = RING_GATE_TRAP;
	assert_int_equal(go("trap"), 0);
	assert_null(lab_hijack_of(before.LAB_SP));
	*lab.gate = RING_GATE_OFF;
	assert_int_equal(go("off"), -1);
	assert_null(lab_hijack_of(before.LAB_SP));
}

/* --- the table --------------------------------------------------------------------------------- */

static void finds_a_place(void **state)
{
	uint64_t head = lab.thread->head, first = LAB_HIJACKS - 4;

	(void)state;
	lab_function_build(1);
	/* Over its end. */
	while (UBP_HIJACK_INDEX(before.LAB_SP, RUN_WORD) % LAB_HIJACKS != first)
		before.LAB_SP -= 16;
	lab_return_home(&before, &after);
	for (size_t i = 0; i < LOOKS; i++) {
		assert_int_equal(go("one more"), -1);
		head = expect_record(head, 0);
		assert_int_equal(lab.hijacks[(first + i) % LAB_HIJACKS].word, before.LAB_SP);
		lab.hijacks[(first + i) % LAB_HIJACKS].word = 0x1000; /* somebody else's */
	}
	assert_int_equal(go("one too many"), 0);
	lab_expect_nothing(head);
	assert_int_equal(lab.hijacks[(first + LOOKS) % LAB_HIJACKS].word, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(returns, start),
		cmocka_unit_test_setup(records_both_ways, start),
		cmocka_unit_test_setup(counts_and_filters, start),
		cmocka_unit_test_setup(is_left_by_longjmp, start),
		cmocka_unit_test_setup(asks_again_on_return, start),
		cmocka_unit_test_setup(finds_a_place, start),
	};

	return cmocka_run_group_tests_name("detour_return", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("there is no laboratory for this on this machine");
	return 77;
}
#endif
