/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes in detours: functions that call themselves, jump to themselves, share a stack
 * pointer; with signal handlers at each instruction.
 */

#ifdef __aarch64__

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/emit.h"
#include "arch/guard_hijack.h"
#include "engine/event/ring_record.h"
#include "engine/base/err.h"
#include "tests/unit/arm64_lab.h"
#include "tests/unit/return_lab.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("arm64");
}

/* --- probes and functions -------------------------------------------------------------- */

/* Run it; all must be as before, but for what @after says. The trap, or -1. */
static int go(const char *what)
{
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run_from(&before, &end);
	lab_assert_kept(what, &after, stack, &end);
	return lab_trap(&end);
}

/* The child of a vfork() comes back, and the parent after it, with the same entry. */
static void refuses_vfork(void **state)
{
	static const struct {
		uint32_t code[5];
		bool refused;
	} functions[] = {
		{ { 0xd503245f, 0xd2801b88, 0xd2800000, 0xd4000001, INSN_RET }, true },
		{ { 0x52803668, 0xd4000001, INSN_RET }, true },
		{ { 0xd2801588, 0xd4000001, INSN_RET }, false }, /* getpid() */
		{ { ARM64_NOP, ARM64_NOP, INSN_RET, 0xd2801b88 }, false },
	};
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(functions); i++) {
		ubp_err_reset(&err);
		lab.plan.code.bytes = (const uint8_t *)functions[i].code;
		lab.plan.code.len = sizeof(functions[i].code);
		assert_int_equal(lab_build(1, &err), functions[i].refused ? -EOPNOTSUPP : 0);
	}
	lab.plan.code.len = 0;
}

static void needs_a_table(void **state)
{
	static const uint64_t masks[] = { LAB_HIJACKS - 2, 0, UINT64_MAX };
	uint8_t code[UBP_RETURN_CODE_MAX];
	struct ubp_err err;
	size_t len;

	(void)state;
	ubp_err_reset(&err);
	lab.plan.hijacks = 0;
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	for (size_t i = 0; i < N_ELEMS(masks); i++) {
		lab.plan.hijacks = (uint64_t)lab.hijacks;
		lab.plan.hijacks_mask = masks[i];
		ubp_err_reset(&err);
		assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
		ubp_err_reset(&err);
		assert_int_equal(arch()->detour.build_return_code(lab.plan.hijacks, masks[i],
								  LAB_TRAMPOLINE, code,
								  sizeof(code), &len, &err),
				 -EOPNOTSUPP);
	}
	ubp_err_reset(&err);
	assert_int_equal(arch()->detour.build_return_code(lab.plan.hijacks, LAB_HIJACKS - 1,
							  LAB_TRAMPOLINE, code, 64, &len, &err),
			 -ENOSPC);
}

/* --- calls in calls --------------------------------------------------------------------------- */

static void put_code(const uint32_t *code, size_t n)
{
	run_write(LAB_BODY, code, n * sizeof(*code));
}

static void calls_itself(void **state)
{
	static const uint32_t code[] = {
		0xb40000c0, /* cbz x0, 1f */
		0xf81f0ffe, /* str x30, [sp, #-16]! */
		0xd1000400, /* sub x0, x0, #1 */
		0x97fffffc, /* bl LAB_SITE */
		0x91000400, /* add x0, x0, #1 */
		0xf84107fe, /* ldr x30, [sp], #16 */
		INSN_RET,   /* 1: */
	};
	uint64_t head = lab.thread->head;

	(void)state;
	put_code(code, N_ELEMS(code));
	lab_set_probe(0, true, "a=%x0:s64", NULL);
	lab_function_build(1);
	before.x[0] = after.x[0] = 200;
	lab_run_from(&before, &end);
	assert_int_equal(end.regs.pc, LAB_HOME);
	lab_assert_kept("deep", &after, NULL, &end);
	for (uint64_t i = 0; i <= 200; i++) {
		const struct ring_record *record = lab_record_at(head);

		assert_non_null(record);
		assert_memory_equal(ring_record_data(record), &i, sizeof(i));
		assert_int_equal(record->ret, i == 200 ? LAB_HOME : LAB_BODY + 16);
		lab_assert_over(before.sp - 16 * i);
		head += record->size;
	}
	lab_expect_nothing(head);
}

/* It keeps its return address in a register, and its stack pointer is its callee's. */
static void shares_a_stack_pointer(void **state)
{
	static const uint32_t code[] = {
		0xb4000080, /* cbz x0, 1f */
		0xaa1e03f3, /* mov x19, x30 */
		0xd2800000, /* mov x0, #0 */
		0x97fffffc, /* bl LAB_SITE */
		INSN_RET,   /* 1: */
	};
	uint64_t head = lab.thread->head;

	(void)state;
	put_code(code, N_ELEMS(code));
	before.x[0] = 1;
	lab_function_build(1);
	after = before;
	after.x[0] = 0;
	after.x[19] = LAB_RETURN_CODE;
	after.x[30] = LAB_BODY + 16;
	/* At the second entry, untouched. */
	assert_int_equal(go("second"), 0);
	assert_int_equal(lab_hijack_of(before.sp)->real, LAB_HOME);
	lab_expect_nothing(head);
}

static void jumps_to_itself(void **state)
{
	uint64_t head = lab.thread->head;
	struct guard_hijack was;

	(void)state;
	run_write_word(LAB_BODY, 0x17ffffff); /* b LAB_SITE */
	lab_function_build(1);
	after.x[30] = LAB_RETURN_CODE;
	assert_int_equal(go("tail call"), 0);
	assert_int_equal(lab_hijack_of(before.sp)->real, LAB_HOME);
	assert_int_equal(lab_hijack_of(before.sp)->back, LAB_BLOCK + lab.detour.return_at);
	/* The tracer's own is left alone, too. */
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	was = lab.hijacks[0];
	before.x[30] = after.x[30] = LAB_TRAMPOLINE;
	assert_int_equal(go("tracer's"), 0);
	assert_null(lab_hijack_of(before.sp));
	assert_memory_equal(&was, &lab.hijacks[0], sizeof(was));
	lab_expect_nothing(head);
}

/* What is signed already can't be told from what is not by who signed it. */
static void leaves_signed_ones(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab_function_build(1);
	for (unsigned bit = 48; bit < 64; bit++) {
		before.x[30] = after.x[30] = LAB_HOME | 1ull << bit;
		assert_int_equal(go("signed"), 0);
		assert_null(lab_hijack_of(before.sp));
	}
	lab_expect_nothing(head);
}

/* Returned to by nobody that is known: the tracer may know. */
static void is_lost(void **state)
{
	(void)state;
	lab_function_build(1);
	before.x[30] = after.x[30] = LAB_RETURN_CODE;
	assert_int_equal(go("at entry"), 0);
	before.pc = LAB_BODY;
	lab_run_from(&before, &end);
	after.x[16] = LAB_TRAMPOLINE;
	lab_assert_kept("lost", &after, NULL, &end);
	assert_int_equal(end.regs.pc, LAB_TRAMPOLINE);
}

/* --- the kernel's ------------------------------------------------------------------------- */

#define KERNELS (RUN_CODE + 0x34000) /* the start of a page */

static void expect_left_to_tracer(uint64_t link)
{
	before.x[30] = after.x[30] = link;
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	assert_int_equal(go("the kernel's"), 0);
	assert_null(lab_hijack_of(before.sp));
}

static uint64_t expect_return_to(uint64_t vaddr, uint64_t head)
{
	lab_return_to(vaddr, &before);
	lab_return_to(vaddr, &after);
	run_write_word(vaddr, INSN_BRK);
	assert_int_equal(go("a return"), -1);
	assert_int_equal(lab_record_at(head)->ret, vaddr);
	lab_assert_over(before.sp);
	return head + lab_record_at(head)->size;
}

/* An address that may be the kernel's: where a jump to another function may follow, it stays. */
static void leaves_what_may_be_the_kernels(void **state)
{
	uint64_t head = lab.thread->head;
	const uint64_t others[] = { 4, 8, 0x800, 0xffc };

	(void)state;
	lab.plan.leaves_kernel_return = true;
	lab_function_build(1);
	expect_left_to_tracer(KERNELS);
	expect_left_to_tracer(0x7fffe000);
	expect_left_to_tracer(0);
	lab_expect_nothing(head);
	/* Elsewhere in a page. */
	for (size_t i = 0; i < N_ELEMS(others); i++)
		head = expect_return_to(KERNELS + others[i], head);
	/* Where none may follow, it is one like others. */
	lab.plan.leaves_kernel_return = false;
	lab_function_build(1);
	head = expect_return_to(KERNELS, head);
	lab_expect_nothing(head);
}

/* --- interrupted ---------------------------------------------------------------------------------- */

static uint64_t first_head;

static void before_interruption(void *arg)
{
	(void)arg;
	first_head = lab.thread->head;
	lab.thread->limit = first_head + LAB_CAPACITY - RING_SLACK;
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
}

/* In a signal handler: the probed function. */
static void call_function(void *arg, uint64_t vaddr)
{
	(void)arg;
	(void)vaddr;
	lab_call_nested();
}

static void check_calls(void *arg, const struct run_end *now, bool was_interrupted)
{
	unsigned outer, nested;

	(void)arg;
	lab_assert_kept("interrupted", &after, NULL, now);
	assert_int_equal(now->regs.pc, LAB_HOME);
	lab_count_calls(first_head, &outer, &nested);
	assert_int_equal(nested, was_interrupted ? 2 : 0);
	assert_int_equal(outer, 2);
	for (size_t i = 0; i < LAB_HIJACKS; i++)
		assert_int_equal(lab.hijacks[i].real, 0);
}

static void interrupt_everywhere(struct lab_interruptions *what)
{
	unsigned n;

	lab_set_probe(0, true, "a=%x0:s64", NULL);
	lab_set_probe(1, false, "a=%x0:s64", NULL);
	before.x[0] = after.x[0] = LAB_OUTER;
	lab_function_build(2);
	what->regs = &before;
	what->returns = true;
	what->start = before_interruption;
	n = lab_interrupt(what);
	print_message("interrupted at %u instructions\n", n);
	assert_true(n > 100);
	assert_int_equal(lab.thread->lost, 0);
}

static void is_interrupted_anywhere(void **state)
{
	struct lab_interruptions what = { .each = call_function, .check = check_calls };

	(void)state;
	interrupt_everywhere(&what);
}

/* What the tracer does: it takes a return over, and the breakpoint for those is where it ends. */
static void take_over(void *arg, uint64_t vaddr)
{
	struct guard_hijack *entry = lab_hijack_of(before.sp);

	(void)arg;
	(void)vaddr;
	if (entry)
		entry->real = 0;
}

static unsigned n_gone, n_home;

static void check_taken(void *arg, const struct run_end *now, bool was_interrupted)
{
	uint64_t pc = now->regs.pc;

	(void)arg;
	n_home += pc == LAB_HOME;
	n_gone += pc == LAB_TRAMPOLINE;
	assert_int_equal(now->signo, SIGTRAP);
	assert_true(was_interrupted || pc == LAB_HOME);
	assert_true(pc == LAB_HOME || pc == LAB_TRAMPOLINE);
	assert_int_equal(now->regs.sp, after.sp);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(now->regs.x[i], after.x[i]);
	assert_int_equal(now->regs.pstate, after.pstate);
}

static void is_taken_anywhere(void **state)
{
	struct lab_interruptions what = { .each = take_over, .check = check_taken };

	(void)state;
	n_gone = n_home = 0;
	interrupt_everywhere(&what);
	print_message("%u came home, %u by the breakpoint\n", n_home, n_gone);
	assert_true(n_home > 50 && n_gone > 20);
}

/* --- all of it ------------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(needs_a_table, start),
		cmocka_unit_test_setup(refuses_vfork, start),
		cmocka_unit_test_setup(calls_itself, start),
		cmocka_unit_test_setup(jumps_to_itself, start),
		cmocka_unit_test_setup(shares_a_stack_pointer, start),
		cmocka_unit_test_setup(is_lost, start),
		cmocka_unit_test_setup(leaves_what_may_be_the_kernels, start),
		cmocka_unit_test_setup(is_interrupted_anywhere, start),
		cmocka_unit_test_setup(is_taken_anywhere, start),
		cmocka_unit_test_setup(leaves_signed_ones, start),
	};

	return cmocka_run_group_tests_name("arm64_detour_return", tests, lab_set_up,
					   lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an arm64 machine");
	return 77;
}
#endif
