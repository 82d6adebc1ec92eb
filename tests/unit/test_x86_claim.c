/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A thread that has no ring claims one in its detour (arch/x86/common_detour_claim.c); interrupted at each instruction, too. */

#ifdef __x86_64__

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "tests/unit/x86_lab.h"

#define CLAIM_CODE (LAB_RETURN_CODE - UBP_CLAIM_CODE_MAX)
#define START      (5ull * LAB_CAPACITY)

#if RUN_BITS == 32
#define NAME   "x86_claim for 32 bits"
#define OTHERS_TOO "c=%bx d=%bp e=%dx"
#else
#define NAME   "x86_claim"
#define OTHERS_TOO "c=%r10 d=%r9 e=%r8"
#endif

static struct run_regs before;
static struct run_end end;

static struct ring_claim *claim_at(uint64_t number)
{
	return (struct ring_claim *)((uint8_t *)lab.head + RING_CLAIMS_AT) +
	       number % RING_CLAIMS;
}

static void offer(uint64_t from, uint64_t end_at)
{
	for (uint64_t i = from; i < end_at; i++)
		*claim_at(i) = (struct ring_claim){
			.head = START,
			.limit = START + LAB_CAPACITY - RING_SLACK,
			.ring = (uintptr_t)lab.ring,
			.mask = LAB_CAPACITY - 1,
		};
	lab.head->claims_next = from;
	lab.head->claims_end = end_at;
}

static struct ring_thread *place(unsigned i)
{
	return &lab.table[(ring_hash(lab.key) + i) % RING_THREADS];
}

/* Nobody knows this thread; so many offers. */
static void begin(uint64_t n)
{
	lab_reset();
	*lab.thread = (struct ring_thread){ 0 };
	offer(7, 7 + n);
}

static int set_up(void **state)
{
	uint8_t code[UBP_CLAIM_CODE_MAX];
	size_t len = 0;

	lab_set_up(state);
#if RUN_BITS == 32
	*(pid_t *)(uintptr_t)(RUN_TCB + 0x68) = gettid();
#endif
	lab.plan.self_at = lab_find_self();
	lab.plan.claim = CLAIM_CODE;
	assert_int_equal(lab.arch->detour.build_claim_code(lab.plan.self_at, lab.plan.has, code,
							   sizeof(code), &len),
			 0);
	run_write(CLAIM_CODE, code, len);
	return 0;
}

static void build(const char *args)
{
	lab_set_probe(0, false, args, NULL);
	lab_build_set(1);
	lab_random(3, &before);
	before.LAB_R0 = LAB_OUTER;
}

/* Runs it; whether it took the trap. */
static bool traps(const char *what)
{
	static uint8_t stack[RUN_STACK_SIZE];
	int trap;

	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	trap = lab_trap(&end);
	lab_assert_kept(what, &before, stack, &end);
	return trap >= 0;
}

/* The thread's entry is the one at @i, and tells who it is, as the claim does. */
static void assert_claimed(unsigned i, uint64_t number)
{
	lab.thread = place(i);
	assert_int_equal(lab.thread->key, lab.key);
	assert_int_equal(lab.thread->tid, gettid());
	assert_int_equal(lab.thread->self, gettid());
	assert_int_equal(lab.thread->cpu_vaddr, 0);
	assert_int_equal(lab.head->claims_next, number + 1);
	assert_int_equal(claim_at(number)->done, number + 1);
	assert_int_equal(claim_at(number)->tid, gettid());
	assert_int_equal(claim_at(number)->key, lab.key);
	assert_int_equal(claim_at(number)->slot, lab.thread - lab.table);
}

static void the_first_hit_claims_a_ring_and_the_next_one_has_it(void **state)
{
	struct ring_stack *stacks = (struct ring_stack *)((uint8_t *)lab.head + RING_STACKS_AT);
	uint64_t at;

	(void)state;
	build("a=%di b=%ip " OTHERS_TOO);
	begin(2);
	stacks[place(2) - lab.table] = (struct ring_stack){ 1, 2 };
	assert_false(traps("claim"));
	assert_claimed(2, 7);
	assert_int_equal(stacks[place(2) - lab.table].lo | stacks[place(2) - lab.table].end, 0);
	at = lab_expect_record(START, 0, &before);
	assert_false(traps("again"));
	assert_int_equal(lab.head->claims_next, 8);
	at = lab_expect_record(at, 0, &before);
	lab_expect_nothing(at);
}

static void who_gets_none_takes_the_trap(void **state)
{
	(void)state;
	build("a=%di");
	begin(0);
	assert_true(traps("no offer"));
	assert_int_equal(lab.head->claims_next, 7);
	assert_int_equal(place(2)->key, RING_KEY_FREE);
	/* It is about to make one, in what a handler has interrupted. */
	begin(2);
	place(4)->key = ring_key_busy(lab.key);
	place(2)->key = place(3)->key = lab.key + 16;
	assert_true(traps("busy"));
	assert_int_equal(lab.head->claims_next, 7);
	/* There is no place. */
	begin(2);
	for (unsigned i = 0; i < RING_THREADS; i++)
		place(i)->key = RING_KEY_GONE;
	/* A search that finds nothing must end. */
	place(RING_THREADS - 1)->key = RING_KEY_NONE;
	assert_false(traps("one place"));
	assert_claimed(RING_THREADS - 1, 7);
}

static void the_first_place_that_is_nobodys_is_taken(void **state)
{
	(void)state;
	build("a=%di");
	begin(2);
	place(0)->key = lab.key + 8;
	place(1)->key = RING_KEY_FREE;
	place(2)->key = RING_KEY_GONE;
	place(3)->key = RING_KEY_FREE;
	assert_false(traps("free"));
	assert_claimed(1, 7);
	assert_int_equal(place(3)->key, RING_KEY_FREE);
}

static void an_entry_of_who_had_the_pointer_before_is_over(void **state)
{
	(void)state;
	build("a=%di");
	begin(2);
	*place(2) = (struct ring_thread){ .key = lab.key, .self = 1, .tid = 1, .head = 64 };
	assert_false(traps("stale"));
	assert_int_equal(place(2)->key, RING_KEY_GONE);
	assert_int_equal(place(2)->head, 64);
	assert_claimed(3, 7);
	lab_expect_record(START, 0, &before);
	/* Not by what is about the thread's own. */
	*place(3) =
		(struct ring_thread){ .key = lab.key, .self = (uint32_t)gettid(), .tid = 5 };
	assert_false(traps("its own"));
	assert_int_equal(place(3)->tid, 5);
}

static void without_the_code_the_trap_is_taken(void **state)
{
	(void)state;
	lab.plan.claim = 0;
	build("a=%di");
	begin(2);
	assert_true(traps("unknown"));
	*place(2) = (struct ring_thread){ .key = lab.key, .self = 1 };
	assert_true(traps("another's"));
	lab.plan.claim = CLAIM_CODE;
}

#if RUN_BITS == 32
/* One hit with this stack pointer, and nothing known of what may be read; whether it took the trap. */
static bool traps_at(const char *args, uint64_t sp)
{
	build(args);
	begin(2);
	lab_forget_ranges();
	before.LAB_SP = sp;
	lab_run(&before, &end);
	lab_assert_kept(args, &before, NULL, &end);
	return lab_trap(&end) >= 0;
}

/* Where all arguments are on the stack, and nobody tells of the stacks of new threads. */
static void arguments_on_a_new_stack_are_known(void **state)
{
	static const char many[] = "a=+4(%sp):s32 b=+12(%sp):u8 c=+1016(%sp):u64 s=+0(+8(%sp)):u8";
	const uint64_t stack = RUN_STACK + 0x1000, tcb_page = RUN_STACK + 0x2000;

	(void)state;
	/* The page that the frame is on, up to its end. */
	assert_false(traps_at("a=+4(%sp):s32 b=+12(%sp):u8 c=$stack1", stack + 0x400));
	assert_claimed(2, 7);
	lab_range(RUN_STACK, RUN_STACK_SIZE);
	lab_expect_record(START, 0, &before);
	assert_false(traps_at("a=+12(%sp):u32", stack - 16));
	assert_true(traps_at("a=+13(%sp):u32", stack - 16));
	/* The next one, from which it is too far to the thread pointer. */
	assert_true(traps_at("a=+4(%sp):s32", stack + 8));
	/* It is near by, and above. */
	assert_true(RUN_TCB - tcb_page < 0x2000);
	assert_false(traps_at("a=+1016(%sp):u64", tcb_page - 1000));
	/* What arguments point to is not known, nor what is far from the stack pointer, or below it. */
	assert_true(traps_at(many, stack + 0x400));
	assert_true(traps_at("a=+1024(%sp):u8", stack + 0x400));
	assert_true(traps_at("a=-4(%sp):u8", stack + 0x400));
}
#endif

/* --- it waits until it is known who it is -------------------------------------------------- */

enum answer { LOOKS, DIES };

/* ubp, as soon as there is a claim. */
static void *answer(void *arg)
{
	while (__atomic_load_n(&claim_at(7)->done, __ATOMIC_ACQUIRE) != 8)
		;
	if (*(const enum answer *)arg == DIES)
		__atomic_store_n(&lab.control->owner, RING_OWNER_DIED, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&claim_at(7)->known, 8, __ATOMIC_RELEASE);
	return NULL;
}

static void claim_with(enum answer what)
{
	pthread_t thread;

	begin(1);
	lab.head->claims_wait = 1;
	assert_int_equal(pthread_create(&thread, NULL, answer, &what), 0);
	assert_false(traps("waits"));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_claimed(2, 7);
	lab_expect_record(START, 0, &before);
	assert_int_equal(lab.head->claims_wait, 1);
}

static void who_has_to_waits_for_a_look(void **state)
{
	(void)state;
	build("a=%di b=%ip " OTHERS_TOO);
	claim_with(LOOKS);
	claim_with(DIES);
	lab.control->owner = 1;
	begin(1);
	lab.head->claims_wait = 1;
	assert_false(traps("nobody looks"));
	assert_int_equal(lab.head->claims_wait, 0);
	assert_claimed(2, 7);
	lab_expect_record(START, 0, &before);
}

/* --- interrupted ----------------------------------------------------------------------------- */

static unsigned n_nested;

/* @arg: it would wait, for what is known already. */
static void begin_interrupted(void *arg)
{
	begin(3);
	lab.head->claims_wait = arg != NULL;
	claim_at(7)->known = 8;
	n_nested = 0;
}

static void nest(void *arg, uint64_t vaddr)
{
	(void)arg;
	(void)vaddr;
	/* It would take the trap, as is shown above. */
	for (unsigned i = 0; i < 8; i++)
		if (place(i)->key == ring_key_busy(lab.key))
			return;
	lab_call_nested();
	n_nested++;
}

static void check_interrupted(void *arg, const struct run_end *now, bool was_interrupted)
{
	unsigned outer, nested;

	(void)arg;
	(void)was_interrupted;
	assert_int_equal(lab_trap(now), -1);
	assert_claimed(2, 7); /* one claim, whoever has made it */
	lab_count_calls(START, &outer, &nested);
	assert_int_equal(outer, 1);
	assert_int_equal(nested, n_nested);
}

static void a_handler_may_come_at_any_instruction(void **state)
{
	struct run_regs after;
	struct lab_interruptions what = { .regs = &before,
					  .start = begin_interrupted,
					  .each = nest,
					  .check = check_interrupted };

	(void)state;
	lab_set_probe(0, false, "a=%di", NULL);
	lab_random(3, &before);
	before.LAB_R0 = LAB_OUTER;
	lab_function_start(&before, &after);
	lab_function_build(1);
	assert_true(lab_interrupt(&what) > 100);
	what.arg = &what;
	assert_true(lab_interrupt(&what) > 100);
	lab.head->claims_wait = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_hit_claims_a_ring_and_the_next_one_has_it),
		cmocka_unit_test(who_gets_none_takes_the_trap),
		cmocka_unit_test(the_first_place_that_is_nobodys_is_taken),
		cmocka_unit_test(an_entry_of_who_had_the_pointer_before_is_over),
		cmocka_unit_test(without_the_code_the_trap_is_taken),
		cmocka_unit_test(who_has_to_waits_for_a_look),
#if RUN_BITS == 32
		cmocka_unit_test(arguments_on_a_new_stack_are_known),
#endif
		cmocka_unit_test(a_handler_may_come_at_any_instruction),
	};

	return cmocka_run_group_tests_name(NAME, tests, set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
