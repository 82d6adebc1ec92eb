/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes in detours: functions that call themselves, jump to themselves, take arguments
 * off the stack; with signal handlers at each instruction.
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
#include "arch/x86/regs.h"
#include "engine/base/err.h"
#include "tests/unit/return_lab.h"
#include "tests/unit/x86_lab.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct run_end end;

/* --- probes and functions -------------------------------------------------------------- */

static void body(const void *code, size_t len)
{
	run_write(LAB_BODY, code, len);
}

/* Run it; all must be as before, but for what @after says. The trap, or -1. */
static int go(const char *what, run_step_fn *step, void *arg)
{
	lab_run_steps(&before, step, arg, &end);
	lab_assert_kept(what, &after, NULL, &end);
	return lab_trap(&end);
}

static uint64_t word_at(uint64_t vaddr)
{
	run_word word;

	memcpy(&word, (void *)vaddr, sizeof(word));
	return word;
}

/* vfork() is such a function: it returns twice. */
static void refuses_who_pops_it(void **state)
{
	static const struct {
		const char *code;
		bool refused;
	} functions[] = {
#if RUN_BITS == 32
		{ "\x59\xb8\xbe\x00\x00\x00", true }, /* pop %ecx; mov $190,%eax */
		{ "\xf3\x0f\x1e\xfb\x59\x90", true }, /* endbr32; pop %ecx */
		{ "\x55\x89\xe5\x5d\x90", false },    /* push %ebp; mov; pop %ebp; nop */
		{ "\x8b\x1c\x24\xc3\x90\x90", true }, /* mov (%esp),%ebx; ret */
#else
		{ "\x5f\xb8\x3a\x00\x00\x00", true }, /* pop %rdi; mov $58,%eax */
		{ "\xf3\x0f\x1e\xfa\x41\x5b", true }, /* endbr64; pop %r11 */
		{ "\x55\x48\x89\xe5\x5d", false },    /* push %rbp; mov; pop %rbp */
#endif
	};
	const struct window was = lab.window;
	/* What a lead has put there comes off first. */
	bool is_lower = lab.plan.lead && lab.plan.lead->sp_down;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(functions); i++) {
		const uint8_t *code = (const uint8_t *)functions[i].code;

		ubp_err_reset(&err);
		assert_int_equal(lab.arch->jump.find(code, i == 2 ? 5 : 6, 0, LAB_SITE,
							    &lab.window, &err),
				 0);
		assert_int_equal(lab_build(1, &err),
				 functions[i].refused && !is_lower ? -EOPNOTSUPP : 0);
	}
	lab.window = was;
	ubp_err_reset(&err);
	lab.plan.hijacks = 0;
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
}

static int stop(void **state)
{
	(void)state;
	lab.plan.leaves_kernel_return = false;
	return 0;
}

/* --- calls in calls --------------------------------------------------------------------------- */

static void calls_itself(void **state)
{
#if RUN_BITS == 32
	/* test %edi,%edi; je 1f; dec %edi; call LAB_SITE; inc %edi; 1: ret */
	uint8_t code[] = { 0x85, 0xff, 0x74, 0x07, 0x4f, 0xe8, 0, 0, 0, 0, 0x47, 0xc3 };
	const size_t call = 6;
	const uint64_t depth = 60; /* so close, two of them have one place in the table */
#else
	const size_t call = 9;
	const uint64_t depth = 200;
	/* test %rdi,%rdi; je 1f; dec %rdi; call LAB_SITE; inc %rdi; 1: ret */
	uint8_t code[] = { 0x48, 0x85, 0xff, 0x74, 0x0b, 0x48, 0xff, 0xcf, 0xe8,
			   0,    0,    0,    0,    0x48, 0xff, 0xc7, 0xc3 };
#endif
	int32_t disp = (int32_t)(lab_start() - (LAB_BODY + call + 4));
	uint64_t head = lab.thread->head;

	(void)state;
	memcpy(code + call, &disp, sizeof(disp));
	body(code, sizeof(code));
	lab_set_probe(0, true, "a=%di:s64", NULL);
	lab_function_build(1);
	before.gpr[DI] = after.gpr[DI] = depth;
	/* The last inc's. */
	before.flags = after.flags = 0x10;
	lab_run(&before, &end);
	if (end.exit != 0)
		fail_msg("signal %d at 0x%llx, after %lld calls", end.signo,
			 (unsigned long long)end.pc, (long long)(depth - end.regs.gpr[DI]));
	assert_int_equal(lab_trap(&end), -1);
	for (uint64_t i = 0; i <= depth; i++) {
		const struct ring_record *record = lab_record_at(head);

		assert_non_null(record);
		assert_memory_equal(record->data, &i, sizeof(i));
		assert_int_equal(record->ret, i == depth ? LAB_HOME : LAB_BODY + call + 4);
		lab_assert_over(before.gpr[SP] - RUN_WORD * i);
		head += record->size;
	}
	lab_expect_nothing(head);
}

static void jumps_to_itself(void **state)
{
	/* jmp LAB_SITE */
	uint8_t code[5] = { 0xe9 };
	int32_t disp = (int32_t)(lab_start() - (LAB_BODY + 5));
	uint64_t head = lab.thread->head;
	struct guard_hijack was;

	(void)state;
	memcpy(code + 1, &disp, sizeof(disp));
	body(code, sizeof(code));
	lab_function_build(1);
	after.gpr[SP] = before.gpr[SP];
	assert_int_equal(go("tail call", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), LAB_RETURN_CODE);
	assert_int_equal(lab_hijack_of(before.gpr[SP])->real, LAB_HOME);
	assert_int_equal(lab_hijack_of(before.gpr[SP])->back, RUN_BLOCK + lab.detour.return_at);
	/* The tracer's own is left alone, too. */
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	was = lab.hijacks[0];
	run_write(before.gpr[SP], &lab.plan.trampoline, RUN_WORD);
	assert_int_equal(go("tracer's", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), LAB_TRAMPOLINE);
	assert_null(lab_hijack_of(before.gpr[SP]));
	assert_memory_equal(&was, &lab.hijacks[0], sizeof(was));
	lab_expect_nothing(head);
}

/* --- the stack --------------------------------------------------------------------------------- */

static void pops_arguments(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_function_build(1);
	for (uint16_t n = RUN_WORD; n < 64; n += RUN_WORD) {
		uint8_t code[3] = { 0xc2, (uint8_t)n };
		run_word home = LAB_HOME;

		body(code, sizeof(code));
		run_write(before.gpr[SP], &home, sizeof(home));
		/* Left by a longjmp(), and in the way. */
		lab.hijacks[(before.gpr[SP] + n) / 8 % LAB_HIJACKS] = (struct guard_hijack){
			.word = before.gpr[SP] + n, .real = 16, .back = 16
		};
		after.gpr[SP] = before.gpr[SP] + RUN_WORD + n;
		assert_int_equal(go("ret n", NULL, NULL), -1);
		head = expect_record(head, 0);
		lab_assert_over(before.gpr[SP]);
		memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	}
	lab_expect_nothing(head);
}

/* Returned to by nobody that is known. */
static void is_lost(void **state)
{
	(void)state;
	lab_function_build(1);
	lab_body_returns();
	run_write(before.gpr[SP], &lab.plan.return_vaddr, RUN_WORD);
	lab_run(&before, &end);
	assert_int_equal(lab_trap(&end), 0);
	lab_run_at(LAB_BODY, &before, &end);
	lab_assert_kept("lost", &after, NULL, &end);
	assert_true(end.pc > LAB_RETURN_CODE && end.pc < LAB_RETURN_CODE + UBP_RETURN_CODE_MAX);
}

/* --- beside the kernel's return probes ---------------------------------------------------------- */

#define KERNELS RUN_BASE /* the start of a page */

static void expect_left_to_tracer(uint64_t link)
{
	run_word word = (run_word)link;

	run_write(before.gpr[SP], &word, sizeof(word));
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	assert_int_equal(go("the kernel's", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), link);
	assert_null(lab_hijack_of(before.gpr[SP]));
}

/* The address that stands there may be the kernel's: where a jump to another function may follow, it stays. */
static void leaves_what_may_be_the_kernels(void **state)
{
	uint64_t head = lab.thread->head;
	const uint64_t others[] = { 1, 8, 0x800, 0xfff };
	struct run_regs returned = after;

	(void)state;
	lab.plan.leaves_kernel_return = true;
	lab_function_build(1);
	assert_int_equal(go("not the kernel's", NULL, NULL), -1);
	head = expect_record(head, 0);
	after.gpr[SP] = before.gpr[SP];
	expect_left_to_tracer(KERNELS);
	expect_left_to_tracer(0x7fffe000);
	expect_left_to_tracer(0);
	lab_expect_nothing(head);
	after = returned;
	/* Elsewhere in a page. */
	for (size_t i = 0; i < N_ELEMS(others); i++) {
		run_plant_exit(KERNELS + others[i], 0);
		lab_return_to(KERNELS + others[i], &before);
		assert_int_equal(go("in a page", NULL, NULL), -1);
		assert_int_equal(lab_record_at(head)->ret, KERNELS + others[i]);
		head += lab_record_at(head)->size;
	}
	/* Where none may follow, it is one like others. */
	lab.plan.leaves_kernel_return = false;
	lab_function_build(1);
	run_plant_exit(KERNELS, 0);
	lab_return_to(KERNELS, &before);
	assert_int_equal(go("none follows", NULL, NULL), -1);
	lab_assert_over(before.gpr[SP]);
	assert_int_equal(lab_record_at(head)->ret, KERNELS);
	lab_expect_nothing(head + lab_record_at(head)->size);
}

/*
 * The function has jumped to another one with a uretprobe, so the kernel's address stands in the word, and
 * the kernel sends the thread to the return code. A word further down holds our address: of a call that
 * longjmp() skipped.
 */
static void comes_from_the_kernel(void **state)
{
#if RUN_BITS == 32
	/* movl $0x7fff0000,(%esp); lea 4(%esp),%esp; jmp LAB_RETURN_CODE */
	uint8_t code[] = { 0xc7, 0x04, 0x24, 0,    0, 0xff, 0x7f, 0x8d,
			   0x64, 0x24, 4,    0xe9, 0, 0,    0,    0 };
#else
	/* movq $0x7fff0000,(%rsp); lea 8(%rsp),%rsp; jmp LAB_RETURN_CODE */
	uint8_t code[] = { 0x48, 0xc7, 0x04, 0x24, 0,    0, 0xff, 0x7f, 0x48,
			   0x8d, 0x64, 0x24, 8,    0xe9, 0, 0,    0,    0 };
#endif
	int32_t disp = (int32_t)(LAB_RETURN_CODE - (LAB_BODY + sizeof(code)));
	uint64_t head = lab.thread->head;

	(void)state;
	memcpy(code + sizeof(code) - sizeof(disp), &disp, sizeof(disp));
	body(code, sizeof(code));
	lab_function_build(1);
	for (unsigned down = 1; down <= 8; down++) {
		uint64_t stale = before.gpr[SP] - RUN_WORD * down;
		run_word ours = LAB_RETURN_CODE, home = LAB_HOME;

		memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
		run_write(before.gpr[SP], &home, sizeof(home));
		run_write(stale, &ours, sizeof(ours));
		lab.hijacks[stale / 8 % LAB_HIJACKS] =
			(struct guard_hijack){ .word = stale, .real = 16, .back = 16 };
		assert_int_equal(go("from the kernel", NULL, NULL), -1);
		head = expect_record(head, 0);
		lab_assert_over(before.gpr[SP]);
	}
	lab_expect_nothing(head);
}

/* --- interrupted ---------------------------------------------------------------------------------- */

enum in_handler {
	CALLS,      /* the probed function */
	PUTS_BACK,  /* what a dead tracer's guard does for an unwinder */
	TAKES,      /* what the tracer does for it */
	TAKES_BACK, /* ... and at its end */
};

struct interruption {
	unsigned at, step; /* the handler runs at step .at */
	enum in_handler what;
	bool done, changed;
};

/* In the handler of the single step. */
static void interrupt(struct ubp_regs *regs, void *arg)
{
	struct guard_hijack *entry = lab_hijack_of(before.gpr[SP]);
	run_word *word = (run_word *)before.gpr[SP];
	struct interruption *in = arg;

	if (in->step++ != in->at)
		return;
	in->done = true;
	regs->r[X86_FLAGS] &= ~(uint64_t)X86_FLAG_TF; /* nobody asks for the rest */
	if (in->what == CALLS) {
		if (regs->r[X86_SP] - RUN_STACK < RUN_STACK_SIZE)
			lab_scribble_below(regs->r[X86_SP]);
		lab_call_nested();
		return;
	}
	if (*word != LAB_RETURN_CODE || !entry || !entry->real)
		return;
	*word = in->what == TAKES ? LAB_TRAMPOLINE : entry->real;
	if (in->what != PUTS_BACK) {
		entry->time = *word ^ UBP_GIVEN_BACK;
		entry->real = 0;
	}
	in->changed = true;
}

/* The function takes @pops bytes of arguments off: all 0, and words of calls that are over. */
static void start_popping(uint8_t pops)
{
	const uint8_t code[3] = { 0xc2, pops };

	if (!pops)
		return;
	body(code, sizeof(code));
	for (uint64_t word = before.gpr[SP] + RUN_WORD; word <= before.gpr[SP] + pops;
	     word += RUN_WORD) {
		const run_word none = 0;
		size_t i = (word >> 3) % LAB_HIJACKS;

		run_write(word, &none, sizeof(none));
		while (lab.hijacks[i].word)
			i = (i + 1) % LAB_HIJACKS;
		lab.hijacks[i].word = word;
	}
	after.gpr[SP] = before.gpr[SP] + RUN_WORD + pops;
}

static void interrupt_everywhere(enum in_handler what, uint8_t pops)
{
	uint64_t head;
	run_word home = LAB_HOME;
	static unsigned first_change;
	unsigned n = pops ? first_change : 0, outer, nested, n_changed = 0, n_missed = 0;

	lab_set_probe(0, true, "a=%di:s64", NULL);
	lab_set_probe(1, false, "a=%di:s64", NULL);
	before.gpr[DI] = after.gpr[DI] = LAB_OUTER;
	lab_function_build(2);
	for (bool more = true; more; n++) {
		struct interruption in = { .at = n, .what = what };

		run_write(before.gpr[SP], &home, sizeof(home));
		lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
		head = lab.thread->head;
		memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
		start_popping(pops);
		assert_int_equal(go("interrupted", interrupt, &in), -1);
		lab_count_calls(head, &outer, &nested);
		if (end.exit < 0)
			fail_msg("%u: signal %d at 0x%llx", n, end.signo,
				 (unsigned long long)end.pc);
		assert_int_equal(end.exit, what == TAKES && outer == 1);
		more = in.done;
		assert_int_equal(nested, what == CALLS && in.done ? 2 : 0);
		assert_in_range(outer, in.changed ? 1 : 2, 2);
		if (in.changed && n_changed++ == 0)
			first_change = n;
		n_missed += outer == 1;
		for (size_t i = 0; i < LAB_HIJACKS && what == CALLS; i++)
			assert_int_equal(lab.hijacks[i].real, 0);
	}
	print_message("interrupted at %u instructions, changed %u, missed %u\n", n, n_changed,
		      n_missed);
	assert_true(n > 100);
	assert_int_equal(lab.thread->lost, 0);
	assert_true(what == CALLS || n_changed > 10);
}

static void is_interrupted_anywhere(void **state)
{
	(void)state;
	interrupt_everywhere(CALLS, 0);
}

static void is_unwound_anywhere(void **state)
{
	run_plant_exit(LAB_TRAMPOLINE, 1); /* the tracer's, who knows where to go on */
	for (uint8_t pops = 0; pops <= 3 * RUN_WORD; pops += 3 * RUN_WORD) {
		start(state);
		interrupt_everywhere(PUTS_BACK, pops);
		start(state);
		if (!pops)
			interrupt_everywhere(TAKES, pops);
		start(state);
		interrupt_everywhere(TAKES_BACK, pops);
	}
}

/* --- all of it ------------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(refuses_who_pops_it, start),
		cmocka_unit_test_setup(calls_itself, start),
		cmocka_unit_test_setup(jumps_to_itself, start),
		cmocka_unit_test_setup(pops_arguments, start),
		cmocka_unit_test_setup(is_lost, start),
		cmocka_unit_test_setup_teardown(leaves_what_may_be_the_kernels, start, stop),
		cmocka_unit_test_setup(comes_from_the_kernel, start),
		cmocka_unit_test_setup(is_interrupted_anywhere, start),
		cmocka_unit_test_setup(is_unwound_anywhere, start),
	};

	return cmocka_run_group_tests_name("x86_detour_return", tests, lab_set_up,
					   lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
