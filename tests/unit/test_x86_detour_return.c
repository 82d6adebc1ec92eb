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

#include "arch/guard_hijack.h"
#include "arch/x86/regs.h"
#include "engine/event/ring_record.h"
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
		assert_memory_equal(ring_record_data(record), &i, sizeof(i));
		assert_int_equal(record->ret, i == depth ? LAB_HOME : LAB_BODY + call + 4);
		lab_assert_over(before.gpr[SP] - RUN_WORD * i);
		head += record->size;
	}
	lab_expect_nothing(head);
}

/* How long a chain is at most. */
#define LEVELS (RUN_BITS == 32 ? 0u : RUN_WORD - 1u)

/* The function jumps to itself %rcx times, and then takes @pops bytes of arguments off. */
static void body_jumps(uint8_t pops)
{
#if RUN_BITS == 32
	/* jecxz 1f; lea -1(%ecx),%ecx; jmp LAB_SITE; 1: ret $n */
	uint8_t code[] = { 0xe3, 0x08, 0x8d, 0x49, 0xff, 0xe9, 0, 0, 0, 0, 0xc2, pops, 0 };
	const size_t jump = 6;
#else
	/* jrcxz 1f; lea -1(%rcx),%rcx; jmp LAB_SITE; 1: ret $n */
	uint8_t code[] = {
		0xe3, 0x09, 0x48, 0x8d, 0x49, 0xff, 0xe9, 0, 0, 0, 0, 0xc2, pops, 0
	};
	const size_t jump = 7;
#endif
	int32_t disp = (int32_t)(lab_start() - (LAB_BODY + jump + 4));

	memcpy(code + jump, &disp, sizeof(disp));
	body(code, sizeof(code));
	after.gpr[CX] = 0;
	after.gpr[SP] = before.gpr[SP] + RUN_WORD + pops;
}

static void start_chain(unsigned depth, uint8_t pops)
{
	run_word home = LAB_HOME;

	run_write(before.gpr[SP], &home, sizeof(home));
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	body_jumps(pops);
	before.gpr[CX] = depth;
}

/* Nothing is in use, but what is at @but. */
static void assert_all_over(uint64_t but)
{
	for (size_t i = 0; i < LAB_HIJACKS; i++)
		if (lab.hijacks[i].word != but)
			assert_int_equal(lab.hijacks[i].real, 0);
}

/* A chain that was started is recorded whole. */
static void expect_records(unsigned depth)
{
	uint64_t head = lab.thread->head;
	unsigned n = 0;

	assert_int_equal(go("a chain", NULL, NULL), -1);
	assert_int_equal(end.exit, 0);
	for (; head < lab.thread->head; n++) {
		const struct ring_record *record = lab_record_at(head);

		assert_non_null(record);
		assert_int_equal(record->ret, LAB_HOME);
		head += record->size;
	}
	assert_int_equal(n, depth + 1);
	assert_all_over(0);
}

static void expect_chain(unsigned depth, uint8_t pops)
{
	start_chain(depth, pops);
	expect_records(depth);
}

static void jumps_to_itself(void **state)
{
	(void)state;
	for (uint8_t pops = 0; pops <= 3 * RUN_WORD; pops += RUN_WORD)
		for (unsigned depth = 0; depth <= LEVELS; depth++) {
			start(state);
			lab_function_build(1);
			expect_chain(depth, pops);
		}
}

/* Where all functions are probed, all words of the stack around have entries that are over. */
static void jumps_where_all_words_have_entries(void **state)
{
	const size_t around = LAB_HIJACKS / 2 * RUN_WORD;

	(void)state;
	for (unsigned depth = 0; depth <= LEVELS; depth++) {
		lab_function_build(1);
		start_chain(depth, 0);
		for (size_t i = 0; i < around; i += RUN_WORD) {
			uint64_t word = before.gpr[SP] / around * around + i;

			lab.hijacks[UBP_HIJACK_INDEX(word, RUN_WORD) % LAB_HIJACKS].word = word;
		}
		expect_records(depth);
	}
}

/* The tracer has it then, and all the chain with it. */
static void jumps_too_often(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_function_build(1);
	start_chain(LEVELS + 1, 0);
	after.gpr[SP] = before.gpr[SP];
	assert_int_equal(go("tail calls", NULL, NULL), 0);
	assert_true(lab_is_ours(before.gpr[SP], word_at(before.gpr[SP])));
	assert_int_equal(lab_hijack_of(before.gpr[SP])->back,
			 RUN_BLOCK + lab.detour.return_at + LEVELS);
	for (unsigned i = 0; i <= LEVELS; i++)
		assert_int_equal(lab_hijack_of(before.gpr[SP] + i)->real, LAB_HOME);
	lab_expect_nothing(head);
}

/* What is not a chain of detours only is the tracer's. */
static void leaves_to_tracer(void **state)
{
	struct guard_hijack was;
	uint64_t head = lab.thread->head;

	(void)state;
	lab_function_build(1);
	start_chain(0, 0);
	after.gpr[SP] = before.gpr[SP];
	/* The tracer's own is left alone. */
	was = lab.hijacks[0];
	run_write(before.gpr[SP], &lab.plan.trampoline, RUN_WORD);
	assert_int_equal(go("tracer's", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), LAB_TRAMPOLINE);
	assert_null(lab_hijack_of(before.gpr[SP]));
	assert_memory_equal(&was, &lab.hijacks[0], sizeof(was));
	/* Our address, and no entry, or one that is over. */
	run_write(before.gpr[SP], &lab.plan.return_vaddr, RUN_WORD);
	assert_int_equal(go("no entry", NULL, NULL), 0);
	lab.hijacks[before.gpr[SP] / 8 % LAB_HIJACKS].word = before.gpr[SP];
	assert_int_equal(go("over", NULL, NULL), 0);
	/* The next level was left by a longjmp(). */
	lab.hijacks[before.gpr[SP] / 8 % LAB_HIJACKS].real = LAB_HOME;
	lab.hijacks[before.gpr[SP] / 8 % LAB_HIJACKS + 1] =
		(struct guard_hijack){ .word = before.gpr[SP] + 1, .real = LAB_HOME };
	assert_int_equal(go("left", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), LAB_RETURN_CODE);
	lab_expect_nothing(head);
}

/* A stack that no compiler makes: its lowest bits would be a level. */
static void stands_across(void **state)
{
	struct run_regs was = before, then = after;
	uint64_t head = lab.thread->head;
	run_word home = LAB_HOME;

	(void)state;
	lab_function_build(1);
	before.gpr[SP] -= 1;
	after = before;
	run_write(before.gpr[SP], &home, sizeof(home));
	if (LEVELS)
		assert_int_equal(go("across", NULL, NULL), 0);
	lab_expect_nothing(head);
	assert_all_over(0);
	before = was;
	after = then;
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
		/* Left by a longjmp(), and in the way: another function's, or its own. */
		lab.hijacks[UBP_HIJACK_INDEX(before.gpr[SP] + n, RUN_WORD) % LAB_HIJACKS] =
			(struct guard_hijack){
			.word = before.gpr[SP] + n,
			.real = 16,
			.back = n / RUN_WORD % 2 ? 16 : RUN_BLOCK + lab.detour.return_at
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

/* What the tracer does when it takes the word's entry: nothing of its chain is left. */
static void end_chain(void)
{
	for (uint64_t level = 1; level <= LEVELS; level++)
		if (lab_hijack_of(before.gpr[SP] + level))
			lab_hijack_of(before.gpr[SP] + level)->real = 0;
}

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
	if (!entry || !entry->real || !lab_is_ours(entry->word, *word))
		return;
	if (in->what != PUTS_BACK)
		end_chain();
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

/*
 * At each instruction. At every seventh where these tests are run once more, with sanitizers or for
 * other detours (test_x86_plain, test_x86_lead); UBP_ALL=1 has each there, too.
 */
static unsigned stride(void)
{
	bool once_more = getenv("UBP_LAB_HAS") || getenv("UBP_LAB_LEAD");

#ifdef __SANITIZE_ADDRESS__
	once_more = true;
#endif
	return once_more && !getenv("UBP_ALL") ? 7 : 1;
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
	for (bool more = true; more; n += stride()) {
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
	print_message("interrupted at 1 in %u of %u instructions, changed %u, missed %u\n",
		      stride(), n, n_changed, n_missed);
	assert_true(n > 100);
	assert_int_equal(lab.thread->lost, 0);
	assert_true(what == CALLS || n_changed * stride() > 10);
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

/* The same with a chain of @depth jumps. What was put back returns to nobody of ours. */
static void interrupt_chain(enum in_handler what, unsigned depth, uint8_t pops)
{
	unsigned n = 0, n_changed = 0, n_all = 0, outer, nested;

	lab_set_probe(0, true, "a=%di:s64", NULL);
	before.gpr[DI] = after.gpr[DI] = LAB_OUTER;
	lab_function_build(1);
	for (bool more = true; more; n += stride()) {
		struct interruption in = { .at = n, .what = what };
		uint64_t head = lab.thread->head;
		int trap;

		lab.thread->limit = head + LAB_CAPACITY - RING_SLACK;
		start_chain(depth, pops);
		lab_run_steps(&before, interrupt, &in, &end);
		trap = lab_trap(&end);
		if (end.exit < 0 && trap < 0)
			fail_msg("%u: signal %d at 0x%llx", n, end.signo,
				 (unsigned long long)end.pc);
		more = in.done;
		lab_count_calls(head, &outer, &nested);
		/* A function that was entered at that moment finds what it can't tell. */
		if (trap >= 0) {
			assert_true(in.changed);
			continue;
		}
		lab_assert_kept("a chain", &after, NULL, &end);
		assert_int_equal(nested, what == CALLS && in.done ? 1 : 0);
		assert_in_range(outer, in.changed ? 0 : depth + 1, depth + 1);
		assert_int_equal(end.exit, what == TAKES && in.changed &&
						   word_at(before.gpr[SP]) == LAB_TRAMPOLINE);
		n_changed += in.changed;
		n_all += in.changed && outer == depth + 1;
		if (what == CALLS)
			assert_all_over(0);
	}
	print_message("a chain of %u interrupted at 1 in %u of %u instructions, changed %u, "
		      "all there %u\n",
		      depth, stride(), n, n_changed, n_all);
	assert_true(n > 100);
	assert_int_equal(lab.thread->lost, 0);
	assert_true(what == CALLS || n_changed * stride() > 10);
}

static void chain_is_interrupted_anywhere(void **state)
{
	if (LEVELS) {
		start(state);
		interrupt_chain(CALLS, 2, 0);
	}
}

static void chain_is_unwound_anywhere(void **state)
{
	run_plant_exit(LAB_TRAMPOLINE, 1);
	for (uint8_t pops = 0; LEVELS && pops <= 3 * RUN_WORD; pops += 3 * RUN_WORD) {
		start(state);
		interrupt_chain(PUTS_BACK, 1, pops);
		start(state);
		if (!pops)
			interrupt_chain(TAKES, 2, pops);
		start(state);
		interrupt_chain(TAKES_BACK, pops ? 1 : 2, pops);
	}
}

/* --- all of it ------------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(refuses_who_pops_it, start),
		cmocka_unit_test_setup(calls_itself, start),
		cmocka_unit_test_setup(jumps_to_itself, start),
		cmocka_unit_test_setup(jumps_where_all_words_have_entries, start),
		cmocka_unit_test_setup(jumps_too_often, start),
		cmocka_unit_test_setup(leaves_to_tracer, start),
		cmocka_unit_test_setup(stands_across, start),
		cmocka_unit_test_setup(pops_arguments, start),
		cmocka_unit_test_setup(is_lost, start),
		cmocka_unit_test_setup_teardown(leaves_what_may_be_the_kernels, start, stop),
		cmocka_unit_test_setup(comes_from_the_kernel, start),
		cmocka_unit_test_setup(is_interrupted_anywhere, start),
		cmocka_unit_test_setup(is_unwound_anywhere, start),
		cmocka_unit_test_setup(chain_is_interrupted_anywhere, start),
		cmocka_unit_test_setup(chain_is_unwound_anywhere, start),
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
