/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours that ask the tracer to come: they ring where nobody traces the process, and wait until that is otherwise, the tracer is dead, or
 * it takes too long. Registers, flags and the stack stay as they were.
 */

#ifdef __x86_64__

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "tests/unit/x86_lab.h"

static struct run_regs before;
static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];

static struct guard_gate *gate(void)
{
	return (struct guard_gate *)LAB_GATE;
}

static void build(bool stops)
{
	struct ubp_err err;

	lab.plan.asks = true;
	lab.plan.stops = stops;
	ubp_err_reset(&err);
	assert_int_equal(lab_build(0, &err), 0);
}

static int start(void **state)
{
	(void)state;
	lab_reset();
	lab_random(3, &before);
	before.gpr[SP] = RUN_SP;
	lab.gate = (uint64_t *)LAB_GATE;
	*gate() = (struct guard_gate){ (uint64_t)lab.head, 0 };
	lab.control->owner = 1;
	lab.head->bell = lab.head->heard = lab.head->in_vain = 0;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	lab.plan.asks = lab.plan.stops = false;
	*gate() = (struct guard_gate){ 0 };
	lab.control->owner = 0;
	return 0;
}

/* Run; all must be as before. Did it take its trap? */
static bool traps(const char *what)
{
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	lab_assert_kept(what, &before, stack, &end);
	if (!end.signo)
		return false;
	assert_int_equal(end.signo, SIGTRAP);
	assert_int_equal(end.pc, RUN_BLOCK + lab.detour.trap_at[0] + 1);
	return true;
}

static void expect(uint64_t bell, uint64_t heard, uint64_t in_vain)
{
	assert_int_equal(lab.head->bell, bell);
	assert_int_equal(lab.head->heard, heard);
	assert_int_equal(lab.head->in_vain, in_vain);
}

static void is_quiet_while_traced(void **state)
{
	(void)state;
	build(true);
	assert_true(traps("traced"));
	*lab.gate = RING_GATE_TRAP;
	assert_true(traps("no rings"));
	*lab.gate = RING_GATE_OFF;
	gate()->alone = 1;
	assert_false(traps("a child's"));
	*lab.gate = (uint64_t)lab.head;
	gate()->alone = 0;
	build(false);
	assert_false(traps("traced, and nobody asks for the trap"));
	expect(0, 0, 0);
}

enum answer { COMES, DIES, REFUSES };

/* The tracer, as soon as somebody rings. */
static void *answer(void *arg)
{
	enum answer what = *(const enum answer *)arg;

	while (__atomic_load_n(&lab.head->bell, __ATOMIC_ACQUIRE) == 0)
		;
	if (what == DIES)
		__atomic_store_n(&lab.control->owner, RING_OWNER_DIED, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&gate()->alone, what == COMES ? 0 : 5, __ATOMIC_RELEASE);
	return NULL;
}

static bool traps_with(enum answer what)
{
	pthread_t thread;
	bool has;

	gate()->alone = 1;
	assert_int_equal(pthread_create(&thread, NULL, answer, &what), 0);
	has = traps("alone");
	assert_int_equal(pthread_join(thread, NULL), 0);
	return has;
}

static void waits_for_the_tracer(void **state)
{
	(void)state;
	build(true);
	assert_true(traps_with(COMES));
	expect(1, 1, 0);
	lab.head->bell = lab.head->heard = 0;
	build(false);
	assert_false(traps_with(COMES));
	expect(1, 1, 0);
}

static void waits_for_nobody_dead(void **state)
{
	(void)state;
	build(true);
	assert_false(traps_with(DIES));
	expect(1, 0, 0);
	assert_false(traps("it is dead already"));
	expect(1, 0, 0);
}

static void goes_on_when_refused(void **state)
{
	(void)state;
	build(true);
	assert_false(traps_with(REFUSES));
	expect(1, 1, 1);
}

static void goes_on_in_the_end(void **state)
{
	(void)state;
	build(true);
	gate()->alone = 1;
	assert_false(traps("nobody comes"));
	expect(1, 1, 1);
}

/* In front of clone(), whose flags are in rdi, and of clone3(), where it points to them. */
static void is_quiet_for_threads(void **state)
{
	static const uint8_t numbers[][4] = { { 56 }, { 0xb3, 1 } };
	uint64_t *flags = (uint64_t *)RUN_DATA;
	struct window was = lab.window;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		/* As long as what it replaces. */
		lab.window.insns[0].bytes[0] = 0xb8;
		memcpy(lab.window.insns[0].bytes + 1, numbers[i], 4);
		build(false);
		lab.head->bell = lab.head->heard = lab.head->in_vain = 0;
		gate()->alone = 1;
		before.gpr[DI] = i ? (uint64_t)flags : CLONE_THREAD | 0x11;
		*flags = CLONE_THREAD;
		lab_run(&before, &end);
		assert_int_equal(end.exit, 0);
		expect(0, 0, 0);
		before.gpr[DI] = i ? (uint64_t)flags : 0x11;
		*flags = 0x11;
		lab.control->owner = RING_OWNER_DIED;
		lab_run(&before, &end);
		lab.control->owner = 1;
		expect(0, 0, 0);
		lab_run(&before, &end);
		assert_int_equal(end.exit, 0);
		assert_int_equal(lab.head->bell, 1);
	}
	lab.window = was;
}

/* Where children are not traced: who does not share the memory is nobody's business. */
static void is_quiet_for_copies(void **state)
{
	static const struct {
		uint8_t number[4];
		bool is_deep;
		uint64_t flags;
		uint64_t rings;
	} calls[] = {
		{ { 57 }, false, 0, 0 },
		{ { 58 }, false, 0, 1 },
		{ { 56 }, false, CLONE_THREAD | CLONE_VM, 0 },
		{ { 56 }, false, SIGCHLD, 0 },
		{ { 56 }, false, CLONE_VM | CLONE_VFORK | SIGCHLD, 1 },
		{ { 0xb3, 1 }, true, CLONE_THREAD | CLONE_VM, 0 },
		{ { 0xb3, 1 }, true, CLONE_PIDFD, 0 },
		{ { 0xb3, 1 }, true, CLONE_VM, 1 },
	};
	uint64_t *flags = (uint64_t *)RUN_DATA;
	struct window was = lab.window;

	(void)state;
	lab.plan.asks_sharing = true;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		lab.window.insns[0].bytes[0] = 0xb8;
		memcpy(lab.window.insns[0].bytes + 1, calls[i].number, 4);
		build(false);
		lab.head->bell = lab.head->heard = lab.head->in_vain = 0;
		gate()->alone = 1;
		before.gpr[DI] = calls[i].is_deep ? (uint64_t)flags : calls[i].flags;
		*flags = calls[i].flags;
		lab_run(&before, &end);
		assert_int_equal(end.exit, 0);
		expect(calls[i].rings, calls[i].rings, calls[i].rings);
	}
	lab.plan.asks_sharing = false;
	lab.window = was;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_quiet_while_traced, start, stop),
		cmocka_unit_test_setup_teardown(waits_for_the_tracer, start, stop),
		cmocka_unit_test_setup_teardown(waits_for_nobody_dead, start, stop),
		cmocka_unit_test_setup_teardown(goes_on_when_refused, start, stop),
		cmocka_unit_test_setup_teardown(goes_on_in_the_end, start, stop),
		cmocka_unit_test_setup_teardown(is_quiet_for_threads, start, stop),
		cmocka_unit_test_setup_teardown(is_quiet_for_copies, start, stop),
	};

	return cmocka_run_group_tests_name("x86_bell", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
